#include "plain.h"
#include <math.h>
#include <stdbool.h>
#define SET plain
#define BYTES 16

typedef float vec32 __attribute__((vector_size(BYTES), may_alias));
typedef double vec64 __attribute__((vector_size(BYTES), may_alias));

// Rounded once, by the library where the processor has no such instruction.
static inline vec32 fma32(vec32 x, vec32 y, vec32 z) {
  for (int i = 0; i < BYTES / 4; i++) z[i] = fmaf(x[i], y[i], z[i]);
  return z;
}
static inline vec64 fma64(vec64 x, vec64 y, vec64 z) {
  for (int i = 0; i < BYTES / 8; i++) z[i] = fma(x[i], y[i], z[i]);
  return z;
}
static inline vec32 sqrt32(vec32 x) {
  for (int i = 0; i < BYTES / 4; i++) x[i] = sqrtf(x[i]);
  return x;
}
static inline vec64 sqrt64(vec64 x) {
  for (int i = 0; i < BYTES / 8; i++) x[i] = sqrt(x[i]);
  return x;
}

#define FMA32 fma32
#define FMA64 fma64
#define SQRT32 sqrt32
#define SQRT64 sqrt64
#include "tape_types.h"
