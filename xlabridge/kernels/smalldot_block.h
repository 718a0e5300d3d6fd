// A file includes this with W, the numbers of a vector register, and NAME, the function's name.
#include <string.h>

#include "smalldot.h"

typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));

enum { WIDEST = (XB_SMALL_SIDE + W - 1) / W * W };

// TILE keeps the sums of some rows and some registers of columns in registers. y has rows of whole registers.
#define TILE(R, S) \
  static inline __attribute__((always_inline)) void tile_##R##_##S(int64_t inner, const float *x, int64_t row, \
                                                                   int64_t next, const float *y, int64_t width, \
                                                                   float *out, int64_t columns, int64_t there) { \
    vec sum[R][S]; \
    for (int r = 0; r < R; r++) \
      for (int s = 0; s < S; s++) sum[r][s] = (vec){0}; \
    for (int64_t k = 0; k < inner; k++, y += width, x += next) { \
      vec of_y[S]; \
      for (int s = 0; s < S; s++) of_y[s] = *(const vec *)(y + s * W); \
      for (int r = 0; r < R; r++) \
        for (int s = 0; s < S; s++) sum[r][s] += x[r * row] * of_y[s]; \
    } \
    for (int r = 0; r < R; r++, out += columns) { \
      if (there == S * W) \
        for (int s = 0; s < S; s++) *(vec *)(out + s * W) = sum[r][s]; \
      else memcpy(out, sum[r], (size_t)there * sizeof(float)); \
    } \
  }

TILE(6, 2)
TILE(2, 2)
TILE(1, 2)
TILE(8, 1)
TILE(2, 1)
TILE(1, 1)

void NAME(const xb_small_sizes *s, const float *x, const float *y, float *out) {
  int64_t rows = s->rows, inner = s->inner, columns = s->columns, width = (columns + W - 1) / W * W;
  int64_t row = s->x_transposed ? 1 : inner, next = s->x_transposed ? rows : 1;
  float packed[XB_SMALL_SIDE * WIDEST] = {0};
  bool packs = width != columns || s->y_transposed;
  for (int64_t p = 0; p < s->products;
       p++, x += s->x_shared ? 0 : rows * inner, y += inner * columns, out += rows * columns) {
    const float *right = y;
    if (packs) {
      for (int64_t k = 0; k < inner; k++)
        for (int64_t c = 0; c < columns; c++)
          packed[k * width + c] = s->y_transposed ? y[c * inner + k] : y[k * columns + c];
      right = packed;
    }
    for (int64_t c = 0; c < width;) {
      int64_t r = 0, left = columns - c;
      if (width - c >= 2 * W) {
        int64_t there = left < 2 * W ? left : 2 * W;
        for (; r + 6 <= rows; r += 6)
          tile_6_2(inner, x + r * row, row, next, right + c, width, out + r * columns + c, columns, there);
        for (; r + 2 <= rows; r += 2)
          tile_2_2(inner, x + r * row, row, next, right + c, width, out + r * columns + c, columns, there);
        for (; r < rows; r++)
          tile_1_2(inner, x + r * row, row, next, right + c, width, out + r * columns + c, columns, there);
        c += 2 * W;
      } else {
        int64_t there = left < W ? left : W;
        for (; r + 8 <= rows; r += 8)
          tile_8_1(inner, x + r * row, row, next, right + c, width, out + r * columns + c, columns, there);
        for (; r + 2 <= rows; r += 2)
          tile_2_1(inner, x + r * row, row, next, right + c, width, out + r * columns + c, columns, there);
        for (; r < rows; r++)
          tile_1_1(inner, x + r * row, row, next, right + c, width, out + r * columns + c, columns, there);
        c += W;
      }
    }
  }
}
