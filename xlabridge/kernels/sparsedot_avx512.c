#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#include <immintrin.h>
#include <stdint.h>

// packed16 takes sixteen numbers at a time.
static inline int packed16(int n, const float *x, int32_t *at, float *value) {
  int found = 0;
  __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int i = 0; i < n; i += 16, place = _mm512_add_epi32(place, _mm512_set1_epi32(16))) {
    __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
    __m512 v = _mm512_maskz_loadu_ps(there, x + i);
    __mmask16 mask = _mm512_mask_cmp_ps_mask(there, v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    _mm512_storeu_si512(at + found, _mm512_maskz_compress_epi32(mask, place));
    _mm512_storeu_ps(value + found, _mm512_maskz_compress_ps(mask, v));
    found += __builtin_popcount(mask);
  }
  return found;
}

// packed_bytes16 does so with bytes.
static inline int packed_bytes16(int n, const uint8_t *x, int32_t *at) {
  int found = 0;
  __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int i = 0; i < n; i += 16, place = _mm512_add_epi32(place, _mm512_set1_epi32(16))) {
    __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
    __m128i v = _mm_maskz_loadu_epi8(there, x + i);
    __mmask16 mask = _mm_test_epi8_mask(v, v);
    _mm512_storeu_si512(at + found, _mm512_maskz_compress_epi32(mask, place));
    found += __builtin_popcount(mask);
  }
  return found;
}

#define PACK packed16
#define PACK_BYTES packed_bytes16
#define OUTER xb_sparse_outer_avx512
#define NAME xb_sparse_dot_avx512
#define W 16
#include "sparsedot_block.h"
#endif
