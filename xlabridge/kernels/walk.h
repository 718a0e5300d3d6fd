// A walk through the leading axes of several arrays at once. An array whose leading axis has size 1 is broadcast along
// it.
#ifndef XLARUN_WALK_H
#define XLARUN_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "ffi.h"

enum { XB_WALK_AXES = 8, XB_WALK_ARRAYS = 6 };

typedef struct {
  int64_t lead, arrays;
  int64_t dims[XB_WALK_AXES], axes[XB_WALK_AXES];   // axes in the order of the walk, the innermost last
  int64_t steps[XB_WALK_ARRAYS][XB_WALK_AXES];      // elements from one index to the next, 0 if the array is broadcast
  int64_t index[XB_WALK_AXES], at[XB_WALK_ARRAYS];  // where the walk is, and the first element there of each array
} xb_walk;

// xb_walk_begin begins a walk through indices of dims. Axes along which the array `kept` is broadcast run innermost, so
// that it is read from memory once.
static inline void xb_walk_begin(xb_walk *w, int64_t lead, const int64_t *dims, const xf_buffer *const *arrays,
                                 int64_t n, int kept) {
  *w = (xb_walk){.lead = lead, .arrays = n};
  int64_t shared = 0;
  for (int64_t k = 0; k < lead; k++) w->dims[k] = dims[k], shared += arrays[kept]->dims[k] == 1;
  for (int64_t k = 0, outer = 0, inner = lead - shared; k < lead; k++) {
    if (arrays[kept]->dims[k] == 1) w->axes[inner++] = k;
    else w->axes[outer++] = k;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t step = 1;
    for (int64_t k = arrays[i]->rank - 1; k >= 0; step *= arrays[i]->dims[k--])
      if (k < lead) w->steps[i][k] = arrays[i]->dims[k] == 1 ? 0 : step;
  }
}

// xb_walk_next goes on to the next index; false: there is none.
static inline bool xb_walk_next(xb_walk *w) {
  for (int64_t last = w->lead - 1; last >= 0; last--) {
    int64_t k = w->axes[last], n = w->dims[k];
    bool over = ++w->index[k] == n;
    for (int64_t i = 0; i < w->arrays; i++) w->at[i] += over ? -(n - 1) * w->steps[i][k] : w->steps[i][k];
    if (!over) return true;
    w->index[k] = 0;
  }
  return false;
}

#endif
