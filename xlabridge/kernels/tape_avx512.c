#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <math.h>
#include <stdbool.h>
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define SET avx512
#define BYTES 64
// The last number is the rounding that the processor is set to.
#define FMA32(x, y, z) __builtin_ia32_vfmaddps512_mask(x, y, z, -1, 4)
#define FMA64(x, y, z) __builtin_ia32_vfmaddpd512_mask(x, y, z, -1, 4)
#define SQRT32(x) __builtin_ia32_sqrtps512_mask(x, x, -1, 4)
#define SQRT64(x) __builtin_ia32_sqrtpd512_mask(x, x, -1, 4)
#include "tape_types.h"
#endif
