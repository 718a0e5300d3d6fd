// The kernel xlarun_low_rank: y + scale (x a^T) b for every index of the leading axes; see walk.h.
#include "lowrank.h"

#include <stdbool.h>

#include "ffi.h"
#include "vectors.h"
#include "walk.h"

enum { INPUTS = 5 };

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
  bool right = out->dtype == XF_F32 && lead >= 0 && lead <= XB_WALK_AXES;
  for (int i = 0; i < INPUTS; i++) {
    in[i] = frame->args.values[i];
    right = right && in[i]->dtype == XF_F32 && in[i]->rank == lead + more[i];
    for (int64_t k = 0; right && k < lead; k++) right = in[i]->dims[k] == 1 || in[i]->dims[k] == out->dims[k];
  }
  int64_t rank = 0, ins = 0, outs = 0;
  if (right) {
    rank = in[2]->dims[lead], ins = in[1]->dims[lead], outs = out->dims[lead];
    right = in[0]->dims[lead] == outs && in[2]->dims[lead + 1] == ins && in[3]->dims[lead] == rank &&
            in[3]->dims[lead + 1] == outs && rank > 0;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_low_rank got arrays of wrong shapes or types");

  const xf_buffer *all[INPUTS + 1];
  for (int i = 0; i <= INPUTS; i++) {
    all[i] = i < INPUTS ? in[i] : out;
    if (xb_elements(all[i]) == 0) return NULL;
  }
  xb_walk w;
  xb_walk_begin(&w, lead, out->dims, all, INPUTS + 1, 2);
  xb_low_rank_row *row = choose();
  do {
    const int64_t *at = w.at;
    row(rank, ins, outs, (const float *)in[0]->data + at[0], (const float *)in[1]->data + at[1],
        (const float *)in[2]->data + at[2], (const float *)in[3]->data + at[3], ((const float *)in[4]->data)[at[4]],
        (float *)out->data + at[INPUTS]);
  } while (xb_walk_next(&w));
  return NULL;
}
