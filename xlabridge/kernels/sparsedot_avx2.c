#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

// packed8 takes eight numbers at a time: a table says which of them a mask lets through, in their order.
static inline int packed8(int n, const float *x, int32_t *at, float *value) {
  int found = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NEQ_UQ));
    // The bytes 0 to 7 of those that the mask lets through, side by side.
    uint64_t bytes = _pext_u64(0x0706050403020100u, _pdep_u64(mask, 0x0101010101010101u) * 0xff);
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
    _mm256_storeu_si256((__m256i *)(at + found), _mm256_add_epi32(order, _mm256_set1_epi32(i)));
    _mm256_storeu_ps(value + found, _mm256_permutevar8x32_ps(v, order));
    found += __builtin_popcount(mask);
  }
  for (; i < n; i++) {
    at[found] = i;
    value[found] = x[i];
    found += x[i] != 0;
  }
  return found;
}

// packed_bytes8 does so with bytes, each 0 or 1.
static inline int packed_bytes8(int n, const uint8_t *x, int32_t *at) {
  int found = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t eight;
    memcpy(&eight, x + i, sizeof eight);
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100u, eight * 0xff)));
    _mm256_storeu_si256((__m256i *)(at + found), _mm256_add_epi32(order, _mm256_set1_epi32(i)));
    found += __builtin_popcountll(eight);
  }
  for (; i < n; i++) {
    at[found] = i;
    found += x[i] != 0;
  }
  return found;
}

#define PACK packed8
#define PACK_BYTES packed_bytes8
#define OUTER xb_sparse_outer_avx2
#define NAME xb_sparse_dot_avx2
#define W 8
#include "sparsedot_block.h"
#endif
