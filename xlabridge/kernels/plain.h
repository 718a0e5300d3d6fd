// What NAME_plain.c includes first where a NAME_avx2.c does the same work. On x86-64 its functions are for processors
// without AVX2, which are older than 2013: they need not be fast, so that they compile faster.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize 1
#endif
