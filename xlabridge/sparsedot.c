// The kernel xlarun_sparse_dot: x w for every index of the leading axes. An array whose leading axis has size 1 is the same for all indices of
// the other's.
#include "sparsedot.h"

#include <stdbool.h>

#include "ffi.h"
#include "vectors.h"

enum { AXES = 8 };

static xb_sparse_dot_row *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_sparse_dot_avx2;
#endif
  return xb_sparse_dot_plain;
}

xf_error *xb_sparse_dot(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse_dot takes two arrays and gives one");
  const xf_buffer *out = frame->results.values[0], *all[3] = {frame->args.values[0], frame->args.values[1], out};
  static const int64_t more[3] = {1, 2, 1};  // axes behind the leading ones
  int64_t lead = out->rank - 1;
  bool right = lead >= 0 && lead <= AXES;
  for (int i = 0; i < 3; i++) {
    right = right && all[i]->dtype == XF_F32 && all[i]->rank == lead + more[i];
    for (int64_t k = 0; right && k < lead; k++) right = all[i]->dims[k] == 1 || all[i]->dims[k] == out->dims[k];
  }
  int64_t ins = 0, outs = 0;
  if (right) {
    ins = all[0]->dims[lead], outs = out->dims[lead];
    right = all[1]->dims[lead] == ins && all[1]->dims[lead + 1] == outs && ins > 0;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse_dot got arrays of wrong shapes or types");

  // Axes along which the matrix stays the same run innermost: it is read from memory once.
  int64_t axes[AXES], shared = 0, steps[3][AXES], last = 0;
  for (int64_t k = 0; k < lead; k++) shared += all[1]->dims[k] == 1;
  for (int64_t k = 0, outer = 0, inner = lead - shared; k < lead; k++) {
    if (all[1]->dims[k] == 1) axes[inner++] = k;
    else axes[outer++] = k;
  }
  for (int i = 0; i < 3; i++) {
    const xf_buffer *b = all[i];
    int64_t step = 1;
    for (int64_t k = b->rank - 1; k >= 0; k--) {
      if (k < lead) steps[i][k] = b->dims[k] == 1 ? 0 : step;
      step *= b->dims[k];
    }
    if (step == 0) return NULL;
  }
  xb_sparse_dot_row *row = choose();
  int64_t index[AXES] = {0}, at[3] = {0};
  do {
    row(ins, outs, (const float *)all[0]->data + at[0], (const float *)all[1]->data + at[1], (float *)out->data + at[2]);
    for (last = lead - 1; last >= 0; last--) {
      int64_t k = axes[last], n = out->dims[k];
      bool over = ++index[k] == n;
      for (int i = 0; i < 3; i++) at[i] += over ? -(n - 1) * steps[i][k] : steps[i][k];
      if (!over) break;
      index[k] = 0;
    }
  } while (last >= 0);
  return NULL;
}
