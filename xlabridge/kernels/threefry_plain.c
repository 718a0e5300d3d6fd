#include "plain.h"
#include <math.h>
#include <stdint.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#endif
#define threefry xb_threefry_plain
#define hashes xb_hashes_plain
#define W 4

// A compiler without such an instruction rounds twice.
#define FMA32(x, y, z) ((x) * (y) + (z))
#define SQRT32(x) root(x)
#define ANY(x) any(x)
typedef float vec4 __attribute__((vector_size(16)));
static inline vec4 root(vec4 x) {
  for (int i = 0; i < W; i++) x[i] = sqrtf(x[i]);
  return x;
}
static inline int any(int32_t __attribute__((vector_size(16))) x) { return (x[0] | x[1] | x[2] | x[3]) != 0; }
#include "threefry_block.h"
