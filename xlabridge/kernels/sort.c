// The kernel xlarun_sort: a radix sort of lines of arrays by the first array. It sorts by the digits of a key from the
// last to the first, and each pass is stable.
#include <stdlib.h>
#include <string.h>

#include "ffi.h"

// MOST_ARRAYS bounds the arrays of a call. Up to FEW elements are sorted by insertion. From MANY on, digits of 11 bits
// are faster than digits of 8.
enum { MOST_ARRAYS = 16, FEW = 32, MANY = 2048 };

// item has a key in the upper half and the element's index in the lower one.
typedef uint64_t item;

static inline uint32_t key_of(uint32_t bits, int dtype, uint32_t flip) {
  switch (dtype) {
  case XF_S32:
    bits ^= 0x80000000u;
    break;
  case XF_F32:  // both zeros as one, NaN last
    if ((bits & 0x7fffffffu) == 0) bits = 0;
    bits = (bits & 0x7fffffffu) > 0x7f800000u ? UINT32_MAX : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    break;
  }
  return bits ^ flip;
}

static void insertion_sort(item *a, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    item x = a[i];
    int64_t j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

// radix_sort sorts n items by their keys, by digits of some bits. It uses a and b, and returns the one with the result.
static inline item *radix_sort(item *a, item *b, int64_t n, const int bits) {
  enum { MOST_DIGITS = 4, MOST_VALUES = 2048 };
  static _Thread_local uint32_t count[MOST_DIGITS][MOST_VALUES];
  const int digits = (32 + bits - 1) / bits;
  const uint32_t values = 1u << bits;
  for (int d = 0; d < digits; d++) memset(count[d], 0, values * sizeof *count[d]);
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < digits; d++) count[d][(uint32_t)(a[i] >> (32 + d * bits)) & (values - 1)]++;
  for (int d = 0; d < digits; d++) {
    int shift = 32 + d * bits;
    if (count[d][(uint32_t)(a[0] >> shift) & (values - 1)] == (uint64_t)n) continue;  // all items have the same digit
    uint32_t sum = 0;
    for (uint32_t v = 0; v < values; v++) {
      uint32_t k = count[d][v];
      count[d][v] = sum;
      sum += k;
    }
    for (int64_t i = 0; i < n; i++) b[count[d][(uint32_t)(a[i] >> shift) & (values - 1)]++] = a[i];
    item *t = a;
    a = b, b = t;
  }
  return a;
}

xf_error *xb_sort(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t numbers, arrays = frame->args.size;
  const int64_t *config = xb_numbers(frame, &numbers);
  if (arrays < 1 || arrays > MOST_ARRAYS || frame->results.size != arrays || config == NULL || numbers != 2)
    return xf_fail(
        frame, XF_INVALID_ARGUMENT,
        "xlarun_sort takes up to 16 arrays, an axis, and whether the largest come first, and gives as many arrays");
  const xf_buffer *key = frame->args.values[0];
  int64_t axis = config[0], n = 1, inner = 1, lines = 1;
  const uint32_t *from[MOST_ARRAYS];
  uint32_t *to[MOST_ARRAYS];
  for (int64_t k = 0; k < arrays; k++) {
    const xf_buffer *in = frame->args.values[k], *out = frame->results.values[k];
    int same = in->rank == key->rank && out->rank == key->rank &&
               (in->dtype == XF_F32 || in->dtype == XF_S32 || in->dtype == XF_U32);
    for (int64_t i = 0; same && i < key->rank; i++) same = in->dims[i] == key->dims[i] && out->dims[i] == key->dims[i];
    if (!same || axis < 0 || axis >= key->rank)
      return xf_fail(frame, XF_INVALID_ARGUMENT,
                     "xlarun_sort takes arrays of f32, s32 or u32, all of one shape, and one of their axes");
    from[k] = in->data, to[k] = out->data;
  }
  for (int64_t i = 0; i < key->rank; i++) {
    if (i == axis) n = key->dims[i];
    else if (i > axis) inner *= key->dims[i];
    else lines *= key->dims[i];
  }
  if (n == 0 || inner == 0 || lines == 0) return NULL;
  if (n > UINT32_MAX)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sort takes at most 2^32 elements along the axis");
  item *room = malloc(2 * (size_t)n * sizeof *room);
  if (room == NULL) return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_sort: no memory for the keys");
  uint32_t flip = config[1] ? UINT32_MAX : 0;
  for (int64_t line = 0; line < lines; line++)
    for (int64_t j = 0; j < inner; j++) {
      int64_t first = line * n * inner + j;
      item *a = room;
      for (int64_t i = 0; i < n; i++)
        a[i] = (item)key_of(from[0][first + i * inner], key->dtype, flip) << 32 | (uint32_t)i;
      if (n <= FEW) insertion_sort(a, n);
      else if (n < MANY) a = radix_sort(a, room + n, n, 8);
      else a = radix_sort(a, room + n, n, 11);
      for (int64_t k = 0; k < arrays; k++)
        for (int64_t i = 0; i < n; i++) to[k][first + i * inner] = from[k][first + (int64_t)(uint32_t)a[i] * inner];
    }
  free(room);
  return NULL;
}
