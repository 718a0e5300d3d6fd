#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <math.h>
#include <stdbool.h>
#pragma GCC target("arch=x86-64-v3")
#define SET avx2
#define BYTES 32
#define FMA32(x, y, z) __builtin_ia32_vfmaddps256(x, y, z)
#define FMA64(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)
#define SQRT32(x) __builtin_ia32_sqrtps256(x)
#define SQRT64(x) __builtin_ia32_sqrtpd256(x)
#include "tape_types.h"
#endif
