// Threefry-2x32 of 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) in vectors of W
// words.
#include <stdint.h>
#include <string.h>

#include "threefry.h"

typedef uint32_t vec __attribute__((vector_size(4 * W)));

enum { TOGETHER = 4 };  // vectors that are hashed side by side: a round waits for the one before

#ifdef FMA32
#include "threefry_normal.h"
#endif

#define ROTATE(x, r) (((x) << (r)) | ((x) >> (32 - (r))))

// hash makes of counters (x0, x1) under keys (k0, k1) both words of output.
static inline void hash(const vec *k0, const vec *k1, vec *x0, vec *x1) {
  static const int distances[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  vec k[3][TOGETHER];
  for (int i = 0; i < TOGETHER; i++) {
    k[0][i] = k0[i], k[1][i] = k1[i], k[2][i] = k0[i] ^ k1[i] ^ 0x1BD11BDAu;
    x0[i] += k[0][i], x1[i] += k[1][i];
  }
#pragma GCC unroll 5
  for (int round = 0; round < 5; round++) {
#pragma GCC unroll 4
    for (int d = 0; d < 4; d++) {
      const int r = distances[round % 2][d];
#pragma GCC unroll 4
      for (int i = 0; i < TOGETHER; i++) {
        x0[i] += x1[i];
        x1[i] = ROTATE(x1[i], r) ^ x0[i];
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < TOGETHER; i++) {
      x0[i] += k[(round + 1) % 3][i];
      x1[i] += k[(round + 2) % 3][i] + (uint32_t)(round + 1);
    }
  }
}

// store writes n words, at most TOGETHER vectors of them: the two words apart, or a alone with both in one, or with the
// normal number of these bits.
static inline void store(uint32_t *a, uint32_t *b, const vec *x0, const vec *x1, int64_t n, int normal) {
  vec x[TOGETHER];
  for (int i = 0; i < TOGETHER; i++) x[i] = b ? x0[i] : x0[i] ^ x1[i];
#ifdef FMA32
  if (normal) normals_of(x);
#endif
  int64_t bytes = 4 * (n < TOGETHER * W ? n : TOGETHER * W);
  memcpy(a, x, bytes);
  if (b) memcpy(b, x1, bytes);
}

static vec ramp(void) {
  vec x;
  for (int i = 0; i < W; i++) x[i] = i;
  return x;
}

void threefry(const uint32_t *hi, const uint32_t *lo, int64_t keys, int64_t draws, int keys_last, int normal,
              uint32_t *a, uint32_t *b) {
  const int64_t step = TOGETHER * W;
  vec k0[TOGETHER], k1[TOGETHER], x0[TOGETHER], x1[TOGETHER];
  if (!keys_last && draws >= step) {
    for (int64_t k = 0; k < keys; k++) {
      for (int i = 0; i < TOGETHER; i++) k0[i] = hi[k] - (vec){0}, k1[i] = lo[k] - (vec){0};
      for (int64_t j = 0; j < draws; j += step) {
        for (int i = 0; i < TOGETHER; i++) x1[i] = ramp() + (uint32_t)(j + i * W);
        memset(x0, 0, sizeof x0);
        hash(k0, k1, x0, x1);
        int64_t at = k * draws + j;
        store(a + at, b ? b + at : NULL, x0, x1, draws - j, normal);
      }
    }
    return;
  }
  if (!keys_last) {  // vectors of several keys
    uint32_t key0[TOGETHER * W] = {0}, key1[TOGETHER * W] = {0}, counter[TOGETHER * W] = {0};
    int64_t k = 0, j = 0;
    for (int64_t at = 0; at < keys * draws; at += step) {
      int64_t n = keys * draws - at < step ? keys * draws - at : step;
      for (int64_t i = 0; i < n; i++) {
        key0[i] = hi[k], key1[i] = lo[k], counter[i] = (uint32_t)j;
        if (++j == draws) j = 0, k++;
      }
      memcpy(k0, key0, sizeof k0), memcpy(k1, key1, sizeof k1), memcpy(x1, counter, sizeof x1);
      memset(x0, 0, sizeof x0);
      hash(k0, k1, x0, x1);
      store(a + at, b ? b + at : NULL, x0, x1, n, normal);
    }
    return;
  }
  for (int64_t k = 0; k < keys; k += step) {
    int64_t n = keys - k < step ? keys - k : step;
    memset(k0, 0, sizeof k0), memset(k1, 0, sizeof k1);
    memcpy(k0, hi + k, 4 * n), memcpy(k1, lo + k, 4 * n);
    for (int64_t j = 0; j < draws; j++) {
      for (int i = 0; i < TOGETHER; i++) x1[i] = (uint32_t)j - (vec){0};
      memset(x0, 0, sizeof x0);
      hash(k0, k1, x0, x1);
      int64_t at = j * keys + k;
      store(a + at, b ? b + at : NULL, x0, x1, n, normal);
    }
  }
}

void hashes(const uint32_t *key0, const uint32_t *key1, const uint32_t *counter0, const uint32_t *counter1, int64_t n,
            uint32_t *a, uint32_t *b) {
  for (int64_t at = 0; at < n; at += TOGETHER * W) {
    vec k0[TOGETHER] = {0}, k1[TOGETHER] = {0}, x0[TOGETHER] = {0}, x1[TOGETHER] = {0};
    int64_t bytes = 4 * (n - at < TOGETHER * W ? n - at : TOGETHER * W);
    memcpy(k0, key0 + at, bytes), memcpy(k1, key1 + at, bytes);
    memcpy(x0, counter0 + at, bytes), memcpy(x1, counter1 + at, bytes);
    hash(k0, k1, x0, x1);
    store(a + at, b + at, x0, x1, n - at, 0);
  }
}
