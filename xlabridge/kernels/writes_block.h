// The combiners of each kind and element type, for NAME's kind of processor.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ffi.h"
#include "writes.h"

#define RUN(NAME, T, VALUE) \
  static void NAME(void *restrict to, const void *restrict from, int64_t n, int64_t ts, int64_t fs) { \
    T *restrict x = to; \
    const T *restrict y = from; \
    if (ts == 1 && fs == 1) { \
      for (int64_t i = 0; i < n; i++) { \
        T a = x[i], b = y[i]; \
        (void)a; \
        x[i] = VALUE; \
      } \
    } else { \
      for (int64_t i = 0; i < n; i++, x += ts, y += fs) { \
        T a = *x, b = *y; \
        (void)a; \
        *x = VALUE; \
      } \
    } \
  } \
  static void spray_##NAME(void *restrict to, const void *restrict from, int64_t n, const int64_t *restrict at, \
                           int64_t fs) { \
    T *x = to; \
    const T *y = from; \
    for (int64_t i = 0; i < n; i++, y += fs) { \
      if (at[i] < 0) continue; \
      T a = x[at[i]], b = *y; \
      (void)a; \
      x[at[i]] = VALUE; \
    } \
  } \
  static void rows_##NAME(void *restrict to, const void *restrict from, int64_t n, const int64_t *restrict at, \
                          int64_t width, int64_t fs) { \
    const T *y = from; \
    for (int64_t k = 0; k < n; k++, y += fs) { \
      if (at[k] < 0) continue; \
      T *restrict x = (T *)to + at[k]; \
      for (int64_t i = 0; i < width; i++) { \
        T a = x[i], b = y[i]; \
        (void)a; \
        x[i] = VALUE; \
      } \
    } \
  } \
  static void direct_##NAME(void *restrict to, const void *restrict from, int64_t n, const int32_t *restrict index, \
                            uint32_t last, int64_t scale, int64_t step, int64_t fs) { \
    T *restrict x = to; \
    const T *restrict y = from; \
    if (scale == 1 && step == 0 && fs == 1) { /* half of the time of the loop below */ \
      _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) { \
        uint32_t k = (uint32_t)index[i]; \
        if (k > last) continue; \
        T a = x[k], b = y[i]; \
        (void)a; \
        x[k] = VALUE; \
      } \
      return; \
    } \
    for (int64_t i = 0; i < n; i++, y += fs, x += step) { \
      if ((uint32_t)index[i] > last) continue; \
      T *place = x + index[i] * scale; \
      T a = *place, b = *y; \
      (void)a; \
      *place = VALUE; \
    } \
  }

#define ARITHMETIC(T, U) \
  RUN(sum_##T, T, (T)((U)a + (U)b)) \
  RUN(prod_##T, T, (T)((U)a * (U)b))

#define ORDER(T) \
  RUN(max_##T, T, a > b ? a : b) \
  RUN(min_##T, T, a < b ? a : b)

// NaN wins, and 0 is more than -0, as in StableHLO. The processor's instruction for a minimum returns its second
// operand if the two are equal or one is NaN. So the bits of both orders are joined: of 0 and -0 they make -0, of NaN
// and a number they make NaN.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// The builtins instead of immintrin.h, which takes a quarter of a second to compile.
typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));
static inline float least_float(float a, float b) {
  floats p = {a}, q = {b};
  return ((floats)((words)__builtin_ia32_minss(p, q) | (words)__builtin_ia32_minss(q, p)))[0];
}
static inline double least_double(double a, double b) {
  doubles p = {a}, q = {b};
  return ((doubles)((words)__builtin_ia32_minsd(p, q) | (words)__builtin_ia32_minsd(q, p)))[0];
}
#else
#define LEAST(T, BITS) \
  static inline T least_##T(T a, T b) { \
    T r = a < b ? a : b, s = b < a ? b : a; \
    BITS p, q; \
    memcpy(&p, &r, sizeof p); \
    memcpy(&q, &s, sizeof q); \
    p |= q; \
    memcpy(&r, &p, sizeof r); \
    return r; \
  }
LEAST(float, uint32_t)
LEAST(double, uint64_t)
#endif

#define FLOAT_ORDER(T) \
  static inline T most_##T(T a, T b) { return -least_##T(-a, -b); } \
  RUN(max_##T, T, most_##T(a, b)) \
  RUN(min_##T, T, least_##T(a, b))

// Whole numbers wrap around, which C allows unsigned ones only; the narrow ones are widened first. Sums and products of
// numbers with a sign have the bits of those without.
ARITHMETIC(float, float)
ARITHMETIC(double, double)
ARITHMETIC(uint8_t, uint32_t)
ARITHMETIC(uint16_t, uint32_t)
ARITHMETIC(uint32_t, uint32_t)
ARITHMETIC(uint64_t, uint64_t)
FLOAT_ORDER(float)
FLOAT_ORDER(double)
ORDER(int8_t)
ORDER(int16_t)
ORDER(int32_t)
ORDER(int64_t)
ORDER(uint8_t)
ORDER(uint16_t)
ORDER(uint32_t)
ORDER(uint64_t)
RUN(set_uint8_t, uint8_t, b)
RUN(set_uint16_t, uint16_t, b)
RUN(set_uint32_t, uint32_t, b)
RUN(set_uint64_t, uint64_t, b)

xb_combiner NAME(int64_t kind, int dtype, int64_t width) {
#define BOTH(NAME) {NAME, spray_##NAME, rows_##NAME, direct_##NAME}
#define KINDS(T, U) {BOTH(sum_##U), BOTH(prod_##U), BOTH(max_##T), BOTH(min_##T)}
  static const xb_combiner set[] = {
      [1] = BOTH(set_uint8_t), [2] = BOTH(set_uint16_t), [4] = BOTH(set_uint32_t), [8] = BOTH(set_uint64_t)};
  static const xb_combiner others[][4] = {
      [XF_S8] = KINDS(int8_t, uint8_t),     [XF_S16] = KINDS(int16_t, uint16_t),
      [XF_S32] = KINDS(int32_t, uint32_t),  [XF_S64] = KINDS(int64_t, uint64_t),
      [XF_U8] = KINDS(uint8_t, uint8_t),    [XF_U16] = KINDS(uint16_t, uint16_t),
      [XF_U32] = KINDS(uint32_t, uint32_t), [XF_U64] = KINDS(uint64_t, uint64_t),
      [XF_F32] = KINDS(float, float),       [XF_F64] = KINDS(double, double),
  };
  if (kind == SET) return set[width];
  if (kind < SET || kind > MIN || dtype < 0 || dtype >= (int)(sizeof others / sizeof others[0]))
    return (xb_combiner){NULL, NULL, NULL, NULL};
  return others[dtype][kind - SUM];
}
