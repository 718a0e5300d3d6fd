#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#pragma GCC optimize(2, "no-tree-vrp")  // as fast as with 3, and compiles in half of the time
#define NAME xb_conv_avx512
#define W 16
#define MOST 8
#include "convimages_block.h"
#endif
