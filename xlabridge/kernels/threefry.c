// Random bits as XLA calls for them.
#include "threefry.h"

#include <stdbool.h>
#include <stddef.h>

#include "ffi.h"
#include "vectors.h"

static xb_threefry_words *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() == XB_AVX512) return xb_threefry_avx512;
  if (xb_widest_vectors() == XB_AVX2) return xb_threefry_avx2;
#endif
  return xb_threefry_plain;
}

xf_error *xb_threefry(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);  // draws of a key, whether keys are last
  if (frame->args.size != 2 || frame->results.size < 1 || frame->results.size > 2 || size != 2 || config[0] < 0)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_threefry takes two arrays and two numbers and gives one array or two");
  const xf_buffer *hi = frame->args.values[0], *lo = frame->args.values[1];
  int64_t keys = xb_elements(hi);
  bool right = hi->dtype == XF_U32 && lo->dtype == XF_U32 && xb_elements(lo) == keys;
  for (int64_t i = 0; i < frame->results.size; i++) {
    const xf_buffer *y = frame->results.values[i];
    right = right && y->dtype == XF_U32 && xb_elements(y) == keys * config[0];
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_threefry got arrays of wrong sizes or types");
  uint32_t *a = ((const xf_buffer *)frame->results.values[0])->data;
  uint32_t *b = frame->results.size == 2 ? ((const xf_buffer *)frame->results.values[1])->data : NULL;
  choose()(hi->data, lo->data, keys, config[0], config[1] != 0, a, b);
  return NULL;
}
