// Eigenvalues and eigenvectors of symmetric matrices.
#ifndef XLARUN_EIGH_H
#define XLARUN_EIGH_H

#include <stdint.h>

// For a[n, n], symmetric, of numbers of at most 1, which is overwritten: w[n] are the eigenvalues in no order, the rows
// of v[n, n] their eigenvectors. room has place for 3 n numbers. 0: it did not come to an end.
typedef int xb_eigh_one(int64_t n, double *a, double *w, double *v, double *room);

extern xb_eigh_one xb_eigh_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_eigh_one xb_eigh_avx2;
#endif

#endif
