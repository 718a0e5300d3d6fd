// The kernels xlarun_recurrence and xlarun_integrate_fire: see graph.LinearRecurrence and graph.IntegrateFire.
#include "along_steps.h"

#include <string.h>

#include "vectors.h"

// UNITS units run through all steps before the next: their states stay in the first-level cache, and all other data is
// read and written once.

xf_error *xb_recurrence(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 3 || frame->results.size != 2)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_recurrence takes three arrays and gives two");
  xf_buffer **in = (xf_buffer **)frame->args.values, **out = (xf_buffer **)frame->results.values;
  xb_along w = {.arrays = 5, .all = {in[0], in[1], in[2], out[0], out[1]}};
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);
  bool right = config && size == 1 && xb_along_start(&w, 3, (const int64_t[]){2, 2, 1, 2, 1});
  int64_t steps = 0, n = 0, long_a = 0, wide = 0;
  if (right) {
    const int64_t *a = in[0]->dims + w.lead, *b = in[1]->dims + w.lead;
    steps = b[0], n = b[1];
    right = (a[0] == 1 || a[0] == steps) && (a[1] == 1 || a[1] == n) && in[2]->dims[w.lead] == n &&
            out[0]->dims[w.lead] == steps && out[0]->dims[w.lead + 1] == n && out[1]->dims[w.lead] == n;
    wide = a[1] > 1, long_a = a[0] > 1 ? a[1] : 0;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_recurrence got arrays of wrong shapes or types");
  xb_recurrence_row *row = xb_recurrence_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) row = xb_recurrence_avx2;
#endif
  for (int64_t k = 0; k < w.lead; k++)
    if (w.dims[k] == 0) return NULL;
  do {
    const float *a = xb_along_data(&w, 0), *b = xb_along_data(&w, 1);
    float *before = xb_along_data(&w, 3), *state = xb_along_data(&w, 4);
    memcpy(state, xb_along_data(&w, 2), (size_t)n * sizeof(float));
    for (int64_t u = 0; u < n; u += UNITS) {
      int64_t units = n - u < UNITS ? n - u : UNITS;
      for (int64_t k = 0; k < steps; k++) {
        int64_t t = config[0] ? steps - 1 - k : k;
        row(units, a + t * long_a + (wide ? u : 0), wide, b + t * n + u, state + u, before + t * n + u);
      }
    }
  } while (xb_along_next(&w));
  return NULL;
}

xf_error *xb_integrate_fire(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 4 || (frame->results.size != 2 && frame->results.size != 3))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_integrate_fire takes four arrays and gives two or three");
  xf_buffer **in = (xf_buffer **)frame->args.values, **out = (xf_buffer **)frame->results.values;
  bool potentials = frame->results.size == 3;
  xb_along w = {.arrays = 6 + potentials,
                .all = {in[0], in[1], in[2], in[3], out[0], out[1], potentials ? out[2] : NULL}};
  bool right = xb_along_start(&w, 5, (const int64_t[]){1, 2, 1, 1, 1, 2, 2});
  int64_t steps = 0, n = 0;
  if (right) {
    steps = out[1]->dims[w.lead], n = out[1]->dims[w.lead + 1];
    for (int i = 0; i < w.arrays; i++) {
      const int64_t *own = w.all[i]->dims + w.lead;
      right = right && (w.all[i]->rank == w.lead + 2 ? own[0] == steps && own[1] == n : own[0] == n);
    }
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_integrate_fire got arrays of wrong shapes or types");
  xb_fire_row *row = xb_fire_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) row = xb_fire_avx2;
#endif
  for (int64_t k = 0; k < w.lead; k++)
    if (w.dims[k] == 0) return NULL;
  do {
    const float *x = xb_along_data(&w, 1), *beta = xb_along_data(&w, 2), *threshold = xb_along_data(&w, 3);
    float *v = xb_along_data(&w, 4), *spikes = xb_along_data(&w, 5), *before = potentials ? xb_along_data(&w, 6) : NULL;
    memcpy(v, xb_along_data(&w, 0), (size_t)n * sizeof(float));
    for (int64_t u = 0; u < n; u += UNITS) {
      int64_t units = n - u < UNITS ? n - u : UNITS;
      for (int64_t t = 0; t < steps; t++)
        row(units, x + t * n + u, beta + u, threshold + u, v + u, spikes + t * n + u,
            before ? before + t * n + u : NULL);
    }
  } while (xb_along_next(&w));
  return NULL;
}
