// How elements are copied for products with 512-bit registers.
#ifndef XLARUN_BF16DOT_LINES_H
#define XLARUN_BF16DOT_LINES_H

#include <immintrin.h>

#include "bf16dot.h"

// line copies n elements that lie side by side.
static inline void line(const uint16_t *from, int64_t n, uint16_t *to) {
  for (; n >= 32; n -= 32, from += 32, to += 32) _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  if (n > 0) _mm512_mask_storeu_epi16(to, (1u << n) - 1, _mm512_maskz_loadu_epi16((1u << n) - 1, from));
}

static void lines(const uint16_t *x, int64_t n, const int64_t *rows, const xb_places *inner, uint16_t *to) {
  for (int64_t i = 0; i < n; i++, to += INNER) {
    const uint16_t *from = x + rows[i];
    if (inner->pieces == inner->n)
      for (int64_t k = 0; k < inner->n; k++) to[k] = from[inner->at[k]];
    else
      for (int64_t p = 0; p < inner->pieces; p++) line(from + inner->at[inner->begin[p]], inner->begin[p + 1] - inner->begin[p], to + inner->begin[p]);
  }
}

static void pairs(const uint16_t *x, int64_t n, const xb_places *inner, int64_t filled, uint16_t *to) {
  // Elements of two registers in turn, those of the lower and of the upper half.
  static const uint16_t order[64] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47,
                                     16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
  __m512i lower = _mm512_loadu_si512(order), upper = _mm512_loadu_si512(order + 32);
  __mmask32 there = n >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << n) - 1;
  for (int64_t k = 0; k < filled; k += 2, to += 2 * PANEL) {
    __m512i first = _mm512_maskz_loadu_epi16(k < inner->n ? there : 0, x + inner->at[k]);
    __m512i second = _mm512_maskz_loadu_epi16(k + 1 < inner->n ? there : 0, x + inner->at[k + 1]);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(first, lower, second));
    _mm512_storeu_si512(to + PANEL, _mm512_permutex2var_epi16(first, upper, second));
  }
}

static void turn(const uint32_t *from, int64_t from_line, uint32_t *to, int64_t to_line) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) a[i] = _mm512_loadu_si512(from + i * from_line);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]), b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]), a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]), a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  // a[4 * g + c] has of rows 4 * g to 4 * g + 3 the columns c, c + 4, c + 8 and c + 12.
#pragma GCC unroll 4
  for (int c = 0; c < 4; c++) {
    __m512i even = _mm512_shuffle_i32x4(a[c], a[4 + c], 0x88), odd = _mm512_shuffle_i32x4(a[c], a[4 + c], 0xdd);
    __m512i later_even = _mm512_shuffle_i32x4(a[8 + c], a[12 + c], 0x88), later_odd = _mm512_shuffle_i32x4(a[8 + c], a[12 + c], 0xdd);
    _mm512_storeu_si512(to + c * to_line, _mm512_shuffle_i32x4(even, later_even, 0x88));
    _mm512_storeu_si512(to + (c + 4) * to_line, _mm512_shuffle_i32x4(odd, later_odd, 0x88));
    _mm512_storeu_si512(to + (c + 8) * to_line, _mm512_shuffle_i32x4(even, later_even, 0xdd));
    _mm512_storeu_si512(to + (c + 12) * to_line, _mm512_shuffle_i32x4(odd, later_odd, 0xdd));
  }
}

#endif
