// Products of vectors that are mostly zeros with matrices, row by row.
#ifndef XLARUN_SPARSEDOT_H
#define XLARUN_SPARSEDOT_H

#include <stdbool.h>
#include <stdint.h>

// out[outs] = x[ins] w[ins, outs]. The elements of x that are not 0 are found once. x are numbers, or bytes that are 0
// or 1.
typedef void xb_sparse_dot_row(int64_t ins, int64_t outs, bool bytes, const void *x, const float *w, float *out);

// out[ins, outs] += x[ins] y[outs]^T, likewise.
typedef void xb_sparse_outer_row(int64_t ins, int64_t outs, bool bytes, const void *x, const float *y, float *out);

extern xb_sparse_dot_row xb_sparse_dot_plain;
extern xb_sparse_outer_row xb_sparse_outer_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_sparse_dot_row xb_sparse_dot_avx2, xb_sparse_dot_avx512;
extern xb_sparse_outer_row xb_sparse_outer_avx2, xb_sparse_outer_avx512;
#endif

#endif
