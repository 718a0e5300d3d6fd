// A file includes this with W, the numbers of a vector register, MOST, the number of windows (or lines of weights)
// whose sums are in registers together, 2 W each, and NAME, the name of the set of functions.
#include <string.h>

#include "convimages.h"

typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));
typedef int32_t bits __attribute__((vector_size(4 * W)));

enum { COLUMNS = 2 * W };

// sums_of_results computes `count` windows, `vectors` registers of columns of one panel. Both are constants at each
// call, so that sums stay in registers.
static inline __attribute__((always_inline)) void sums_of_results(const int count, const int vectors,
                                                                  const xb_windows *in, int64_t first, const float *w,
                                                                  float *y, int64_t outs, int64_t columns) {
  const float *x[MOST];
  vec sum[MOST][2];
#pragma GCC unroll 16
  for (int k = 0; k < count; k++) {
    x[k] = in->x + in->at[first + k];
    for (int v = 0; v < vectors; v++) sum[k][v] = (vec){0};
  }
  for (int64_t r = 0; r < in->rows; r++) {
    for (int64_t j = 0; j < in->row; j++, w += COLUMNS) {
      vec line[2];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) line[v] = *(const vec *)(w + v * W);
#pragma GCC unroll 16
      for (int k = 0; k < count; k++) {
        float s = x[k][j];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sum[k][v] += s * line[v];
      }
    }
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) x[k] += in->pitch;
  }
#pragma GCC unroll 16
  for (int k = 0; k < count; k++, y += outs) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      if (columns >= (v + 1) * W) *(vec *)(y + v * W) = sum[k][v];
      else memcpy(y + v * W, &sum[k][v], (size_t)(columns - v * W) * sizeof(float));
    }
  }
}

// sums_of_images adds to `count` windows, at one of their rows from x on, the columns of one panel. After the last
// column it adds zeros: the panel's padding times NaN or Inf would be NaN.
static inline __attribute__((always_inline)) void sums_of_images(const int count, const int vectors,
                                                                 const xb_windows *in, int64_t first, float *x,
                                                                 const float *y, int64_t outs, const float *w,
                                                                 int64_t columns) {
  vec sum[MOST][2];
#pragma GCC unroll 16
  for (int k = 0; k < count; k++)
    for (int v = 0; v < vectors; v++) sum[k][v] = (vec){0};
  for (int64_t o = 0; o < outs; o++, w += COLUMNS) {
    vec line[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) line[v] = *(const vec *)(w + v * W);
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) {
      float s = y[k * outs + o];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sum[k][v] += s * line[v];
    }
  }
  bits mine;
  for (int i = 0; i < W; i++) mine[i] = (vectors - 1) * W + i < columns ? -1 : 0;
#pragma GCC unroll 16
  for (int k = 0; k < count; k++) {
    float *to = x + in->at[first + k];
    sum[k][vectors - 1] = (vec)((bits)sum[k][vectors - 1] & mine);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) *(vec *)(to + v * W) += sum[k][v];
  }
}

// sums_of_weights adds to `count` lines of a panel. Line k belongs to element k of the windows from x on.
static inline __attribute__((always_inline)) void sums_of_weights(const int count, const int vectors,
                                                                  const xb_windows *in, const float *x, const float *y,
                                                                  int64_t step, float *w) {
  vec sum[MOST][2];
#pragma GCC unroll 16
  for (int k = 0; k < count; k++) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sum[k][v] = *(const vec *)(w + k * COLUMNS + v * W);
  }
  for (int64_t q = 0; q < in->windows; q++, y += step) {
    const float *from = x + in->at[q];
    vec line[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) line[v] = *(const vec *)(y + v * W);
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) {
      float s = from[k];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sum[k][v] += s * line[v];
    }
  }
#pragma GCC unroll 16
  for (int k = 0; k < count; k++) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) *(vec *)(w + k * COLUMNS + v * W) = sum[k][v];
  }
}

// EACH calls f with its first two arguments as constants.
#if MOST == 8
#define EACH(f, count, vectors, ...) \
  switch (count) { \
    ONE(f, 1, vectors, __VA_ARGS__) \
    ONE(f, 2, vectors, __VA_ARGS__) \
    ONE(f, 3, vectors, __VA_ARGS__) ONE(f, 4, vectors, __VA_ARGS__) ONE(f, 5, vectors, __VA_ARGS__) \
        ONE(f, 6, vectors, __VA_ARGS__) ONE(f, 7, vectors, __VA_ARGS__) ONE(f, 8, vectors, __VA_ARGS__) \
  }
#else
#define EACH(f, count, vectors, ...) \
  switch (count) { \
    ONE(f, 1, vectors, __VA_ARGS__) \
    ONE(f, 2, vectors, __VA_ARGS__) \
    ONE(f, 3, vectors, __VA_ARGS__) ONE(f, 4, vectors, __VA_ARGS__) ONE(f, 5, vectors, __VA_ARGS__) \
  }
#endif
#define ONE(f, n, vectors, ...) \
  case n: \
    if (vectors == 1) f(n, 1, __VA_ARGS__); \
    else f(n, 2, __VA_ARGS__); \
    break;

// share divides n into pieces of about the same size, at most MOST, and returns the size of the first.
static inline int64_t share(int64_t n) {
  int64_t pieces = (n + MOST - 1) / MOST;
  return (n + pieces - 1) / pieces;
}

static void results(const xb_windows *in, int64_t outs, const float *w, float *y) {
  int64_t panel = in->rows * in->row * COLUMNS;
  for (int64_t o = 0; o < outs; o += COLUMNS, w += panel) {
    int64_t columns = outs - o < COLUMNS ? outs - o : COLUMNS, vectors = (columns + W - 1) / W;
    for (int64_t q = 0, n; q < in->windows; q += n) {
      n = share(in->windows - q);
      EACH(sums_of_results, n, vectors, in, q, w, y + q * outs + o, outs, columns)
    }
  }
}

static void images(const xb_windows *in, int64_t outs, const float *y, const float *w) {
  for (int64_t r = 0; r < in->rows; r++)
    for (int64_t j = 0; j < in->row; j += COLUMNS, w += outs * COLUMNS) {
      int64_t columns = in->row - j < COLUMNS ? in->row - j : COLUMNS, vectors = (columns + W - 1) / W;
      float *x = in->x + r * in->pitch + j;
      for (int64_t q = 0, n; q < in->windows; q += n) {
        n = share(in->windows - q);
        EACH(sums_of_images, n, vectors, in, q, x, y + q * outs, outs, w, columns)
      }
    }
}

static void weights(const xb_windows *in, int64_t outs, const float *y, float *w, float *lines) {
  for (int64_t o = 0; o < outs; o += COLUMNS) {
    int64_t columns = outs - o < COLUMNS ? outs - o : COLUMNS, vectors = (columns + W - 1) / W, step = outs;
    const float *from = y + o;
    if (columns % W != 0) {
      step = vectors * W;
      for (int64_t q = 0; q < in->windows; q++) {
        memcpy(lines + q * step, from + q * outs, (size_t)columns * sizeof(float));
        memset(lines + q * step + columns, 0, (size_t)(step - columns) * sizeof(float));
      }
      from = lines;
    }
    for (int64_t r = 0; r < in->rows; r++)
      for (int64_t j = 0, n; j < in->row; j += n, w += n * COLUMNS) {
        n = share(in->row - j);
        EACH(sums_of_weights, n, vectors, in, in->x + r * in->pitch + j, from, step, w)
      }
  }
}

const xb_conv NAME = {COLUMNS, results, images, weights};
