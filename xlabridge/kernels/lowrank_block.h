// A file includes this with W, the numbers of a vector register, and NAME, the name of the function.
#include "lowrank.h"

typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));

enum { SUMS = 4 };  // that grow side by side: an addition waits for the one before it

static inline float dot(const float *x, const float *y, int64_t n) {
  vec sum[SUMS] = {{0}};
  int64_t i = 0;
  for (; i + SUMS * W <= n; i += SUMS * W)
    for (int k = 0; k < SUMS; k++) sum[k] += *(const vec *)(x + i + k * W) * *(const vec *)(y + i + k * W);
  for (; i + W <= n; i += W) sum[0] += *(const vec *)(x + i) * *(const vec *)(y + i);
  vec all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  float s = 0;
  for (; i < n; i++) s += x[i] * y[i];
  for (int k = 0; k < W; k++) s += all[k];
  return s;
}

void NAME(int64_t rank, int64_t ins, int64_t outs, const float *y, const float *x, const float *a, const float *b,
          float scale, float *out) {
  for (int64_t r = 0; r < rank; r++, a += ins, b += outs, y = out) {
    float t = scale * dot(x, a, ins);
    int64_t i = 0;
    for (; i + W <= outs; i += W) *(vec *)(out + i) = *(const vec *)(y + i) + t * *(const vec *)(b + i);
    for (; i < outs; i++) out[i] = y[i] + t * b[i];
  }
}
