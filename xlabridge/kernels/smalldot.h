// Products of many small matrices.
#ifndef XLARUN_SMALLDOT_H
#define XLARUN_SMALLDOT_H

#include <stdbool.h>
#include <stdint.h>

enum { XB_SMALL_SIDE = 32 };  // the longest side of a matrix

// sizes of the products out[rows, columns] = x[rows, inner] y[inner, columns]; x or y may lie transposed, and all
// products may share one x.
typedef struct {
  int64_t products, rows, inner, columns;
  bool x_transposed, y_transposed, x_shared;
} xb_small_sizes;

typedef void xb_small_dots(const xb_small_sizes *s, const float *x, const float *y, float *out);

extern xb_small_dots xb_small_dots_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_small_dots xb_small_dots_avx2, xb_small_dots_avx512;
#endif

#endif
