#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define BF16
#define BLOCK xs_block_bf16_avx2
#define W 8
#include "sparse_block.h"
#endif
