// The kernel xlarun_tree_backup: for every index of the leading axes, the backup of a simulation's step in a search
// tree. The tree's rows come first and are changed in place where result and rows are the same memory.
#include "treesearch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"
#include "vectors.h"

enum {
  ROWS,
  PARENT,
  ACTION,
  NEXT,
  USED,
  REWARD,
  DISCOUNT,
  VALUE,
  LOGITS,
  SETTINGS,
  NOISE,
  CLOSED,
  BEFORE,
  CONSIDERED,
  INPUTS
};

static xb_tree_backup_one *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_tree_backup_avx2;
#endif
  return xb_tree_backup_plain;
}

xf_error *xb_tree_backup(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != INPUTS || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_tree_backup takes fourteen arrays and gives one");
  const xf_buffer *out = frame->results.values[0], *in[INPUTS];
  static const int64_t more[INPUTS] = {2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0};  // axes behind the leading ones
  int64_t lead = out->rank - 2, trees = 1, size[INPUTS];
  bool right = out->dtype == XF_F32 && lead >= 0;
  for (int64_t k = 0; right && k < lead; k++) trees *= out->dims[k];
  for (int i = 0; i < INPUTS; i++) {
    in[i] = frame->args.values[i];
    int dtype = i >= PARENT && i <= USED ? XF_S32 : XF_F32;
    right = right && in[i]->dtype == dtype && in[i]->rank == lead + more[i];
    for (int64_t k = 0; right && k < lead; k++) right = in[i]->dims[k] == out->dims[k];
    size[i] = 1;
    for (int64_t k = lead; right && k < in[i]->rank; k++) size[i] *= in[i]->dims[k];
  }
  xb_tree t = {0};
  if (right) {
    t.nodes = out->dims[lead], t.width = out->dims[lead + 1], t.actions = size[LOGITS];
    t.padded = (t.actions + XB_BLOCK_LANES - 1) / XB_BLOCK_LANES * XB_BLOCK_LANES;
    right = size[ROWS] == t.nodes * t.width && t.width == XB_HEADS + XB_BLOCKS * t.padded && t.nodes > 0 &&
            t.actions > 0 && size[SETTINGS] == XB_SETTINGS && size[NOISE] == t.actions &&
            size[CLOSED] == t.actions && size[BEFORE] == t.actions;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_tree_backup got arrays of wrong shapes or types");
  if (trees == 0) return NULL;
  float *rows = out->data;
  if (rows != in[ROWS]->data) memcpy(rows, in[ROWS]->data, sizeof(float) * (size_t)(trees * size[ROWS]));
  float few[1024], *scratch = few;
  if (t.padded > (int64_t)(sizeof few / sizeof *few) && !(scratch = malloc(sizeof(float) * (size_t)t.padded)))
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_tree_backup has no memory for so many actions");
  t.scratch = scratch;
  xb_tree_backup_one *backup = choose();
  for (int64_t k = 0; k < trees; k++) {
#define EDGE(i) (((const int32_t *)in[i]->data)[k])
#define OF(i) ((const float *)in[i]->data + k * size[i])
    t.rows = rows + k * size[ROWS];
    t.parent = EDGE(PARENT), t.action = EDGE(ACTION), t.next = EDGE(NEXT), t.used = EDGE(USED);
    t.reward = *OF(REWARD), t.discount = *OF(DISCOUNT), t.value = *OF(VALUE);
    t.logits = OF(LOGITS), t.settings = OF(SETTINGS), t.noise = OF(NOISE), t.closed = OF(CLOSED), t.before = OF(BEFORE),
    t.considered = *OF(CONSIDERED);
    backup(&t);
  }
  if (scratch != few) free(scratch);
  return NULL;
}
