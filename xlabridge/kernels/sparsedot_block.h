// A file includes this with W, the numbers of a vector register, and NAME and OUTER, the functions' names. PACK names
// the function that finds the numbers of x[n] that are not zero: it returns their count, and writes their indices and
// values. PACK_BYTES is the same for bytes, whose values are 1.
#include <stdbool.h>

#include "sparsedot.h"

typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));

enum { SUMS = 8, BLOCK = 1024 };  // registers that sums stay in; inputs whose places are found at a time

// strip adds the rows at the places, times the values, to a strip of so many registers.
#define STRIP(SUMS) \
  for (; o + (SUMS) * W <= outs; o += (SUMS) * W) { \
    vec sum[SUMS]; \
    for (int j = 0; j < (SUMS); j++) sum[j] = first ? (vec){0} : *(const vec *)(out + o + j * W); \
    for (int k = 0; k < n; k++) { \
      const float *row = w + (begin + at[k]) * outs + o; \
      for (int j = 0; j < (SUMS); j++) sum[j] += value[k] * *(const vec *)(row + j * W); \
    } \
    for (int j = 0; j < (SUMS); j++) *(vec *)(out + o + j * W) = sum[j]; \
  }

// packed goes number by number, without branches, which would be mispredicted.
static inline __attribute__((unused)) int packed(int n, const float *x, int32_t *at, float *value) {
  int found = 0;
  for (int i = 0; i < n; i++) {
    at[found] = i;
    value[found] = x[i];
    found += x[i] != 0;
  }
  return found;
}

#ifndef PACK
#define PACK packed
#endif

// packed_bytes is the same of bytes, each 0 or 1.
static inline __attribute__((unused)) int packed_bytes(int n, const uint8_t *x, int32_t *at) {
  int found = 0;
  for (int i = 0; i < n; i++) {
    at[found] = i;
    found += x[i];
  }
  return found;
}

#ifndef PACK_BYTES
#define PACK_BYTES packed_bytes
#endif

static inline int packed_any(bool bytes, int64_t begin, int64_t end, const void *x, int32_t *at, float *value) {
  if (!bytes) return PACK((int)(end - begin), (const float *)x + begin, at, value);
  int n = PACK_BYTES((int)(end - begin), (const uint8_t *)x + begin, at);
  for (int k = 0; k < n; k++) value[k] = 1;
  return n;
}

void NAME(int64_t ins, int64_t outs, bool bytes, const void *x, const float *w, float *out) {
  int32_t at[BLOCK + W];  // packing writes whole registers
  float value[BLOCK + W];
  for (int64_t begin = 0; begin < ins; begin += BLOCK) {
    int64_t end = begin + BLOCK < ins ? begin + BLOCK : ins;
    int n = packed_any(bytes, begin, end, x, at, value);
    bool first = begin == 0;
    int64_t o = 0;
    STRIP(SUMS)
    STRIP(4)
    STRIP(1)
    for (; o < outs; o++) {
      float sum = first ? 0 : out[o];
      for (int k = 0; k < n; k++) sum += value[k] * w[(begin + at[k]) * outs + o];
      out[o] = sum;
    }
  }
}

// A strip of y stays in so many registers while it is added, times the values, to the rows at the places.
#define OUTER_STRIP(SUMS) \
  for (; o + (SUMS) * W <= outs; o += (SUMS) * W) { \
    vec part[SUMS]; \
    for (int j = 0; j < (SUMS); j++) part[j] = *(const vec *)(y + o + j * W); \
    for (int k = 0; k < n; k++) { \
      float *row = out + (begin + at[k]) * outs + o; \
      for (int j = 0; j < (SUMS); j++) *(vec *)(row + j * W) += value[k] * part[j]; \
    } \
  }

void OUTER(int64_t ins, int64_t outs, bool bytes, const void *x, const float *y, float *out) {
  int32_t at[BLOCK + W];
  float value[BLOCK + W];
  for (int64_t begin = 0; begin < ins; begin += BLOCK) {
    int64_t end = begin + BLOCK < ins ? begin + BLOCK : ins;
    int n = packed_any(bytes, begin, end, x, at, value);
    int64_t o = 0;
    OUTER_STRIP(SUMS)
    OUTER_STRIP(4)
    OUTER_STRIP(1)
    for (; o < outs; o++)
      for (int k = 0; k < n; k++) out[(begin + at[k]) * outs + o] += value[k] * y[o];
  }
}
