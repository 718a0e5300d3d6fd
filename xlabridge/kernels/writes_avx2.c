#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define NAME xb_combine_avx2
#include "writes_block.h"
#endif
