// Products of bfloat16 with AVX512-BF16.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,avx512bf16,prefer-vector-width=512")
#pragma GCC optimize 2  // as fast as with 3, and compiles in three quarters of the time
#include <immintrin.h>

#include "narrowdot.h"
#include "narrowdot_bf16.h"

#define GROUP 2
#define NUMBER float
#define NUMBERS __m512
#define LINE __m512bh

static inline float begin_row(const xb_dot_block *b, int64_t row, const int kind) { return 0; }

static inline __m512 begin_sums(bool first_piece, float first, const float *sums) {
  return first_piece ? _mm512_setzero_ps() : _mm512_loadu_ps(sums);
}

static inline __m512bh line_of(const uint16_t *right, const int kind) { return (__m512bh)_mm512_loadu_si512(right); }

static inline __m512 products(__m512 sum, int32_t group, __m512bh line, const int kind) {
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(group), line);
}

static inline bool halves(const xb_dot_block *b) { return b->half; }

static inline void put_half(const xb_dot_block *b, int64_t at, __mmask16 there, __m512 sum) {
  _mm256_mask_storeu_epi16((uint16_t *)b->out + at, there, (__m256i)_mm512_cvtneps_pbh(sum));
}

static inline void put(const xb_dot_block *b, int64_t at, __mmask16 there, __m512 sum) {
  _mm512_mask_storeu_ps((float *)b->out + at, there, sum);
}

#include "narrowdot_rows.h"

STRIPS(packed, 0, false)
STRIPS(in_place, 0, true)

static void product(const xb_dot_block *b) { b->rows_at != NULL ? in_place(b) : packed(b); }

const xb_dot xb_bf16_dot_avx512 = {"avx512_bf16", GROUP, true, product, lines, groups, turn};
#endif
