#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,avx512bf16,amx-tile,amx-bf16,prefer-vector-width=512")
#include <immintrin.h>

#include "bf16dot.h"
#include "bf16dot_lines.h"

static void results(const xb_dot_block *b, int64_t at, const float *sums, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 there = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1);
    __m512 sum = _mm512_maskz_loadu_ps(there, sums + i);
    if (b->half)
      _mm256_mask_storeu_epi16((uint16_t *)b->out + at + i, there, (__m256i)_mm512_cvtneps_pbh(sum));
    else
      _mm512_mask_storeu_ps((float *)b->out + at + i, there, sum);
  }
}

// Eight tiles of 16 rows of 64 bytes, as the processor takes it.
static const struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} shapes = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

#define NAME xb_bf16_dot_amx
#define LABEL "amx"
#define LINE_FUNCTIONS lines, pairs, turn
#define TILES
#define OPEN _tile_loadconfig(&shapes)
#define CLOSE _tile_release()
#define ZERO(t) _tile_zero(t)
#define LOAD(t, from, bytes) _tile_loadd(t, from, bytes)
#define STORE(t, to, bytes) _tile_stored(t, to, bytes)
#define DOT(c, a, b) _tile_dpbf16ps(c, a, b)
#include "bf16dot_tiles.h"
#endif
