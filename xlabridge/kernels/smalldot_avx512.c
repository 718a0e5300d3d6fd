#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define NAME xb_small_dots_avx512
#define W 16
#include "smalldot_block.h"
#endif
