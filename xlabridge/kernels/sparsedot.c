// The kernels xlarun_sparse_dot, x w for every index of the leading axes, and xlarun_sparse_outer, sums of x y^T over
// the leading axes that the result does not have; see walk.h.
#include "sparsedot.h"

#include <stdbool.h>
#include <string.h>

#include "ffi.h"
#include "vectors.h"
#include "walk.h"

// rows are both for this processor.
typedef struct {
  xb_sparse_dot_row *dot;
  xb_sparse_outer_row *outer;
} rows;

static rows choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX512) return (rows){xb_sparse_dot_avx512, xb_sparse_outer_avx512};
  if (xb_widest_vectors() >= XB_AVX2) return (rows){xb_sparse_dot_avx2, xb_sparse_outer_avx2};
#endif
  return (rows){xb_sparse_dot_plain, xb_sparse_outer_plain};
}

// run calls a kernel's row for all indices of the leading axes of x, w and the other array; outer tells that w is the
// result.
static xf_error *run(xf_frame *frame, const xf_buffer *x, const xf_buffer *w, const xf_buffer *other, bool outer,
                     const char *wrong) {
  const xf_buffer *all[3] = {x, w, other};
  static const int64_t more[3] = {1, 2, 1};  // axes behind the leading ones
  int64_t lead = x->rank - 1, dims[XB_WALK_AXES];
  bool right = lead >= 0 && lead <= XB_WALK_AXES;
  bool bytes = x->dtype == XF_PRED;
  for (int i = 0; i < 3; i++)
    right = right && (all[i]->dtype == XF_F32 || (i == 0 && bytes)) && all[i]->rank == lead + more[i];
  for (int64_t k = 0; right && k < lead; k++) {
    dims[k] = 1;
    for (int i = 0; i < 3; i++)
      if (all[i]->dims[k] != 1) dims[k] = all[i]->dims[k];
    for (int i = 0; i < 3; i++) right = right && (all[i]->dims[k] == 1 || all[i]->dims[k] == dims[k]);
    right = right && (outer || other->dims[k] == dims[k]);
  }
  int64_t ins = 0, outs = 0;
  if (right) {
    ins = x->dims[lead], outs = other->dims[lead];
    right = w->dims[lead] == ins && w->dims[lead + 1] == outs && ins > 0;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);

  if (outer) memset(w->data, 0, (size_t)xb_elements(w) * sizeof(float));
  for (int i = 0; i < 3; i++)
    if (xb_elements(all[i]) == 0) return NULL;
  xb_walk steps;
  xb_walk_begin(&steps, lead, dims, all, 3, 1);
  rows row = choose();
  do {
    const int64_t *at = steps.at;
    const void *from = (const char *)x->data + at[0] * (bytes ? 1 : (int64_t)sizeof(float));
    float *matrix = (float *)w->data + at[1], *numbers = (float *)other->data + at[2];
    if (outer) row.outer(ins, outs, bytes, from, numbers, matrix);
    else row.dot(ins, outs, bytes, from, matrix, numbers);
  } while (xb_walk_next(&steps));
  return NULL;
}

xf_error *xb_sparse_dot(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse_dot takes two arrays and gives one");
  return run(frame, frame->args.values[0], frame->args.values[1], frame->results.values[0], false,
             "xlarun_sparse_dot got arrays of wrong shapes or types");
}

xf_error *xb_sparse_outer(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse_outer takes two arrays and gives one");
  return run(frame, frame->args.values[0], frame->results.values[0], frame->args.values[1], true,
             "xlarun_sparse_outer got arrays of wrong shapes or types");
}
