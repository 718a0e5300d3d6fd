// The kernel xlarun_permute. For every index of the leading axes, n examples [n, planes, cells] become [n, cells,
// planes]. The cells of an example are in the order of a row of the table s32[count, cells]. s32[n] names the row of
// each example. Indices outside of an array are clipped.
#include <stdbool.h>

#include "ffi.h"

enum { PLANES, TABLE, WHICH, INPUTS };

static inline int64_t clipped(int32_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

// The loop over planes is unrolled for 1 to 3 of them.
#define PERMUTE(type) \
  static inline void permute_##type(type *to, const type *from, const int32_t *order, int64_t cells, int64_t planes) { \
    for (int64_t i = 0; i < cells; i++) { \
      const type *cell = from + clipped(order[i], cells); \
      for (int64_t p = 0; p < planes; p++) to[i * planes + p] = cell[p * cells]; \
    } \
  } \
  static void example_##type(void *to, const void *from, const int32_t *order, int64_t cells, int64_t planes) { \
    switch (planes) { \
    case 1: \
      permute_##type(to, from, order, cells, 1); \
      break; \
    case 2: \
      permute_##type(to, from, order, cells, 2); \
      break; \
    case 3: \
      permute_##type(to, from, order, cells, 3); \
      break; \
    default: \
      permute_##type(to, from, order, cells, planes); \
    } \
  }

PERMUTE(uint8_t)
PERMUTE(uint32_t)

xf_error *xb_permute(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != INPUTS || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_permute takes three arrays and gives one");
  const xf_buffer *out = frame->results.values[0], *x = frame->args.values[PLANES], *table = frame->args.values[TABLE],
                  *which = frame->args.values[WHICH];
  int64_t lead = out->rank - 3, lanes = 1, item = out->dtype == XF_PRED ? 1 : out->dtype == XF_F32 ? 4 : 0;
  bool right = lead >= 0 && item > 0 && x->dtype == out->dtype && x->rank == out->rank && table->dtype == XF_S32 &&
               table->rank == lead + 2 && which->dtype == XF_S32 && which->rank == lead + 1;
  for (int64_t k = 0; right && k < lead; k++) {
    right = x->dims[k] == out->dims[k] && table->dims[k] == out->dims[k] && which->dims[k] == out->dims[k];
    lanes *= out->dims[k];
  }
  int64_t n = 0, cells = 0, planes = 0, count = 0;
  if (right) {
    n = out->dims[lead], cells = out->dims[lead + 1], planes = out->dims[lead + 2], count = table->dims[lead];
    right = x->dims[lead] == n && x->dims[lead + 1] == planes && x->dims[lead + 2] == cells && which->dims[lead] == n &&
            table->dims[lead + 1] == cells && count > 0;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_permute got arrays of wrong shapes or types");
  char *to = out->data;
  const char *from = x->data;
  int64_t bytes = cells * planes * item;
  for (int64_t k = 0; k < lanes * n; k++, to += bytes, from += bytes) {
    const int32_t *order =
        (const int32_t *)table->data + (k / n * count + clipped(((const int32_t *)which->data)[k], count)) * cells;
    (item == 1 ? example_uint8_t : example_uint32_t)(to, from, order, cells, planes);
  }
  return NULL;
}
