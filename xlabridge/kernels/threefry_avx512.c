#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#pragma GCC optimize("fp-contract=off")
#define threefry xb_threefry_avx512
#define hashes xb_hashes_avx512
#define W 16
// The last number is the rounding that the processor is set to.
#define FMA32(x, y, z) __builtin_ia32_vfmaddps512_mask(x, y, z, -1, 4)
#define SQRT32(x) __builtin_ia32_sqrtps512_mask(x, x, -1, 4)
#define ANY(x) __builtin_ia32_ptestmd512(x, x, -1)
#include "threefry_block.h"
#endif
