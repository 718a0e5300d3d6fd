// Random bits as XLA calls for them.
#include "threefry.h"

#include <stdbool.h>
#include <stddef.h>

#include "ffi.h"
#include "vectors.h"

typedef struct {
  xb_threefry_words *words;
  xb_threefry_hashes *hashes;
} threefry;

static threefry choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() == XB_AVX512) return (threefry){xb_threefry_avx512, xb_hashes_avx512};
  if (xb_widest_vectors() == XB_AVX2) return (threefry){xb_threefry_avx2, xb_hashes_avx2};
#endif
  return (threefry){xb_threefry_plain, xb_hashes_plain};
}

xf_error *xb_threefry(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);  // draws of a key; keys are last; normal, or none
  bool normal = size == 3 && config[2] != 0;
  if (frame->args.size != 2 || frame->results.size < 1 || frame->results.size > 2 - normal || size < 2 || size > 3 ||
      config[0] < 0)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_threefry takes two arrays and 2 or 3 numbers and gives one array, or two unless normal");
  if (normal && choose().words == xb_threefry_plain)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_threefry makes normal numbers only on x86-64 with AVX2 and FMA, got another processor: "
                   "compile the program here");
  const xf_buffer *hi = frame->args.values[0], *lo = frame->args.values[1];
  int64_t keys = xb_elements(hi);
  bool right = hi->dtype == XF_U32 && lo->dtype == XF_U32 && xb_elements(lo) == keys;
  for (int64_t i = 0; i < frame->results.size; i++) {
    const xf_buffer *y = frame->results.values[i];
    right = right && y->dtype == (normal ? XF_F32 : XF_U32) && xb_elements(y) == keys * config[0];
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_threefry got arrays of wrong sizes or types");
  uint32_t *a = ((const xf_buffer *)frame->results.values[0])->data;
  uint32_t *b = frame->results.size == 2 ? ((const xf_buffer *)frame->results.values[1])->data : NULL;
  choose().words(hi->data, lo->data, keys, config[0], config[1] != 0, normal, a, b);
  return NULL;
}

enum { WORDS = 4, BLOCK = 256 };  // words of a key and a counter; hashes that are made together

xf_error *xb_hash(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);
  bool right = frame->args.size == WORDS && frame->results.size == 2;
  const xf_buffer *y = right ? frame->results.values[0] : NULL, *z = right ? frame->results.values[1] : NULL;
  right = right && y->dtype == XF_U32 && z->dtype == XF_U32 && xb_elements(y) == xb_elements(z) &&
          size == WORDS * (1 + y->rank);
  for (int64_t k = 0; right && k < WORDS; k++) {
    const xf_buffer *x = frame->args.values[k];
    int64_t low = config[k * (1 + y->rank)], high = low;
    for (int64_t axis = 0; axis < y->rank; axis++) {
      int64_t far = (y->dims[axis] - 1) * config[k * (1 + y->rank) + 1 + axis];
      if (far < 0) low += far;
      else high += far;
    }
    right = x->dtype == XF_U32 && low >= 0 && high < xb_elements(x);
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_hash got arrays or numbers that do not fit together");
  uint32_t *a = y->data, *b = z->data, words[WORDS][BLOCK];
  int64_t n = xb_elements(y), last = y->rank > 0 ? y->dims[y->rank - 1] : 1;
  xb_threefry_hashes *hashes = choose().hashes;
  for (int64_t done = 0; done < n; done += BLOCK) {
    int64_t block = n - done < BLOCK ? n - done : BLOCK;
    for (int k = 0; k < WORDS; k++) {
      const uint32_t *x = ((const xf_buffer *)frame->args.values[k])->data;
      const int64_t *from = config + k * (1 + y->rank), *strides = from + 1;
      int64_t step = y->rank > 0 ? strides[y->rank - 1] : 0;
      for (int64_t i = 0; i < block;) {  // the rest of a row
        int64_t row = (done + i) / last, column = (done + i) % last, at = *from + column * step;
        for (int64_t axis = y->rank - 2; axis >= 0; row /= y->dims[axis--]) at += row % y->dims[axis] * strides[axis];
        for (; i < block && column < last; i++, column++, at += step) words[k][i] = x[at];
      }
    }
    hashes(words[0], words[1], words[2], words[3], block, a + done, b + done);
  }
  return NULL;
}
