// Groups of bytes for products with 512-bit registers.
#ifndef XLARUN_NARROWDOT_INT8_H
#define XLARUN_NARROWDOT_INT8_H

#define ELEMENT int8_t
#include "narrowdot_lines.h"

static void groups(const void *from, int64_t n, const xb_places *inner, int64_t filled, void *packed) {
  const int8_t *x = from;
  int8_t *to = packed;
  __mmask32 there = n >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << n) - 1;
  for (int64_t k = 0; k < filled; k += 4, to += 4 * PANEL) {
    __m256i a[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
      a[i] = _mm256_maskz_loadu_epi8(k + i < inner->n ? there : 0, k + i < inner->n ? x + inner->at[k + i] : x);
    // Pairs of the first and the second two lines, columns 0 to 7 and 16 to 23, then the others.
    __m256i first = _mm256_unpacklo_epi8(a[0], a[1]), second = _mm256_unpacklo_epi8(a[2], a[3]);
    __m256i later_first = _mm256_unpackhi_epi8(a[0], a[1]), later_second = _mm256_unpackhi_epi8(a[2], a[3]);
    // Four columns of each half.
    __m256i c0 = _mm256_unpacklo_epi16(first, second), c4 = _mm256_unpackhi_epi16(first, second);
    __m256i c8 = _mm256_unpacklo_epi16(later_first, later_second),
            c12 = _mm256_unpackhi_epi16(later_first, later_second);
    _mm256_storeu_si256((__m256i *)to, _mm256_permute2x128_si256(c0, c4, 0x20));
    _mm256_storeu_si256((__m256i *)(to + PANEL), _mm256_permute2x128_si256(c8, c12, 0x20));
    _mm256_storeu_si256((__m256i *)(to + 2 * PANEL), _mm256_permute2x128_si256(c0, c4, 0x31));
    _mm256_storeu_si256((__m256i *)(to + 3 * PANEL), _mm256_permute2x128_si256(c8, c12, 0x31));
  }
}

#endif
