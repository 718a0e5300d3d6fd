#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,avx512bf16,amx-tile,amx-bf16,prefer-vector-width=512")
#include <immintrin.h>

#include "narrowdot.h"
#include "narrowdot_bf16.h"
#include "narrowdot_amx.h"

static void results(const xb_dot_block *b, int64_t at, const float *sums, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 there = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1);
    __m512 sum = _mm512_maskz_loadu_ps(there, sums + i);
    if (b->half) _mm256_mask_storeu_epi16((uint16_t *)b->out + at + i, there, (__m256i)_mm512_cvtneps_pbh(sum));
    else _mm512_mask_storeu_ps((float *)b->out + at + i, there, sum);
  }
}

#define SUM float
#define NAME xb_bf16_dot_amx
#define LABEL "amx"
#define LINE_FUNCTIONS lines, groups, turn
#define DOT(c, x, y) _tile_dpbf16ps(c, x, y)
#include "narrowdot_tiles.h"
#endif
