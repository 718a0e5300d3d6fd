#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4")
#define NAME xb_sparse_dot_avx512
#define W 16
#include "sparsedot_block.h"
#endif
