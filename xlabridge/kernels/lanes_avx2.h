// Eight lanes side by side: eight rows are transposed.
#ifndef XLARUN_LANES_AVX2_H
#define XLARUN_LANES_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

// transpose8x8 transposes 8 x 8 elements of four bytes.
static inline void transpose8x8(__m256 r[LANES]) {
  __m256 a[LANES], b[LANES];
  for (int i = 0; i < LANES; i += 2) {
    a[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < LANES; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    r[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
}

// to_columns transposes 8 rows of n elements, which begin stride elements apart, to n rows of 8. It is compiled once,
// not in each of its callers.
static __attribute__((noinline, unused)) void to_columns(const float *restrict rows, int64_t stride, int64_t n,
                                                         float *restrict columns) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    __m256 r[LANES];
    for (int l = 0; l < LANES; l++) r[l] = _mm256_loadu_ps(rows + l * stride + i);
    transpose8x8(r);
    for (int l = 0; l < LANES; l++) _mm256_storeu_ps(columns + (i + l) * LANES, r[l]);
  }
  for (; i < n; i++)
    for (int l = 0; l < LANES; l++) memcpy(columns + i * LANES + l, rows + l * stride + i, sizeof(float));
}

// to_rows transposes n rows of 8 elements to 8 rows, which begin stride elements apart.
static __attribute__((noinline, unused)) void to_rows(const float *restrict columns, int64_t n, float *restrict rows,
                                                      int64_t stride) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    __m256 r[LANES];
    for (int l = 0; l < LANES; l++) r[l] = _mm256_loadu_ps(columns + (i + l) * LANES);
    transpose8x8(r);
    for (int l = 0; l < LANES; l++) _mm256_storeu_ps(rows + l * stride + i, r[l]);
  }
  for (; i < n; i++)
    for (int l = 0; l < LANES; l++) memcpy(rows + l * stride + i, columns + i * LANES + l, sizeof(float));
}

#endif
