#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define NAME xb_small_dots_avx2
#define W 8
#include "smalldot_block.h"
#endif
