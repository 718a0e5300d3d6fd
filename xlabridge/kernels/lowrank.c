// The kernel xlarun_low_rank: y + scale (x a^T) b for every index of the leading axes. An array whose leading axis has size
// 1 is broadcast along it.
#include "lowrank.h"

#include <stdbool.h>

#include "ffi.h"
#include "vectors.h"

enum { AXES = 8, INPUTS = 5 };

static xb_low_rank_row *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_low_rank_avx2;
#endif
  return xb_low_rank_plain;
}

xf_error *xb_low_rank(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != INPUTS || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_low_rank takes five arrays and gives one");
  const xf_buffer *out = frame->results.values[0], *in[INPUTS];
  static const int64_t more[INPUTS] = {1, 1, 2, 2, 0};  // axes behind the leading ones
  int64_t lead = out->rank - 1;
  bool right = out->dtype == XF_F32 && lead >= 0 && lead <= AXES;
  for (int i = 0; i < INPUTS; i++) {
    in[i] = frame->args.values[i];
    right = right && in[i]->dtype == XF_F32 && in[i]->rank == lead + more[i];
    for (int64_t k = 0; right && k < lead; k++) right = in[i]->dims[k] == 1 || in[i]->dims[k] == out->dims[k];
  }
  int64_t rank = 0, ins = 0, outs = 0;
  if (right) {
    rank = in[2]->dims[lead], ins = in[1]->dims[lead], outs = out->dims[lead];
    right = in[0]->dims[lead] == outs && in[2]->dims[lead + 1] == ins && in[3]->dims[lead] == rank && in[3]->dims[lead + 1] == outs && rank > 0;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_low_rank got arrays of wrong shapes or types");

  // Axes along which the factors stay the same run innermost: they are read from memory once.
  int64_t axes[AXES], shared = 0, steps[INPUTS + 1][AXES], last = 0;
  for (int64_t k = 0; k < lead; k++) shared += in[2]->dims[k] == 1;
  for (int64_t k = 0, outer = 0, inner = lead - shared; k < lead; k++) {
    if (in[2]->dims[k] == 1) axes[inner++] = k;
    else axes[outer++] = k;
  }
  for (int i = 0; i <= INPUTS; i++) {
    const xf_buffer *b = i < INPUTS ? in[i] : out;
    int64_t step = 1;
    for (int64_t k = b->rank - 1; k >= 0; k--) {
      if (k < lead) steps[i][k] = b->dims[k] == 1 ? 0 : step;
      step *= b->dims[k];
    }
    if (step == 0) return NULL;
  }
  xb_low_rank_row *row = choose();
  int64_t index[AXES] = {0}, at[INPUTS + 1] = {0};
  do {
    row(rank, ins, outs, (const float *)in[0]->data + at[0], (const float *)in[1]->data + at[1], (const float *)in[2]->data + at[2],
        (const float *)in[3]->data + at[3], ((const float *)in[4]->data)[at[4]], (float *)out->data + at[INPUTS]);
    for (last = lead - 1; last >= 0; last--) {
      int64_t k = axes[last], n = out->dims[k];
      bool over = ++index[k] == n;
      for (int i = 0; i <= INPUTS; i++) at[i] += over ? -(n - 1) * steps[i][k] : steps[i][k];
      if (!over) break;
      index[k] = 0;
    }
  } while (last >= 0);
  return NULL;
}
