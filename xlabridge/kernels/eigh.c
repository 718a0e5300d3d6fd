// The kernel xlarun_eigh: eigenvalues in ascending order and eigenvectors in columns, for every symmetric matrix of an
// array. It computes in float64. The signs are those of linalg.Eigh: the first element of an eigenvector that is at
// least half as large as its largest is positive.
#include "eigh.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ffi.h"
#include "vectors.h"

static xb_eigh_one *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_eigh_avx2;
#endif
  return xb_eigh_plain;
}

typedef struct {
  double value;
  int64_t row;
} place;

static int ascending(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

// decompose reads matrix k of a and writes the same of w and v. A matrix with a number that is not finite has none.
static void decompose(int64_t k, int64_t n, const xf_buffer *from, const xf_buffer *w, const xf_buffer *v, double *a,
                      place *order) {
  double *vectors = a + n * n, *values = vectors + n * n, *room = values + n, scale = 0;
  bool finite = true;
  for (int64_t i = 0; i < n * n; i++) {
    a[i] = xb_get_float(from, k * n * n + i);
    finite = finite && isfinite(a[i]);
    scale = fmax(scale, fabs(a[i]));
  }
  if (finite && scale > 0) {
    for (int64_t i = 0; i < n * n; i++) a[i] /= scale;
    finite = choose()(n, a, values, vectors, room);
  } else {
    for (int64_t i = 0; i < n * n; i++) vectors[i] = i % (n + 1) == 0;
    for (int64_t i = 0; i < n; i++) values[i] = 0;
  }
  for (int64_t i = 0; i < n; i++) order[i] = (place){values[i], i};
  if (finite) qsort(order, (size_t)n, sizeof *order, ascending);
  for (int64_t j = 0; j < n; j++) {
    xb_set_float(w, k * n + j, finite ? order[j].value * scale : NAN);
    const double *row = vectors + order[j].row * n;
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(row[i]));
    int64_t first = 0;
    while (first < n - 1 && fabs(row[first]) < most / 2) first++;
    double sign = row[first] < 0 ? -1 : 1;
    for (int64_t i = 0; i < n; i++) xb_set_float(v, k * n * n + i * n + j, finite ? sign * row[i] : NAN);
  }
}

xf_error *xb_eigh(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 2)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_eigh takes one array and gives two");
  const xf_buffer *a = frame->args.values[0], *w = frame->results.values[0], *v = frame->results.values[1];
  int64_t rank = a->rank;
  bool right = rank >= 2 && (a->dtype == XF_F32 || a->dtype == XF_F64) && w->dtype == a->dtype &&
               v->dtype == a->dtype && v->rank == rank && w->rank == rank - 1 && a->dims[rank - 2] == a->dims[rank - 1];
  int64_t count = 1;
  for (int64_t i = 0; right && i < rank; i++)
    right = v->dims[i] == a->dims[i] && (i == rank - 1 || w->dims[i] == a->dims[i]);
  for (int64_t i = 0; right && i < rank - 2; i++) count *= a->dims[i];
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_eigh got arrays of wrong shapes or types");
  int64_t n = a->dims[rank - 1];
  if (n == 0 || count == 0) return NULL;
  double *room = malloc((size_t)(2 * n * n + 4 * n) * sizeof *room);
  place *order = malloc((size_t)n * sizeof *order);
  if (room != NULL && order != NULL)
    for (int64_t k = 0; k < count; k++) decompose(k, n, a, w, v, room, order);
  bool well = room != NULL && order != NULL;
  free(room);
  free(order);
  return well ? NULL : xf_fail(frame, XF_RESOURCE_EXHAUSTED, "no memory for eigenvectors");
}
