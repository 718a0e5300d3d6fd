// A file includes this with W, the numbers of a vector register, and NAME, the name of the function.
#include <stdbool.h>

#include "sparsedot.h"

typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));

enum { SUMS = 8, BLOCK = 1024 };  // registers that sums stay in; inputs whose places are found at a time

// strip adds the rows at the places, times the values, to a strip of so many registers.
#define STRIP(SUMS)                                                                                  \
  for (; o + (SUMS) * W <= outs; o += (SUMS) * W) {                                                  \
    vec sum[SUMS];                                                                                   \
    for (int j = 0; j < (SUMS); j++) sum[j] = first ? (vec){0} : *(const vec *)(out + o + j * W);    \
    for (int k = 0; k < n; k++) {                                                                    \
      const float *row = w + at[k] * outs + o;                                                       \
      for (int j = 0; j < (SUMS); j++) sum[j] += value[k] * *(const vec *)(row + j * W);             \
    }                                                                                                \
    for (int j = 0; j < (SUMS); j++) *(vec *)(out + o + j * W) = sum[j];                             \
  }

void NAME(int64_t ins, int64_t outs, const float *x, const float *w, float *out) {
  int64_t at[BLOCK];
  float value[BLOCK];
  for (int64_t begin = 0; begin < ins; begin += BLOCK) {
    int64_t end = begin + BLOCK < ins ? begin + BLOCK : ins;
    int n = 0;
    for (int64_t i = begin; i < end; i++) {  // without branches, which nobody could foretell
      at[n] = i;
      value[n] = x[i];
      n += x[i] != 0;
    }
    bool first = begin == 0;
    int64_t o = 0;
    STRIP(SUMS)
    STRIP(4)
    STRIP(1)
    for (; o < outs; o++) {
      float sum = first ? 0 : out[o];
      for (int k = 0; k < n; k++) sum += value[k] * w[at[k] * outs + o];
      out[o] = sum;
    }
  }
}
