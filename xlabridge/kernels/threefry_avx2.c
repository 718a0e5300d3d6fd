#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#pragma GCC optimize("fp-contract=off")
#define threefry xb_threefry_avx2
#define hashes xb_hashes_avx2
#define W 8
#define FMA32(x, y, z) __builtin_ia32_vfmaddps256(x, y, z)
#define SQRT32(x) __builtin_ia32_sqrtps256(x)
#define ANY(x) __builtin_ia32_movmskps256((vecf)(x))
#include "threefry_block.h"
#endif
