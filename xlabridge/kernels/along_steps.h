// Kernels that go step by step along the second to last axis, for each index of the leading axes. An array whose
// leading axis has size 1 is broadcast along it.
#ifndef XLARUN_ALONG_STEPS_H
#define XLARUN_ALONG_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "ffi.h"

// UNITS is the number of units that run together: their states fit into the first-level cache.
enum { LEADING = 8, ARRAYS = 7, UNITS = 1024 };

// xb_along iterates over the leading axes.
typedef struct {
  int arrays;
  const xf_buffer *all[ARRAYS];
  int64_t lead, dims[LEADING], index[LEADING], at[ARRAYS], steps[ARRAYS][LEADING];
} xb_along;

// xb_along_start begins at the first index. It returns false unless all arrays are f32, array i has own[i] axes after
// the leading ones, and its leading axes broadcast to those of the array `first`.
static inline bool xb_along_start(xb_along *w, int first, const int64_t *own) {
  w->lead = w->all[first]->rank - own[first];
  if (w->lead < 0 || w->lead > LEADING) return false;
  for (int64_t k = 0; k < w->lead; k++) w->dims[k] = w->all[first]->dims[k], w->index[k] = 0;
  for (int i = 0; i < w->arrays; i++) {
    const xf_buffer *b = w->all[i];
    if (b->dtype != XF_F32 || b->rank != w->lead + own[i]) return false;
    int64_t step = 1;
    w->at[i] = 0;
    for (int64_t k = b->rank - 1; k >= 0; k--) {
      if (k < w->lead) {
        if (b->dims[k] != 1 && b->dims[k] != w->dims[k]) return false;
        w->steps[i][k] = b->dims[k] == 1 ? 0 : step;
      }
      step *= b->dims[k];
    }
  }
  return true;
}

// xb_along_next goes to the next index; false: there was none.
static inline bool xb_along_next(xb_along *w) {
  for (int64_t k = w->lead - 1; k >= 0; k--) {
    bool over = ++w->index[k] == w->dims[k];
    for (int i = 0; i < w->arrays; i++) w->at[i] += over ? -(w->dims[k] - 1) * w->steps[i][k] : w->steps[i][k];
    if (!over) return true;
    w->index[k] = 0;
  }
  return false;
}

static inline float *xb_along_data(const xb_along *w, int i) { return (float *)w->all[i]->data + w->at[i]; }

// One step of n units. state and v are what goes from step to step.
typedef void xb_recurrence_row(int64_t n, const float *a, int64_t wide, const float *b, float *state, float *before);
typedef void xb_fire_row(int64_t n, const float *x, const float *beta, const float *threshold, float *v, float *spikes,
                         float *before);

extern xb_recurrence_row xb_recurrence_plain;
extern xb_fire_row xb_fire_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_recurrence_row xb_recurrence_avx2;
extern xb_fire_row xb_fire_avx2;
#endif

#endif
