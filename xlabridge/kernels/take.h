// Elements of vectors by their indices.
#ifndef XLARUN_TAKE_H
#define XLARUN_TAKE_H

#include <stdint.h>

// For each of outer vectors x[n] of elements of width bytes: y[i] = x[index[i]], count of them. Indices are clamped to
// 0 … n - 1.
typedef void xb_take_elements(const void *x, int64_t n, int64_t outer, const int32_t *index, int64_t count,
                              int64_t width, void *y);

xb_take_elements xb_take_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
xb_take_elements xb_take_avx2;
#endif

#endif
