// Factorisations of many small matrices, row-major, one behind the other.
#ifndef XLARUN_LINALG_H
#define XLARUN_LINALG_H

#include <stdint.h>

// A set of the functions of linalg_block.h for one type of number and one kind of processor. Each takes count matrices
// and returns 0 where it had no memory.
typedef struct {
  // l[n, n] is the lower Cholesky factor of a[n, n], of which the lower triangle is read; zero above the diagonal, and
  // NaN below and on it where a is not positive definite.
  int (*cholesky)(int64_t count, int64_t n, const void *a, void *l);
  // x[n, k] solves op(a) x = b, or, on the right, x[k, n] solves x op(a) = b, for a triangle of a[n, n].
  int (*solve)(int64_t count, int64_t n, int64_t k, int right, int upper, int transposed, int unit, const void *a,
               const void *b, void *x);
  // lu[m, n], m >= n, has both factors of a[m, n], pivots[n] the rows that were swapped, order[m] what became of the
  // rows.
  int (*lu)(int64_t count, int64_t m, int64_t n, const void *a, void *lu, int32_t *pivots, int32_t *order);
  // q[m, k] r[k, n] is a[m, n] with k the smaller of m and n: by reflections, with LAPACK's signs.
  int (*qr)(int64_t count, int64_t m, int64_t n, const void *a, void *q, void *r);
} xb_linalg;

extern const xb_linalg xb_linalg_f32_plain, xb_linalg_f64_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern const xb_linalg xb_linalg_f32_avx2, xb_linalg_f64_avx2, xb_linalg_f32_avx512, xb_linalg_f64_avx512;
#endif

#endif
