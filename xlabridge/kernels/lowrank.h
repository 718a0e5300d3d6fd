// Changes of low rank, row by row.
#ifndef XLARUN_LOWRANK_H
#define XLARUN_LOWRANK_H

#include <stdint.h>

// out[outs] = y[outs] + scale (x[ins] a[rank, ins]^T) b[rank, outs]. out may be y.
typedef void xb_low_rank_row(int64_t rank, int64_t ins, int64_t outs, const float *y, const float *x, const float *a,
                             const float *b, float scale, float *out);

extern xb_low_rank_row xb_low_rank_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_low_rank_row xb_low_rank_avx2;
#endif

#endif
