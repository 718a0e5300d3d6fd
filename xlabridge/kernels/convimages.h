// Convolutions of small images, in parts that a compiler unrolls.
#ifndef XLARUN_CONVIMAGES_H
#define XLARUN_CONVIMAGES_H

#include <stdint.h>

// A window has `rows` rows of `row` contiguous elements, `pitch` apart. Window q begins at x + at[q]. Matrices lie in
// panels: xb_conv.columns of their columns side by side, line by line. The last panel is padded with zeros.
typedef struct {
  int64_t windows, rows, row, pitch;
  const int64_t *at;
  float *x;
} xb_windows;

// A set of the functions of convimages_block.h for one kind of processor.
typedef struct {
  int64_t columns;
  // y[windows, outs] is the product of the windows and the panels of w[rows * row, outs].
  void (*results)(const xb_windows *in, int64_t outs, const float *w, float *y);
  // Adds to each row of the windows the product of y[windows, outs] and the panels of that row's w[outs, row]. It adds
  // zeros to up to `columns` elements after a row.
  void (*images)(const xb_windows *in, int64_t outs, const float *y, const float *w);
  // Adds to the panels of w[rows * row, outs] the product of the transposed windows and y[windows, outs]. lines has
  // room for a panel's columns of all windows.
  void (*weights)(const xb_windows *in, int64_t outs, const float *y, float *w, float *lines);
} xb_conv;

extern const xb_conv xb_conv_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern const xb_conv xb_conv_avx2, xb_conv_avx512;
#endif

#endif
