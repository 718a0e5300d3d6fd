// Running sums, products, maxima and minima.
#include "ffi.h"

#include <math.h>
#include <stdbool.h>

enum { LANES = 64 };  // neighbors that run side by side

// A running sum or product of float32 is kept in double: one after the other, rounding errors would add up. What has
// become infinite, or a product that has become 0, stays so, as in float32.
static inline double settle_sum(double acc, float s) { return __builtin_expect(isinf(s), 0) ? s : acc; }
static inline double settle_prod(double acc, float s) { return __builtin_expect(isinf(s) || s == 0, 0) ? s : acc; }

#define same(acc, s) (acc)

#define SUM(a, x) ((a) + (x))
#define PROD(a, x) ((a) * (x))
#define MAX(a, x) ((x) > (a) || (x) != (x) ? (x) : (a))  // a NaN stays
#define MIN(a, x) ((x) < (a) || (x) != (x) ? (x) : (a))

// A run of an array [outer, n, inner] along its middle axis; step is inner, or -inner where it is reversed.
#define RUN(NAME, T, ACC, OP, SETTLE) \
  static void NAME(const void *xs, void *ys, int64_t n, int64_t inner, int64_t step) { \
    const T *x = xs; \
    T *y = ys; \
    if (inner == 1) { \
      ACC acc = y[0] = x[0]; \
      for (int64_t k = 1; k < n; k++) { \
        x += step, y += step; \
        acc = OP(acc, (ACC) * x); \
        *y = (T)acc; \
        acc = SETTLE(acc, *y); \
      } \
      return; \
    } \
    for (int64_t i = 0; i < inner; i += LANES) { \
      int64_t lanes = inner - i < LANES ? inner - i : LANES; \
      ACC acc[LANES]; \
      const T *from = x + i; \
      T *to = y + i; \
      for (int64_t j = 0; j < lanes; j++) acc[j] = to[j] = from[j]; \
      for (int64_t k = 1; k < n; k++) { \
        from += step, to += step; \
        for (int64_t j = 0; j < lanes; j++) { \
          acc[j] = OP(acc[j], (ACC)from[j]); \
          to[j] = (T)acc[j]; \
          acc[j] = SETTLE(acc[j], to[j]); \
        } \
      } \
    } \
  }

RUN(sum_f32, float, double, SUM, settle_sum)
RUN(prod_f32, float, double, PROD, settle_prod)
RUN(max_f32, float, float, MAX, same)
RUN(min_f32, float, float, MIN, same)
RUN(sum_f64, double, double, SUM, same)
RUN(prod_f64, double, double, PROD, same)
RUN(max_f64, double, double, MAX, same)
RUN(min_f64, double, double, MIN, same)
// Sums and products of whole numbers wrap around, which in C only those without sign may.
RUN(sum_u32, uint32_t, uint32_t, SUM, same)
RUN(prod_u32, uint32_t, uint32_t, PROD, same)
RUN(max_s32, int32_t, int32_t, MAX, same)
RUN(min_s32, int32_t, int32_t, MIN, same)

typedef void (*run)(const void *x, void *y, int64_t n, int64_t inner, int64_t step);

static const run f32[] = {sum_f32, prod_f32, max_f32, min_f32};
static const run f64[] = {sum_f64, prod_f64, max_f64, min_f64};
static const run s32[] = {sum_u32, prod_u32, max_s32, min_s32};

xf_error *xb_cumulative(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);  // kind, axis, reverse
  if (frame->args.size != 1 || frame->results.size != 1 || size != 3)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_cumulative takes one array and three numbers and gives one array");
  const xf_buffer *x = frame->args.values[0], *y = frame->results.values[0];
  const run *runs = x->dtype == XF_F32 ? f32 : x->dtype == XF_F64 ? f64 : x->dtype == XF_S32 ? s32 : NULL;
  int64_t width = x->dtype == XF_F64 ? 8 : 4, axis = config[1];
  bool right = runs != NULL && y->dtype == x->dtype && y->rank == x->rank && axis >= 0 && axis < x->rank &&
               config[0] >= 0 && config[0] < 4;
  for (int64_t i = 0; right && i < x->rank; i++) right = x->dims[i] == y->dims[i];
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_cumulative got arrays of wrong shapes or types");
  int64_t outer = 1, n = x->dims[axis], inner = 1;
  for (int64_t i = 0; i < axis; i++) outer *= x->dims[i];
  for (int64_t i = axis + 1; i < x->rank; i++) inner *= x->dims[i];
  if (n == 0 || inner == 0) return NULL;
  int64_t first = config[2] ? (n - 1) * inner : 0, step = config[2] ? -inner : inner;
  for (int64_t o = 0; o < outer; o++) {
    int64_t at = (o * n * inner + first) * width;
    runs[config[0]]((const char *)x->data + at, (char *)y->data + at, n, inner, step);
  }
  return NULL;
}
