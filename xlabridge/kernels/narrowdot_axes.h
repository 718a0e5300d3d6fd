// Loops through several axes of an array.
#ifndef XLARUN_NARROWDOT_AXES_H
#define XLARUN_NARROWDOT_AXES_H

#include <stdint.h>

#include "narrowdot.h"

enum { XB_AXES = 24 };

static inline int64_t xb_least(int64_t a, int64_t b) { return a < b ? a : b; }

// Axes of an array that are gone through together, with the elements from one index of each to the next.
typedef struct {
  int n;
  int64_t size, dims[XB_AXES], steps[XB_AXES];
} xb_axes;

// xb_add_axis adds an axis inside of the others. Two that are gone through without a gap become one.
static inline void xb_add_axis(xb_axes *a, int64_t dim, int64_t step) {
  a->size *= dim;
  if (dim == 1) return;
  if (a->n > 0 && a->steps[a->n - 1] == dim * step) {
    a->dims[a->n - 1] *= dim, a->steps[a->n - 1] = step;
    return;
  }
  a->dims[a->n] = dim, a->steps[a->n++] = step;
}

// xb_offsets says where elements from `first` on lie: at[k] is that of element first + k.
static inline void xb_offsets(const xb_axes *a, int64_t first, int64_t n, int64_t *at) {
  int64_t index[XB_AXES], place = 0;
  int last = a->n - 1;
  if (last < 0) {
    at[0] = 0;
    return;
  }
  for (int i = last; i >= 0; first /= a->dims[i--]) index[i] = first % a->dims[i], place += index[i] * a->steps[i];
  for (int64_t k = 0, some; k < n; k += some) {
    int64_t step = a->steps[last];
    some = xb_least(a->dims[last] - index[last], n - k);
    for (int64_t i = 0; i < some; i++) at[k + i] = place + i * step;
    place += (a->dims[last] - index[last]) * step, index[last] = a->dims[last];
    for (int i = last; index[i] == a->dims[i] && i > 0; i--)
      place += a->steps[i - 1] - a->dims[i] * a->steps[i], index[i] = 0, index[i - 1]++;
  }
}

// xb_places_of says where n elements from `first` on lie, and which of them lie side by side.
static inline void xb_places_of(const xb_axes *a, int64_t first, int64_t n, xb_places *p) {
  xb_offsets(a, first, n, p->at);
  p->n = n, p->pieces = 0;
  for (int64_t k = 0; k < n; k++)
    if (k == 0 || p->at[k] != p->at[k - 1] + 1) p->begin[p->pieces++] = k;
  p->begin[p->pieces] = n;
}

#endif
