#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,avx512bf16,prefer-vector-width=512")
#include <immintrin.h>
#include <string.h>

#include "narrowdot.h"
#include "narrowdot_bf16.h"

enum { MOST = 14, W = 16 };  // rows whose sums are in registers side by side, and the numbers of a register

// results writes sums of a row.
static inline __attribute__((always_inline)) void results(const xb_dot_block *b, int64_t row, int64_t column, const int vectors, const __m512 *sum) {
  int64_t n = b->columns - column;
#pragma GCC unroll 2
  for (int v = 0; v < vectors; v++, n -= W) {
    __mmask16 there = n >= W ? 0xffff : (__mmask16)((1u << n) - 1);
    int64_t at = b->at[row] + column + v * W;
    if (b->half)
      _mm256_mask_storeu_epi16((uint16_t *)b->out + at, there, (__m256i)_mm512_cvtneps_pbh(sum[v]));
    else
      _mm512_mask_storeu_ps((float *)b->out + at, there, sum[v]);
  }
}

// sums_of reads the sums of the pieces before.
static inline __attribute__((always_inline)) void sums_of(const int count, const int vectors, const xb_dot_block *b, const float *sums, __m512 sum[][2]) {
#pragma GCC unroll 16
  for (int i = 0; i < count; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sum[i][v] = b->first ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + i * LINES + v * W);
}

// put_sums writes results, or sums for the next piece.
static inline __attribute__((always_inline)) void put_sums(const int count, const int vectors, const xb_dot_block *b, int64_t row, int64_t column, float *sums, __m512 sum[][2]) {
#pragma GCC unroll 16
  for (int i = 0; i < count; i++) {
    if (b->last) results(b, row + i, column, vectors, sum[i]);
    else
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) _mm512_storeu_ps(sums + i * LINES + v * W, sum[i][v]);
  }
}

// tile has the sums of `count` rows and a panel's first `vectors` registers of columns. Both are constants where it is called, so that sums stay in registers.
static inline __attribute__((always_inline)) void tile(const int count, const int vectors, const xb_dot_block *b, int64_t row, int64_t column) {
  const uint16_t *left = (const uint16_t *)b->left + row * INNER, *right = (const uint16_t *)b->right + column * b->inner;
  float *sums = (float *)b->sums + row * LINES + column;
  __m512 sum[MOST][2];
  sums_of(count, vectors, b, sums, sum);
  for (int64_t k = 0; k < b->inner; k += 2, left += 2, right += 2 * PANEL) {
    __m512bh line[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) line[v] = (__m512bh)_mm512_loadu_si512(right + v * 2 * W);
#pragma GCC unroll 16
    for (int i = 0; i < count; i++) {
      int32_t pair;
      memcpy(&pair, left + i * INNER, sizeof pair);
      __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], x, line[v]);
    }
  }
  put_sums(count, vectors, b, row, column, sums, sum);
}

enum { MOST_DIRECT = 8 };  // rows side by side whose places fit into registers

// direct is tile, of rows as they lie.
static inline __attribute__((always_inline)) void direct(const int count, const int vectors, const xb_dot_block *b, int64_t row, int64_t column) {
  const uint16_t *right = (const uint16_t *)b->right + column * b->inner;
  float *sums = (float *)b->sums + row * LINES + column;
  __m512 sum[MOST][2];
  sums_of(count, vectors, b, sums, sum);
  for (int64_t p = 0; p < b->pieces; p++) {
    const uint16_t *x[MOST_DIRECT];
#pragma GCC unroll 16
    for (int i = 0; i < count; i++) x[i] = (const uint16_t *)b->left + b->rows_at[row + i] + b->piece_at[p];
    for (int64_t k = 0; k < b->piece_size[p]; k += 2, right += 2 * PANEL) {
      __m512bh line[2];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) line[v] = (__m512bh)_mm512_loadu_si512(right + v * 2 * W);
#pragma GCC unroll 16
      for (int i = 0; i < count; i++) {
        int32_t pair;
        memcpy(&pair, x[i] + k, sizeof pair);
        __m512bh both = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], both, line[v]);
      }
    }
  }
  put_sums(count, vectors, b, row, column, sums, sum);
}

#define DIRECT(N) \
  case N: vectors == 1 ? direct(N, 1, b, row, column) : direct(N, 2, b, row, column); break;

#define ROWS(N) \
  case N: vectors == 1 ? tile(N, 1, b, row, column) : tile(N, 2, b, row, column); break;

static void product(const xb_dot_block *b) {
  int64_t most = b->rows_at != NULL ? MOST_DIRECT : MOST, strips = (b->rows + most - 1) / most;
  for (int64_t s = 0; s < strips; s++) {
    int64_t row = b->rows * s / strips, end = b->rows * (s + 1) / strips;
    for (int64_t column = 0; column < b->columns; column += PANEL) {
      int vectors = b->columns - column <= W ? 1 : 2;
      if (b->rows_at != NULL)
        switch (end - row) { DIRECT(1) DIRECT(2) DIRECT(3) DIRECT(4) DIRECT(5) DIRECT(6) DIRECT(7) DIRECT(8) }
      else
        switch (end - row) { ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6) ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14) }
    }
  }
}

const xb_dot xb_bf16_dot_avx512 = {"avx512_bf16", 2, true, product, lines, groups, turn};
#endif
