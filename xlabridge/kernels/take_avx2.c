#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define NAME xb_take_avx2
#include "take_block.h"
#endif
