// Products of bytes with VNNI. Its instruction multiplies bytes without a sign by bytes with one. If neither operand has bytes
// without a sign, 128 is added to the right one's, and 128 times the sum of the left one's row is subtracted. The instruction adds
// modulo 2^32 as int32 does, so results are exact in any order.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,avx512vnni,prefer-vector-width=512")
#include <immintrin.h>
#include <string.h>

#include "narrowdot_int8.h"
#include "narrowdot.h"

enum { MOST = 14, MOST_DIRECT = 8, W = 16, GROUP = 4 };  // rows whose sums, and places, are in registers; the numbers of a register

static int32_t sum_of(const int8_t *x, int64_t n) {
  __m512i ones = _mm512_set1_epi8(1), sum = _mm512_setzero_si512();
  for (; n >= 64; n -= 64, x += 64) sum = _mm512_dpbusd_epi32(sum, ones, _mm512_loadu_si512(x));
  if (n > 0) sum = _mm512_dpbusd_epi32(sum, ones, _mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, x));
  return _mm512_reduce_add_epi32(sum);
}

// begin is what a row's sums begin with.
static int32_t begin(const xb_dot_block *b, int64_t row) {
  if (b->no_sign) return 0;
  if (b->rows_at == NULL) return -128 * sum_of((const int8_t *)b->left + row * INNER, b->inner);
  int32_t sum = 0;
  for (int64_t p = 0; p < b->pieces; p++) sum += sum_of((const int8_t *)b->left + b->rows_at[row] + b->piece_at[p], b->piece_size[p]);
  return -128 * sum;
}

// step adds the products of a group of each row and a line of groups.
static inline __attribute__((always_inline)) void step(const int count, const int vectors, const bool no_sign, const int8_t *const *x, int64_t k, const int8_t *right, __m512i sum[][2]) {
  __m512i line[2];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; v++) {
    line[v] = _mm512_loadu_si512(right + v * GROUP * W);
    if (!no_sign) line[v] = _mm512_xor_si512(line[v], _mm512_set1_epi8(-128));
  }
#pragma GCC unroll 16
  for (int i = 0; i < count; i++) {
    int32_t group;
    memcpy(&group, x[i] + k, sizeof group);
    __m512i all = _mm512_set1_epi32(group);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sum[i][v] = no_sign ? _mm512_dpbusd_epi32(sum[i][v], all, line[v]) : _mm512_dpbusd_epi32(sum[i][v], line[v], all);
  }
}

// tile has the sums of `count` rows and a panel's first `vectors` registers of columns. Rows are packed, or lie as they are.
static inline __attribute__((always_inline)) void tile(const int count, const int vectors, const bool no_sign, const bool direct, const xb_dot_block *b, int64_t row, int64_t column,
                                                       const int32_t *first) {
  const int8_t *left = b->left, *right = (const int8_t *)b->right + column * b->inner, *x[MOST];
  int32_t *sums = (int32_t *)b->sums + row * LINES + column;
  __m512i sum[MOST][2];
#pragma GCC unroll 16
  for (int i = 0; i < count; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      sum[i][v] = _mm512_set1_epi32(first[i]);
      if (!b->first) sum[i][v] = _mm512_add_epi32(sum[i][v], _mm512_loadu_si512(sums + i * LINES + v * W));
    }
  for (int64_t p = 0; p < (direct ? b->pieces : 1); p++) {
    int64_t n = direct ? b->piece_size[p] : b->inner;
#pragma GCC unroll 16
    for (int i = 0; i < count; i++) x[i] = direct ? left + b->rows_at[row + i] + b->piece_at[p] : left + (row + i) * INNER;
    for (int64_t k = 0; k < n; k += GROUP, right += GROUP * PANEL) step(count, vectors, no_sign, x, k, right, sum);
  }
#pragma GCC unroll 16
  for (int i = 0; i < count; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      int64_t n = b->columns - column - v * W;
      if (!b->last) _mm512_storeu_si512(sums + i * LINES + v * W, sum[i][v]);
      else _mm512_mask_storeu_epi32((int32_t *)b->out + b->at[row + i] + column + v * W, n >= W ? 0xffff : (__mmask16)((1u << n) - 1), sum[i][v]);
    }
}

// A strip of rows that lie as they are has MOST_DIRECT at most.
#define ROWS(N)                                                                 \
  case N:                                                                       \
    if (direct && N > MOST_DIRECT) __builtin_unreachable();                     \
    else if (vectors == 1) tile(N, 1, no_sign, direct, b, row, column, first);  \
    else tile(N, 2, no_sign, direct, b, row, column, first);                    \
    break;

static inline __attribute__((always_inline)) void strips(const bool no_sign, const bool direct, const xb_dot_block *b) {
  int64_t most = direct ? MOST_DIRECT : MOST, n = (b->rows + most - 1) / most;
  for (int64_t s = 0; s < n; s++) {
    int64_t row = b->rows * s / n, end = b->rows * (s + 1) / n;
    int32_t first[MOST];
    for (int64_t i = row; i < end; i++) first[i - row] = begin(b, i);
    for (int64_t column = 0; column < b->columns; column += PANEL) {
      int vectors = b->columns - column <= W ? 1 : 2;
      switch (end - row) { ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6) ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14) }
    }
  }
}

// One function each: the compiler takes far longer for one with all of them.
#define STRIPS(NAME, NO_SIGN, DIRECT) static __attribute__((noinline)) void NAME(const xb_dot_block *b) { strips(NO_SIGN, DIRECT, b); }
STRIPS(packed, false, false)
STRIPS(packed_no_sign, true, false)
STRIPS(in_place, false, true)
STRIPS(in_place_no_sign, true, true)

static void product(const xb_dot_block *b) {
  if (b->no_sign) b->rows_at != NULL ? in_place_no_sign(b) : packed_no_sign(b);
  else b->rows_at != NULL ? in_place(b) : packed(b);
}

const xb_dot xb_int8_dot_avx512 = {"avx512_vnni", GROUP, true, product, lines, groups, turn};
#endif
