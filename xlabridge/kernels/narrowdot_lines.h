// How elements are copied for products with 512-bit registers. A file includes this with ELEMENT, the type of elements.
#ifndef XLARUN_NARROWDOT_LINES_H
#define XLARUN_NARROWDOT_LINES_H

#include <immintrin.h>

#include "narrowdot.h"

// line copies n bytes that lie side by side.
static inline void line(const char *from, int64_t n, char *to) {
  for (; n >= 64; n -= 64, from += 64, to += 64) _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  __mmask64 there = ((__mmask64)1 << n) - 1;
  if (n > 0) _mm512_mask_storeu_epi8(to, there, _mm512_maskz_loadu_epi8(there, from));
}

static void lines(const void *x, int64_t n, const int64_t *rows, const xb_places *inner, void *packed) {
  ELEMENT *to = packed;
  for (int64_t i = 0; i < n; i++, to += INNER) {
    const ELEMENT *from = (const ELEMENT *)x + rows[i];
    if (inner->pieces == inner->n)
      for (int64_t k = 0; k < inner->n; k++) to[k] = from[inner->at[k]];
    else
      for (int64_t p = 0; p < inner->pieces; p++)
        line((const char *)(from + inner->at[inner->begin[p]]),
             (inner->begin[p + 1] - inner->begin[p]) * (int64_t)sizeof *to, (char *)(to + inner->begin[p]));
  }
}

static void turn(const uint32_t *from, int64_t from_line, uint32_t *to, int64_t to_line) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) a[i] = _mm512_loadu_si512(from + i * from_line);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2)
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]), b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]), a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]), a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  // a[4 * g + c] has of rows 4 * g to 4 * g + 3 the columns c, c + 4, c + 8 and c + 12.
#pragma GCC unroll 4
  for (int c = 0; c < 4; c++) {
    __m512i even = _mm512_shuffle_i32x4(a[c], a[4 + c], 0x88), odd = _mm512_shuffle_i32x4(a[c], a[4 + c], 0xdd);
    __m512i later_even = _mm512_shuffle_i32x4(a[8 + c], a[12 + c], 0x88),
            later_odd = _mm512_shuffle_i32x4(a[8 + c], a[12 + c], 0xdd);
    _mm512_storeu_si512(to + c * to_line, _mm512_shuffle_i32x4(even, later_even, 0x88));
    _mm512_storeu_si512(to + (c + 4) * to_line, _mm512_shuffle_i32x4(odd, later_odd, 0x88));
    _mm512_storeu_si512(to + (c + 8) * to_line, _mm512_shuffle_i32x4(even, later_even, 0xdd));
    _mm512_storeu_si512(to + (c + 12) * to_line, _mm512_shuffle_i32x4(odd, later_odd, 0xdd));
  }
}

#endif
