// Combiners of elements of an array with elements that are written into it.
#ifndef XLARUN_WRITES_H
#define XLARUN_WRITES_H

#include <stdint.h>

// A run combines n elements of from with those of to. Strides are in elements. A spray combines element i of from with
// to[at[i]], unless at[i] is negative. Rows of width elements are sprayed the same way. A direct spray computes the
// places: element i goes to i * step + index[i] * scale, unless index[i] is negative or above last.
typedef void xb_run(void *restrict to, const void *restrict from, int64_t n, int64_t to_stride, int64_t from_stride);
typedef void xb_spray(void *restrict to, const void *restrict from, int64_t n, const int64_t *restrict at,
                      int64_t from_stride);
typedef void xb_rows(void *restrict to, const void *restrict from, int64_t n, const int64_t *restrict at, int64_t width,
                     int64_t from_stride);
typedef void xb_direct(void *restrict to, const void *restrict from, int64_t n, const int32_t *restrict index,
                       uint32_t last, int64_t scale, int64_t step, int64_t from_stride);

typedef struct {
  xb_run *run;
  xb_spray *spray;
  xb_rows *rows;
  xb_direct *direct;
} xb_combiner;

enum { SET, SUM, PROD, MAX, MIN };

// The combiner of a kind and of an element type, which has a width in bytes; nulls: there is none.
typedef xb_combiner xb_combine(int64_t kind, int dtype, int64_t width);

// Columns combine count updates of eight lanes, in rows from_stride apart, with eight rows of n elements. The lanes
// share the indices; an index outside of the rows is skipped. scratch has room for the rows.
typedef void xb_columns(void *restrict to, int64_t n, int64_t to_stride, const void *restrict from, int64_t count,
                        int64_t from_stride, const int32_t *restrict index, void *restrict scratch);

xb_combine xb_combine_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
xb_combine xb_combine_avx2;

// The columns of a kind and of an element type; null: there are none.
xb_columns *xb_columns_avx2(int64_t kind, int dtype, int64_t width);
#endif

#endif
