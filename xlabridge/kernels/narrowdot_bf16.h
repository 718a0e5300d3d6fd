// Groups of bfloat16 for products with 512-bit registers.
#ifndef XLARUN_NARROWDOT_BF16_H
#define XLARUN_NARROWDOT_BF16_H

#define ELEMENT uint16_t
#include "narrowdot_lines.h"

static void groups(const void *from, int64_t n, const xb_places *inner, int64_t filled, void *packed) {
  const uint16_t *x = from;
  uint16_t *to = packed;
  // Elements of two registers in turn, those of the lower and of the upper half.
  static const uint16_t order[64] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                     8,  40, 9,  41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47,
                                     16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                     24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
  __m512i lower = _mm512_loadu_si512(order), upper = _mm512_loadu_si512(order + 32);
  __mmask32 there = n >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << n) - 1;
  for (int64_t k = 0; k < filled; k += 2, to += 2 * PANEL) {
    __m512i line[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
      line[i] = _mm512_maskz_loadu_epi16(k + i < inner->n ? there : 0, k + i < inner->n ? x + inner->at[k + i] : x);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(line[0], lower, line[1]));
    _mm512_storeu_si512(to + PANEL, _mm512_permutex2var_epi16(line[0], upper, line[1]));
  }
}

#endif
