// Eight lanes side by side: eight rows are transposed.
#ifndef XLARUN_LANES_AVX2_H
#define XLARUN_LANES_AVX2_H

#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

// Registers of lanes, and at any place in memory. immintrin.h would take a quarter of a second to compile.
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef uint32_t words_of_lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t signed_lanes __attribute__((vector_size(4 * LANES)));
typedef float lanes_at __attribute__((vector_size(4 * LANES), may_alias, aligned(4)));

// LANES_OF takes lanes of a, from 0 on, and of b, from 8 on.
#define LANES_OF(a, b, ...) __builtin_shuffle(a, b, (words_of_lanes){__VA_ARGS__})

// transpose8x8 transposes 8 x 8 elements of four bytes.
static inline void transpose8x8(lanes r[LANES]) {
  lanes a[LANES], b[LANES];
  for (int i = 0; i < LANES; i += 2) {
    a[i] = LANES_OF(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[i + 1] = LANES_OF(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < LANES; i += 4) {
    b[i] = LANES_OF(a[i], a[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[i + 1] = LANES_OF(a[i], a[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    b[i + 2] = LANES_OF(a[i + 1], a[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    b[i + 3] = LANES_OF(a[i + 1], a[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; i++) {
    r[i] = LANES_OF(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = LANES_OF(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// to_columns transposes 8 rows of n elements, which begin stride elements apart, to n rows of 8. It is compiled once,
// not in each of its callers.
static __attribute__((noinline, unused)) void to_columns(const float *restrict rows, int64_t stride, int64_t n,
                                                         float *restrict columns) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    lanes r[LANES];
    for (int l = 0; l < LANES; l++) r[l] = *(const lanes_at *)(rows + l * stride + i);
    transpose8x8(r);
    for (int l = 0; l < LANES; l++) *(lanes_at *)(columns + (i + l) * LANES) = r[l];
  }
  for (; i < n; i++)
    for (int l = 0; l < LANES; l++) memcpy(columns + i * LANES + l, rows + l * stride + i, sizeof(float));
}

// to_rows transposes n rows of 8 elements to 8 rows, which begin stride elements apart.
static __attribute__((noinline, unused)) void to_rows(const float *restrict columns, int64_t n, float *restrict rows,
                                                      int64_t stride) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    lanes r[LANES];
    for (int l = 0; l < LANES; l++) r[l] = *(const lanes_at *)(columns + (i + l) * LANES);
    transpose8x8(r);
    for (int l = 0; l < LANES; l++) *(lanes_at *)(rows + l * stride + i) = r[l];
  }
  for (; i < n; i++)
    for (int l = 0; l < LANES; l++) memcpy(rows + l * stride + i, columns + i * LANES + l, sizeof(float));
}

#endif
