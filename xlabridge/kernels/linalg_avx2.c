#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#pragma GCC optimize "no-tree-loop-vectorize"  // vectors are written out: the compiler's own make small matrices slower
#define linalg_f32 xb_linalg_f32_avx2
#define linalg_f64 xb_linalg_f64_avx2
#define T float
#define W 8
#define NAME(x) x##_f32
#include "linalg_block.h"
#undef T
#undef W
#undef NAME
#define T double
#define W 4
#define NAME(x) x##_f64
#include "linalg_block.h"
#endif
