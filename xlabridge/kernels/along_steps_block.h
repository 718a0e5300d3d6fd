// A file includes this with W, the numbers of a vector register, and the functions' names.
#include <stddef.h>

#include "along_steps.h"

typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));
typedef int32_t mask __attribute__((vector_size(4 * W), may_alias, aligned(4)));

#define AT(p) (*(vec *)(p))
#define READ(p) (*(const vec *)(p))

// state' = a*state + b; a is one number for all units where it is not wide.
void RECURRENCE(int64_t n, const float *a, int64_t wide, const float *b, float *state, float *before) {
  int64_t i = 0;
  for (; i + W <= n; i += W) {
    vec s = READ(state + i);
    AT(before + i) = s;
    AT(state + i) = wide ? READ(a + i) * s + READ(b + i) : *a * s + READ(b + i);
  }
  for (; i < n; i++) {
    float s = state[i];
    before[i] = s;
    state[i] = a[wide ? i : 0] * s + b[i];
  }
}

// See graph.IntegrateFire; before may be NULL.
void FIRE(int64_t n, const float *x, const float *beta, const float *threshold, float *v, float *spikes,
          float *before) {
  const vec one = (vec){0} + 1;
  int64_t i = 0;
  for (; i + W <= n; i += W) {
    vec u = READ(v + i), h = READ(threshold + i);
    vec s = (vec)((mask)one & (mask)(u - h > 0));
    AT(spikes + i) = s;
    if (before) AT(before + i) = u;
    AT(v + i) = READ(beta + i) * u + READ(x + i) - s * h;
  }
  for (; i < n; i++) {
    float u = v[i], s = u - threshold[i] > 0;
    spikes[i] = s;
    if (before) before[i] = u;
    v[i] = beta[i] * u + x[i] - s * threshold[i];
  }
}
