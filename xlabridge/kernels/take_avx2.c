#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#include "take.h"

static xb_take_elements single;
#define NAME single
#include "take_block.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lanes_avx2.h"

enum { LONGEST = 1 << 16 };

// eight takes elements of four bytes of eight vectors. columns has room for the vectors.
static void eight(const float *x, int64_t n, const int32_t *restrict index, int64_t count, float *restrict columns,
                  float *restrict y) {
  to_columns(x, n, n, columns);
  const signed_lanes first = {0}, last = first + (int32_t)(n - 1);
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    int32_t at[LANES];
    signed_lanes k;
    memcpy(&k, index + i, sizeof k);
    k = __builtin_ia32_pminsd256(__builtin_ia32_pmaxsd256(k, first), last);
    memcpy(at, &k, sizeof k);
    lanes r[LANES];
    for (int l = 0; l < LANES; l++) r[l] = *(const lanes_at *)(columns + (int64_t)at[l] * LANES);
    transpose8x8(r);
    for (int l = 0; l < LANES; l++) *(lanes_at *)(y + l * count + i) = r[l];
  }
  for (; i < count; i++) {
    int64_t at = index[i] < 0 ? 0 : index[i] >= n ? n - 1 : index[i];
    for (int l = 0; l < LANES; l++) memcpy(y + l * count + i, columns + at * LANES + l, sizeof(float));
  }
}

// Vectors that share their indices are transposed, eight at a time, if there are enough indices to pay for it.
void xb_take_avx2(const void *x, int64_t n, int64_t outer, const int32_t *index, int64_t count, int64_t width,
                  void *y) {
  const float *from = x;
  float *to = y;
  bool transposed = width == sizeof(float) && outer >= LANES && n <= LONGEST && count >= n;
  float *columns = transposed ? malloc(n * LANES * sizeof(float)) : NULL;
  for (; columns != NULL && outer >= LANES; outer -= LANES, from += LANES * n, to += LANES * count)
    eight(from, n, index, count, columns, to);
  free(columns);
  if (outer > 0) single(from, n, outer, index, count, width, to);
}
#endif
