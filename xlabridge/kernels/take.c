// Gathers of single elements.
#include "take.h"

#include <stddef.h>

#include "ffi.h"
#include "vectors.h"

static xb_take_elements *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_take_avx2;
#endif
  return xb_take_plain;
}

xf_error *xb_take(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t config_size;
  const int64_t *config = xb_numbers(frame, &config_size);
  if (config == NULL || config_size != 1 || frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_take takes vectors and indices, and gives an array");
  const xf_buffer *x = frame->args.values[0], *index = frame->args.values[1], *y = frame->results.values[0];
  int64_t n = x->rank > 0 ? x->dims[x->rank - 1] : 0, indices = xb_elements(index);
  int64_t vectors = n > 0 ? xb_elements(x) / n : 0, own = config[0] != 0 ? vectors : 1;
  if (n < 1 || n > INT32_MAX || own < 1 || index->dtype != XF_S32 || y->dtype != x->dtype || xb_width(x->dtype) == 0 ||
      indices % own != 0 || xb_elements(y) != indices / own * vectors)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_take got arrays that it does not take");
  int64_t bytes = xb_width(x->dtype), count = indices / own;
  for (int64_t i = 0; i < own; i++)
    choose()((const char *)x->data + i * n * bytes, n, vectors / own, (const int32_t *)index->data + i * count, count,
             bytes, (char *)y->data + i * count * bytes);
  return NULL;
}
