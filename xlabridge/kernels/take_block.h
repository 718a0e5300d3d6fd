// Gathers of single elements. Vector instructions clamp CHUNK indices at a time. Elements are then copied one by one,
// which is as fast as the instructions that gather.
#include "take.h"

enum { CHUNK = 256 };

#define MOVE(T) \
  static void move_##T(const T *restrict x, const int32_t *restrict at, int64_t count, T *restrict y) { \
    _Pragma("GCC unroll 8") for (int64_t i = 0; i < count; i++) y[i] = x[at[i]]; \
  }

MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)

void NAME(const void *x, int64_t n, int64_t outer, const int32_t *index, int64_t count, int64_t width, void *y) {
  int32_t at[CHUNK];
  const int32_t last = (int32_t)(n - 1);
  for (int64_t first = 0; first < count; first += CHUNK) {
    int64_t part = count - first < CHUNK ? count - first : CHUNK;
    for (int64_t i = 0; i < part; i++) {
      int32_t k = index[first + i];
      k = k < 0 ? 0 : k;
      at[i] = k > last ? last : k;
    }
    for (int64_t o = 0; o < outer; o++) {
      const char *from = (const char *)x + o * n * width;
      char *to = (char *)y + (o * count + first) * width;
      switch (width) {
      case 1:
        move_uint8_t((const uint8_t *)from, at, part, (uint8_t *)to);
        break;
      case 2:
        move_uint16_t((const uint16_t *)from, at, part, (uint16_t *)to);
        break;
      case 4:
        move_uint32_t((const uint32_t *)from, at, part, (uint32_t *)to);
        break;
      default:
        move_uint64_t((const uint64_t *)from, at, part, (uint64_t *)to);
        break;
      }
    }
  }
}
