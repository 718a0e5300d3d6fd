// Sums of rows side by side for products with 512-bit registers. A file includes this after
//
//   ELEMENT, GROUP      the type of elements, and how many of them an instruction multiplies and adds
//   NUMBER, NUMBERS     the type of sums, and of a register of them
//   begin_row           what the sums of a row begin with
//   begin_sums          a register of them, with the sums of the pieces before
//   line_of             a register of groups of columns
//   products            sums with the products of a register of columns and a group of a row
//   put                 a register of results
//
// KIND is a constant for them, such as whether bytes have a sign.
#include <stdbool.h>
#include <string.h>

// Rows whose sums, and whose places, are in registers side by side; the numbers of a register.
enum { MOST = 14, MOST_DIRECT = 8, W = 16 };

#define EACH_SUM(DO) \
  { \
    _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) { \
      if (i == rows - 1 && there < rows) break; \
      _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) DO; \
    } \
  }

// tile has the sums of `rows` rows and of a panel's first `vectors` registers of columns. Rows are packed, or lie as
// they are. All but the places are constants where it is called, so that sums stay in registers. The first `there` rows
// exist.
static inline __attribute__((always_inline)) void tile(const int rows, const int vectors, const int kind,
                                                       const bool direct, const xb_dot_block *b, int64_t row, int there,
                                                       int64_t column, const NUMBER *first) {
  const ELEMENT *left = b->left, *right = (const ELEMENT *)b->right + column * b->inner, *x[MOST];
  NUMBER *sums = (NUMBER *)b->sums + row * LINES + column;
  NUMBERS sum[MOST][2];
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
      sum[i][v] = begin_sums(b->first, first[i], sums + (i < rows - 1 || there == rows ? i : 0) * LINES + v * W);
  for (int64_t p = 0; p < (direct ? b->pieces : 1); p++) {
    int64_t n = direct ? b->piece_size[p] : b->inner;
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
      int64_t k = row + (i < rows - 1 || there == rows ? i : 0);
      x[i] = direct ? left + b->rows_at[k] + b->piece_at[p] : left + k * INNER;
    }
    for (int64_t k = 0; k < n; k += GROUP, right += GROUP * PANEL) {
      LINE line[2];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) line[v] = line_of(right + v * GROUP * W, kind);
#pragma GCC unroll 16
      for (int i = 0; i < rows; i++) {
        int32_t group;
        memcpy(&group, x[i] + k, sizeof group);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sum[i][v] = products(sum[i][v], group, line[v], kind);
      }
    }
  }
  __mmask16 mask[2];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; v++) {
    int64_t n = b->columns - column - v * W;
    mask[v] = n >= W ? 0xffff : (__mmask16)((1u << n) - 1);
  }
  // Each form has a loop of its own: the compiler takes twice the time where every store asks for it.
  if (!b->last) EACH_SUM(memcpy(sums + i * LINES + v * W, &sum[i][v], sizeof sum[i][v]))
  else if (halves(b)) EACH_SUM(put_half(b, b->at[row + i] + column + v * W, mask[v], sum[i][v]))
  else EACH_SUM(put(b, b->at[row + i] + column + v * W, mask[v], sum[i][v]))
}

// An odd number of rows goes as one more: half as many functions to compile.
#define ROWS(N) \
  case N - 1: \
  case N: \
    if (direct && N > MOST_DIRECT) __builtin_unreachable(); \
    else if (vectors == 1) tile(N, 1, kind, direct, b, row, (int)(end - row), column, first); \
    else tile(N, 2, kind, direct, b, row, (int)(end - row), column, first); \
    break;

static inline __attribute__((always_inline)) void strips(const int kind, const bool direct, const xb_dot_block *b) {
  int64_t most = direct ? MOST_DIRECT : MOST, n = (b->rows + most - 1) / most;
  for (int64_t s = 0; s < n; s++) {
    int64_t row = b->rows * s / n, end = b->rows * (s + 1) / n;
    NUMBER first[MOST] = {0};
    for (int64_t i = row; i < end; i++) first[i - row] = begin_row(b, i, kind);
    for (int64_t column = 0; column < b->columns; column += PANEL) {
      int vectors = b->columns - column <= W ? 1 : 2;
      switch (end - row) { ROWS(2) ROWS(4) ROWS(6) ROWS(8) ROWS(10) ROWS(12) ROWS(14) }
    }
  }
}

// STRIPS defines one function for a kind: the compiler takes far longer for one with all of them.
#define STRIPS(NAME, KIND, DIRECT) \
  static __attribute__((noinline)) void NAME(const xb_dot_block *b) { strips(KIND, DIRECT, b); }
