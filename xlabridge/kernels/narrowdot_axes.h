// Axes of an array that are gone through together, in a few loops.
#ifndef XLARUN_NARROWDOT_AXES_H
#define XLARUN_NARROWDOT_AXES_H

#include <stdint.h>

#include "narrowdot.h"

enum { AXES = 24 };

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Axes of an array that are gone through together, with the elements from one index of each to the next.
typedef struct {
  int n;
  int64_t size, dims[AXES], steps[AXES];
} axes;

static inline void add_axis(axes *a, int64_t dim, int64_t step) {
  a->size *= dim;
  if (dim == 1) return;
  if (a->n > 0 && a->steps[a->n - 1] == dim * step) {
    a->dims[a->n - 1] *= dim, a->steps[a->n - 1] = step;
    return;
  }
  a->dims[a->n] = dim, a->steps[a->n++] = step;
}

// offsets are where elements from `first` on lie.
static inline void offsets(const axes *a, int64_t first, int64_t n, int64_t *at) {
  int64_t index[AXES], place = 0;
  int last = a->n - 1;
  if (last < 0) {
    at[0] = 0;
    return;
  }
  for (int i = last; i >= 0; first /= a->dims[i--]) index[i] = first % a->dims[i], place += index[i] * a->steps[i];
  for (int64_t k = 0, some; k < n; k += some) {
    int64_t step = a->steps[last];
    some = least(a->dims[last] - index[last], n - k);
    for (int64_t i = 0; i < some; i++) at[k + i] = place + i * step;
    place += (a->dims[last] - index[last]) * step, index[last] = a->dims[last];
    for (int i = last; index[i] == a->dims[i] && i > 0; i--)
      place += a->steps[i - 1] - a->dims[i] * a->steps[i], index[i] = 0, index[i - 1]++;
  }
}

static inline void places(const axes *a, int64_t first, int64_t n, xb_places *p) {
  offsets(a, first, n, p->at);
  p->n = n, p->pieces = 0;
  for (int64_t k = 0; k < n; k++)
    if (k == 0 || p->at[k] != p->at[k - 1] + 1) p->begin[p->pieces++] = k;
  p->begin[p->pieces] = n;
}

#endif
