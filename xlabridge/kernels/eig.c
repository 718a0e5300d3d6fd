// The kernel xlarun_eig: eigenvalues and, if they are wanted, eigenvectors of every square matrix of an array. It
// computes in float64, step by step as eigReference of graph does, which says where the method is from. Order and
// phases are those of linalg.Eig.
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"

// graph/linalg_eig_reference.go has these constants under the same names and says what they mean. They must agree.
enum { EIG_MOST_TURNS = 60, EIG_MOST_ROUNDS = 20, EIG_MOST_BALANCE = 500 };
static const double EIG_PHASE_SHARE = .45, EIG_GRID_SHARE = 0x1p-12, EIG_MOST_ELEMENT = 0x1p30,
                    EIG_LEAST_GAP = 0x1p-1000;

// work is the memory for one matrix: blocks of n x n numbers, and of n. Names with i are imaginary parts. Without
// vectors x and xi have n numbers only, and z, zi, mi and vi are NULL.
typedef struct {
  int64_t n;
  bool vectors;
  double *m, *v, *x, *xi, *z, *zi, *mi, *vi;
  double *wr, *wi, *by;
  int64_t *order, *rest;
} work;

static double power_below(double x) { return x == 0 || !isfinite(x) ? 1 : ldexp(1, ilogb(x)); }

// reflector makes v of x[size] in place, with v[0] = 1: (1 - tau v v^T) x is beta times the first unit vector.
static double reflector(int64_t size, double *x, double *beta) {
  double below = 0, most = 0, head = x[0];
  for (int64_t i = 1; i < size; i++) most = fmax(most, fabs(x[i]));
  x[0] = 1;
  *beta = head;
  if (most == 0) return 0;
  for (int64_t i = 1; i < size; i++) below += (x[i] / most) * (x[i] / most);
  *beta = -copysign(hypot(head, most * sqrt(below)), head);
  for (int64_t i = 1; i < size; i++) x[i] /= head - *beta;
  return (*beta - head) / *beta;
}

// reflect_rows reflects rows at to at + size - 1 of a in the columns from to to - 1, reflect_columns columns in the
// rows from to to - 1. dots has room for n numbers.
static void reflect_rows(int64_t n, double *a, int64_t at, int64_t size, const double *v, double tau, int64_t from,
                         int64_t to, double *dots) {
  for (int64_t j = from; j < to; j++) dots[j] = 0;
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = from; j < to; j++) dots[j] += v[i] * a[(at + i) * n + j];
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = from; j < to; j++) a[(at + i) * n + j] -= tau * v[i] * dots[j];
}

static void reflect_columns(int64_t n, double *a, int64_t at, int64_t size, const double *v, double tau, int64_t from,
                            int64_t to) {
  for (int64_t i = from; i < to; i++) {
    double *row = a + i * n + at, dot = 0;
    for (int64_t j = 0; j < size; j++) dot += v[j] * row[j];
    for (int64_t j = 0; j < size; j++) row[j] -= tau * dot * v[j];
  }
}

// alone tells whether row i (column i, if the strides are exchanged) has nothing beside its diagonal in the rest.
static bool alone(const double *a, int64_t i, int64_t across, int64_t along, const int64_t *rest, int64_t left) {
  for (int64_t k = 0; k < left; k++)
    if (rest[k] != i && a[i * across + rest[k] * along] != 0) return false;
  return true;
}

static void isolate(work *o, const double *a, int64_t *low, int64_t *high) {
  int64_t n = o->n, left = n;
  *low = 0;
  *high = n;
  for (int64_t i = 0; i < n; i++) o->rest[i] = i;
  while (left > 0) {
    int64_t k = left - 1;
    while (k >= 0 && !alone(a, o->rest[k], n, 1, o->rest, left)) k--;
    if (k >= 0) {
      o->order[--*high] = o->rest[k];
    } else {
      for (k = 0; k < left && !alone(a, o->rest[k], 1, n, o->rest, left);) k++;
      if (k == left) break;
      o->order[(*low)++] = o->rest[k];
    }
    memmove(o->rest + k, o->rest + k + 1, (size_t)(left - k - 1) * sizeof *o->rest);
    left--;
  }
  memcpy(o->order + *low, o->rest, (size_t)left * sizeof *o->rest);
}

static void balance(work *o, int64_t low, int64_t high) {
  int64_t n = o->n;
  double *a = o->m;
  bool changed = true;
  for (int64_t i = 0; i < n; i++) o->by[i] = 1;
  for (int turn = 0; changed && turn < EIG_MOST_ROUNDS; turn++) {
    changed = false;
    for (int64_t i = low; i < high; i++) {
      double row = 0, column = 0;
      for (int64_t j = low; j < high; j++) {
        if (j == i) continue;
        row += fabs(a[i * n + j]);
        column += fabs(a[j * n + i]);
      }
      if (row == 0 || column == 0) continue;
      double f = power_below(M_SQRT2 * sqrt(row) / sqrt(column));
      if (fabs(log2(o->by[i] * f)) > EIG_MOST_BALANCE || row / f + column * f >= .95 * (row + column)) continue;
      changed = true;
      o->by[i] *= f;
      for (int64_t j = 0; j < n; j++) a[j * n + i] *= f;
      for (int64_t j = 0; j < n; j++) a[i * n + j] /= f;
    }
  }
}

static void hessenberg(work *o) {
  int64_t n = o->n;
  double *m = o->m, *v = o->x, *dots = o->xi;
  for (int64_t k = 0; k + 2 < n; k++) {
    int64_t size = n - k - 1;
    double beta;
    for (int64_t i = 0; i < size; i++) v[i] = m[(k + 1 + i) * n + k];
    double tau = reflector(size, v, &beta);
    if (tau == 0) continue;
    reflect_rows(n, m, k + 1, size, v, tau, k + 1, n, dots);
    reflect_columns(n, m, k + 1, size, v, tau, 0, n);
    if (o->vectors) reflect_columns(n, o->z, k + 1, size, v, tau, 0, n);
    for (int64_t i = k + 2; i < n; i++) m[i * n + k] = 0;
    m[(k + 1) * n + k] = beta;
  }
}

static void double_shift(work *o, int64_t low, int64_t high, int turn) {
  int64_t n = o->n;
  double *m = o->m;
#define AT(i, j) m[(i) * n + (j)]
  double x = AT(high - 1, high - 1), y = AT(high, high), w = AT(high - 1, high) * AT(high, high - 1);
  if (turn % 10 == 0) {
    double s = fabs(AT(high, high - 1)) + fabs(AT(high - 1, high - 2));
    x = y + .75 * s;
    y = x;
    w = -.4375 * s * s;
  }
  x -= AT(low, low);
  y -= AT(low, low);
  double v[3] = {(x * y - w) / AT(low + 1, low) + AT(low, low + 1), AT(low + 1, low + 1) - AT(low, low) - x - y,
                 AT(low + 2, low + 1)};
  // Without vectors the parts beside the block are of no use.
  int64_t left = o->vectors ? 0 : low, right = o->vectors ? n : high + 1;
  for (int64_t k = low; k < high; k++) {
    int64_t size = k + 2 <= high ? 3 : 2;
    double beta;
    if (k > low)
      for (int64_t i = 0; i < size; i++) v[i] = AT(k + i, k - 1);
    double tau = reflector(size, v, &beta);
    if (k > low) {
      AT(k, k - 1) = beta;
      for (int64_t i = 1; i < size; i++) AT(k + i, k - 1) = 0;
    }
    reflect_rows(n, m, k, size, v, tau, k, right, o->x);
    reflect_columns(n, m, k, size, v, tau, left, k + 3 < high ? k + 4 : high + 1);
    if (o->vectors) reflect_columns(n, o->z, k, size, v, tau, 0, n);
  }
#undef AT
}

static bool francis(work *o) {
  int64_t n = o->n, high = n - 1;
  double *m = o->m, top = 0;
  int turn = 0;
  for (int64_t i = 0; i < n * n; i++) top = fmax(top, fabs(m[i]));
  while (high >= 0) {
    for (int64_t i = 1; i <= high; i++) {
      double near = fabs(m[i * n + i]) + fabs(m[(i - 1) * n + i - 1]);
      if (near == 0 || turn > EIG_MOST_TURNS / 2) near = top;
      if (fabs(m[i * n + i - 1]) <= DBL_EPSILON * near) m[i * n + i - 1] = 0;
    }
    int64_t low = high;
    while (low > 0 && m[low * n + low - 1] != 0) low--;
    if (high - low < 2) {
      high = low - 1;
      turn = 0;
      continue;
    }
    if (++turn > EIG_MOST_TURNS) return false;
    double_shift(o, low, high, turn);
  }
  return true;
}

// two are the eigenvalues of [[a, b], [c, d]].
static void two(double a, double b, double c, double d, double *wr, double *wi) {
  double p = (a - d) / 2, q = p * p + b * c;
  wi[0] = wi[1] = 0;
  if (q < 0) {
    wr[0] = wr[1] = d + p;
    wi[0] = sqrt(-q);
    wi[1] = -wi[0];
    return;
  }
  double z = p + copysign(sqrt(q), p);
  wr[0] = d + z;
  wr[1] = z == 0 ? d : d - b * c / z;
}

static void values(work *o) {
  int64_t n = o->n;
  const double *m = o->m;
  for (int64_t k = 0; k < n; k++) {
    if (k + 1 == n || m[(k + 1) * n + k] == 0) {
      o->wr[k] = m[k * n + k];
      o->wi[k] = 0;
      continue;
    }
    two(m[k * n + k], m[k * n + k + 1], m[(k + 1) * n + k], m[(k + 1) * n + k + 1], o->wr + k, o->wi + k);
    k++;
  }
}

// turn makes the complex numbers at i and j of a pair of arrays p x + q y and conj(p) y - q x.
static inline void turn(double *re, double *im, int64_t i, int64_t j, double pr, double pi, double q) {
  double xr = re[i], xi = im[i], yr = re[j], yi = im[j];
  re[i] = pr * xr - pi * xi + q * yr;
  im[i] = pr * xi + pi * xr + q * yi;
  re[j] = pr * yr + pi * yi - q * xr;
  im[j] = pr * yi - pi * yr - q * xi;
}

static void triangular(work *o) {
  int64_t n = o->n;
  memset(o->mi, 0, (size_t)(n * n) * sizeof *o->mi);
  memset(o->zi, 0, (size_t)(n * n) * sizeof *o->zi);
  for (int64_t k = 0; k + 1 < n; k++) {
    double q = o->m[(k + 1) * n + k], pr = o->wr[k] - o->m[(k + 1) * n + k + 1], pi = o->wi[k];
    if (q == 0) continue;
    double size = hypot(hypot(pr, pi), q);
    pr /= size;
    pi /= size;
    q /= size;
    for (int64_t j = 0; j < n; j++) turn(o->m, o->mi, k * n + j, (k + 1) * n + j, pr, -pi, q);
    for (int64_t i = 0; i < n; i++) turn(o->m, o->mi, i * n + k, i * n + k + 1, pr, pi, q);
    for (int64_t i = 0; i < n; i++) turn(o->z, o->zi, i * n + k, i * n + k + 1, pr, pi, q);
    k++;
  }
}

// solve puts the eigenvectors of the triangle into the rows of x.
static void solve(work *o) {
  int64_t n = o->n;
  double least = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i; j < n; j++) least = fmax(least, hypot(o->m[i * n + j], o->mi[i * n + j]));
  least = fmax(least * DBL_EPSILON, EIG_LEAST_GAP);
  for (int64_t j = 0; j < n; j++) {
    double *x = o->x + j * n, *xi = o->xi + j * n;
    for (int64_t i = 0; i < n; i++) x[i] = xi[i] = 0;
    x[j] = 1;
    for (int64_t i = j - 1; i >= 0; i--) {
      const double *t = o->m + i * n, *ti = o->mi + i * n;
      double sum = 0, sumi = 0;
      for (int64_t k = i + 1; k <= j; k++) {
        sum += t[k] * x[k] - ti[k] * xi[k];
        sumi += t[k] * xi[k] + ti[k] * x[k];
      }
      double gap = o->wr[i] - o->wr[j], gapi = o->wi[i] - o->wi[j], length = hypot(gap, gapi);
      if (length < least) {
        gap = length = least;
        gapi = 0;
      }
      gap /= length;
      gapi /= length;
      x[i] = -(sum * gap + sumi * gapi) / length;
      xi[i] = -(sumi * gap - sum * gapi) / length;
      double size = hypot(x[i], xi[i]);
      if (size <= EIG_MOST_ELEMENT) continue;
      for (int64_t k = i; k <= j; k++) {
        x[k] /= size;
        xi[k] /= size;
      }
    }
  }
}

// canonical makes the norm of v[n] 1 and the first of its large elements real and positive.
static void canonical(int64_t n, double *v, double *vi) {
  double top = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) top = fmax(top, hypot(v[i], vi[i]));
  if (top == 0) return;
  int64_t lead = 0;
  while (lead < n - 1 && hypot(v[lead], vi[lead]) < EIG_PHASE_SHARE * top) lead++;
  for (int64_t i = 0; i < n; i++) {
    v[i] /= top;
    vi[i] /= top;
    norm += v[i] * v[i] + vi[i] * vi[i];
  }
  double size = hypot(v[lead], vi[lead]), p = v[lead] / size, pi = -vi[lead] / size;
  norm = sqrt(norm);
  for (int64_t i = 0; i < n; i++) {
    double re = v[i] / norm, im = vi[i] / norm;
    v[i] = re * p - im * pi;
    vi[i] = re * pi + im * p;
  }
}

// vectors puts the eigenvectors of the matrix into the rows of v.
static void vectors(work *o) {
  int64_t n = o->n;
  triangular(o);
  solve(o);
  for (int64_t j = 0; j < n; j++) {
    double *v = o->v + j * n, *vi = o->vi + j * n;
    if (o->wi[j] < 0) {  // the second of a pair
      memcpy(v, v - n, (size_t)n * sizeof *v);
      for (int64_t i = 0; i < n; i++) vi[i] = -vi[i - n];
      continue;
    }
    const double *x = o->x + j * n, *xi = o->xi + j * n;
    for (int64_t i = 0; i < n; i++) {
      const double *u = o->z + i * n, *ui = o->zi + i * n;
      double re = 0, im = 0;
      for (int64_t k = 0; k <= j; k++) {
        re += u[k] * x[k] - ui[k] * xi[k];
        im += u[k] * xi[k] + ui[k] * x[k];
      }
      v[o->order[i]] = re * o->by[i];
      vi[o->order[i]] = o->wi[j] == 0 ? 0 : im * o->by[i];
    }
    canonical(n, v, vi);
  }
}

typedef struct {
  double keys[4];
  int64_t at;
} place;

static int ascending(const void *a, const void *b) {
  const place *x = a, *y = b;
  for (int k = 0; k < 4; k++)
    if (x->keys[k] != y->keys[k]) return x->keys[k] < y->keys[k] ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

// decompose reads matrix k and writes its results. A matrix with a number that is not finite has none.
static void decompose(work *o, int64_t k, const xf_buffer *from, void *const *results, place *places) {
  int64_t n = o->n, low, high;
  double top = 0;
  bool finite = true;
  for (int64_t i = 0; i < n * n; i++) {
    double e = xb_get_float(from, k * n * n + i);
    finite = finite && isfinite(e);
    o->v[i] = e;
    top = fmax(top, fabs(e));
  }
  double scale = power_below(top);
  if (finite) {
    isolate(o, o->v, &low, &high);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        o->m[i * n + j] = o->v[o->order[i] * n + o->order[j]] / scale;
        if (o->vectors) o->z[i * n + j] = i == j;
      }
    balance(o, low, high);
    hessenberg(o);
    finite = francis(o);
  }
  if (finite) {
    values(o);
    if (o->vectors) vectors(o);
    top = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, fmax(fabs(o->wr[i]), fabs(o->wi[i])));
    double grid = power_below(top) * EIG_GRID_SHARE;
    for (int64_t i = 0; i < n; i++) {
      double re = o->wr[i], im = fabs(o->wi[i]);
      places[i] = (place){{nearbyint(re / grid), nearbyint(im / grid), re, im}, i};
    }
    qsort(places, (size_t)n, sizeof *places, ascending);
  }
  for (int64_t j = 0; j < n; j++) {
    int64_t at = finite ? places[j].at : 0;
    xb_set_float(results[0], k * n + j, finite ? scale * o->wr[at] : NAN);
    xb_set_float(results[1], k * n + j, finite ? scale * o->wi[at] : NAN);
    for (int64_t i = 0; o->vectors && i < n; i++) {
      xb_set_float(results[2], (k * n + i) * n + j, finite ? o->v[at * n + i] : NAN);
      xb_set_float(results[3], (k * n + i) * n + j, finite ? o->vi[at * n + i] : NAN);
    }
  }
}

xf_error *xb_eig(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);  // whether vectors are wanted
  if (frame->args.size != 1 || size != 1 || frame->results.size != (config[0] ? 4 : 2))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_eig takes one array and a number and gives two arrays or four");
  const xf_buffer *a = frame->args.values[0];
  int64_t rank = a->rank, count = 1;
  bool valid = rank >= 2 && (a->dtype == XF_F32 || a->dtype == XF_F64) && a->dims[rank - 2] == a->dims[rank - 1];
  for (int64_t r = 0; valid && r < frame->results.size; r++) {
    const xf_buffer *b = frame->results.values[r];
    valid = b->dtype == a->dtype && b->rank == rank - (r < 2);
    for (int64_t i = 0; valid && i < b->rank; i++) valid = b->dims[i] == a->dims[i];
  }
  if (!valid) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_eig got arrays of wrong shapes or types");
  for (int64_t i = 0; i < rank - 2; i++) count *= a->dims[i];
  int64_t n = a->dims[rank - 1];
  if (n == 0 || count == 0) return NULL;
  work o = {.n = n, .vectors = config[0] != 0};
  int64_t whole = n * n, part = o.vectors ? whole : n;  // numbers of x and of xi
  double *room = malloc((size_t)((o.vectors ? 6 : 2) * whole + 2 * part + 3 * n) * sizeof *room);
  place *places = malloc((size_t)n * sizeof *places);
  int64_t *indices = malloc((size_t)(2 * n) * sizeof *indices);
  bool allocated = room != NULL && places != NULL && indices != NULL;
  if (allocated) {
    o.wr = room;
    o.wi = o.wr + n;
    o.by = o.wi + n;
    o.x = o.by + n;
    o.xi = o.x + part;
    o.m = o.xi + part;
    o.v = o.m + whole;
    if (o.vectors) {
      o.z = o.v + whole;
      o.zi = o.z + whole;
      o.mi = o.zi + whole;
      o.vi = o.mi + whole;
    }
    o.order = indices;
    o.rest = indices + n;
    for (int64_t k = 0; k < count; k++) decompose(&o, k, a, frame->results.values, places);
  }
  free(room);
  free(places);
  free(indices);
  return allocated ? NULL : xf_fail(frame, XF_RESOURCE_EXHAUSTED, "no memory for eigenvalues");
}
