#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#include <stdint.h>
#include <string.h>

// Registers, and at any place in memory. immintrin.h would take a quarter of a second to compile.
typedef float floats __attribute__((vector_size(32)));
typedef int32_t words __attribute__((vector_size(32)));
typedef float floats_at __attribute__((vector_size(32), may_alias, aligned(4)));
typedef int32_t words_at __attribute__((vector_size(32), may_alias, aligned(4)));
typedef char bytes __attribute__((vector_size(16)));
typedef long long pair __attribute__((vector_size(16)));

// places8 returns the numbers 0 to 7 of those that a mask of bytes, each 0 or 255, lets through, side by side.
static inline words places8(uint64_t mask) {
  pair packed = {(long long)__builtin_ia32_pext_di(0x0706050403020100u, mask)};
  return (words)__builtin_ia32_pmovzxbd256((bytes)packed);
}

// packed8 takes eight numbers at a time: a table says which of them a mask lets through, in their order.
static inline int packed8(int n, const float *x, int32_t *at, float *value) {
  int found = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    floats v = *(const floats_at *)(x + i);
    unsigned mask = (unsigned)__builtin_ia32_movmskps256((floats)(v != 0));
    words order = places8(__builtin_ia32_pdep_di(mask, 0x0101010101010101u) * 0xff);
    *(words_at *)(at + found) = order + i;
    *(floats_at *)(value + found) = __builtin_shuffle(v, order);
    found += __builtin_popcount(mask);
  }
  for (; i < n; i++) {
    at[found] = i;
    value[found] = x[i];
    found += x[i] != 0;
  }
  return found;
}

// packed_bytes8 does so with bytes, each 0 or 1.
static inline int packed_bytes8(int n, const uint8_t *x, int32_t *at) {
  int found = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t eight;
    memcpy(&eight, x + i, sizeof eight);
    *(words_at *)(at + found) = places8(eight * 0xff) + i;
    found += __builtin_popcountll(eight);
  }
  for (; i < n; i++) {
    at[found] = i;
    found += x[i] != 0;
  }
  return found;
}

#define PACK packed8
#define PACK_BYTES packed_bytes8
#define OUTER xb_sparse_outer_avx2
#define NAME xb_sparse_dot_avx2
#define W 8
#include "sparsedot_block.h"
#endif
