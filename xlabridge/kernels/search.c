// The kernel xlarun_search_sorted: where elements belong in ascending lists.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ffi.h"
#include "vectors.h"

// If there are at least as many elements as members of the list, each value of the list stands once, with the place of
// its first member. The values except the largest are divided into buckets of equal width, once for all elements. The
// largest is left out since it may be padding, far from the others. An element is then compared with as many values as
// the fullest bucket has, if these are few. Otherwise a binary search runs inside its bucket. Rounding cannot make the
// result wrong: the number of the bucket never falls when the value rises, so values and elements move alike.

enum { BUCKETS_OF_MEMBER = 2, MOST_COMPARED = 8 };

typedef struct {
  double low, scale, last;  // the number of a value's bucket is (value - low) * scale, from 0 to last
} buckets;

static inline int32_t bucket_of(const buckets *b, double value) {
  double t = (value - b->low) * b->scale;
  t = t > 0 ? t : 0;
  return (int32_t)(t < b->last ? t : b->last);
}

// SEARCH counts for each of m elements the members before it, of n that are not NaN. list has room for MOST_COMPARED
// more members, begins for the number of buckets plus 1, and then for the places of n members and the end. nan_count is
// the answer for NaN.
#define SEARCH(NAME, T, BEFORE, NOTHING, TARGET) \
  TARGET static inline int64_t find_##NAME(const T *list, int64_t n, T x) { \
    const T *from = list; \
    if (n == 0) return 0; \
    while (n > 1) { \
      int64_t half = n / 2; \
      from += from[half - 1] BEFORE x ? half : 0; \
      n -= half; \
    } \
    return from - list + (*from BEFORE x); \
  } \
  TARGET static inline __attribute__((always_inline)) void compare_##NAME( \
      const T *restrict list, int32_t values, const int32_t *restrict places, int32_t n, T largest, \
      const T *restrict x, int64_t m, int32_t *restrict out, int32_t nan_count, buckets b, \
      const int32_t *restrict begins, int few) { \
    for (int64_t i = 0; i < m; i++) { \
      T v = x[i]; \
      int32_t from = begins[bucket_of(&b, (double)v)], at = from; \
      for (int k = 0; k < few; k++) at += list[from + k] BEFORE v; \
      at = places[at < values ? at : values]; \
      at = largest BEFORE v ? n : at; \
      out[i] = v != v ? nan_count : at; \
    } \
  } \
  TARGET static void NAME(void *members, int64_t n, const void *elements, int64_t m, int32_t *out, int32_t nan_count, \
                          int32_t *begins) { \
    T *list = members; \
    const T *x = elements; \
    if (begins == NULL || n == 0) { \
      for (int64_t i = 0; i < m; i++) out[i] = x[i] != x[i] ? nan_count : (int32_t)find_##NAME(list, n, x[i]); \
      return; \
    } \
    int32_t *places = begins + BUCKETS_OF_MEMBER * n + 1, values = -1; /* those before the largest */ \
    T largest = list[n - 1], before = 0; \
    for (int32_t j = 0; j < n; j++) { \
      T v = list[j]; \
      values += j == 0 || v != before; \
      places[values] = j == 0 || v != before ? j : places[values]; \
      list[values] = before = v; \
    } \
    double width = values > 1 ? (double)list[values - 1] - (double)list[0] : 0; \
    int64_t count = BUCKETS_OF_MEMBER * (int64_t)values; \
    buckets b = {(double)list[0], (double)count / width, (double)(count - 1)}; \
    if (!(width > 0) || isinf(width) || isinf(b.scale)) { \
      for (int64_t i = 0; i < m; i++) { \
        int32_t at = largest BEFORE x[i] ? (int32_t)n : places[find_##NAME(list, values, x[i])]; \
        out[i] = x[i] != x[i] ? nan_count : at; \
      } \
      return; \
    } \
    for (int64_t k = 0; k <= count; k++) begins[k] = 0; \
    for (int64_t j = 0; j < values; j++) begins[bucket_of(&b, (double)list[j]) + 1]++; \
    int32_t most = 0; \
    for (int64_t k = 1; k <= count; k++) { \
      most = begins[k] > most ? begins[k] : most; \
      begins[k] += begins[k - 1]; \
    } \
    for (int k = 0; k < MOST_COMPARED; k++) list[values + k] = NOTHING; \
    const int few = most <= 1 ? 1 : most; \
    if (few == 1) \
      compare_##NAME(list, values, places, (int32_t)n, largest, x, m, out, nan_count, b, begins, 1); \
    else if (few == 2) \
      compare_##NAME(list, values, places, (int32_t)n, largest, x, m, out, nan_count, b, begins, 2); \
    else if (few <= MOST_COMPARED) \
      compare_##NAME(list, values, places, (int32_t)n, largest, x, m, out, nan_count, b, begins, few); \
    else \
      for (int64_t i = 0; i < m; i++) { \
        int32_t k = bucket_of(&b, (double)x[i]), from = begins[k]; \
        int32_t at = places[from + (int32_t)find_##NAME(list + from, begins[k + 1] - from, x[i])]; \
        at = largest BEFORE x[i] ? (int32_t)n : at; \
        out[i] = x[i] != x[i] ? nan_count : at; \
      } \
  }

typedef void (*search)(void *members, int64_t n, const void *elements, int64_t m, int32_t *out, int32_t nan_count,
                       int32_t *begins);

#define KINDS(SET, TARGET) \
  SEARCH(below_f32##SET, float, <, INFINITY, TARGET) \
  SEARCH(up_to_f32##SET, float, <=, INFINITY, TARGET) \
  SEARCH(below_f64##SET, double, <, INFINITY, TARGET) \
  SEARCH(up_to_f64##SET, double, <=, INFINITY, TARGET) \
  SEARCH(below_s32##SET, int32_t, <, INT32_MAX, TARGET) \
  SEARCH(up_to_s32##SET, int32_t, <=, INT32_MAX, TARGET) \
  static const search all##SET[][2] = {[XF_F32] = {below_f32##SET, up_to_f32##SET}, \
                                       [XF_F64] = {below_f64##SET, up_to_f64##SET}, \
                                       [XF_S32] = {below_s32##SET, up_to_s32##SET}};

KINDS(, )

#ifdef __x86_64__
KINDS(_avx2, __attribute__((target("avx2"))))
#endif

static search choose(int dtype, bool after) {
#ifdef __x86_64__
  if (xb_widest_vectors() >= XB_AVX2) return all_avx2[dtype][after];
#endif
  return all[dtype][after];
}

// before_nan counts the members of a list before its NaNs.
static int64_t before_nan(const void *list, int64_t n, int dtype) {
  if (dtype == XF_F32)
    while (n > 0 && ((const float *)list)[n - 1] != ((const float *)list)[n - 1]) n--;
  if (dtype == XF_F64)
    while (n > 0 && ((const double *)list)[n - 1] != ((const double *)list)[n - 1]) n--;
  return n;
}

xf_error *xb_search_sorted(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config =
      xb_numbers(frame, &size);  // whether after equal members, and the number of axes that both share
  if (config == NULL || size != 2 || frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_search_sorted takes two arrays and two numbers and gives one array");
  const xf_buffer *lists = frame->args.values[0], *x = frame->args.values[1], *out = frame->results.values[0];
  int dtype = lists->dtype;
  bool right = (dtype == XF_F32 || dtype == XF_F64 || dtype == XF_S32) && x->dtype == dtype && out->dtype == XF_S32 &&
               lists->rank == config[1] + 1 && x->rank >= config[1] && out->rank == x->rank;
  int64_t rows = 1, m = 1;
  for (int64_t i = 0; right && i < x->rank; i++) {
    right = out->dims[i] == x->dims[i] && (i >= config[1] || x->dims[i] == lists->dims[i]);
    *(i < config[1] ? &rows : &m) *= x->dims[i];
  }
  int64_t n = right ? lists->dims[config[1]] : 0;
  if (!right || n > INT32_MAX / 4)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_search_sorted got arrays of wrong shapes or types");
  int64_t bytes = dtype == XF_F64 ? 8 : 4;
  char *list = malloc((size_t)((n + MOST_COMPARED) * bytes));
  int32_t *begins = m >= n ? malloc((size_t)((BUCKETS_OF_MEMBER + 1) * n + 2) * sizeof *begins) : NULL;
  if (list == NULL || (m >= n && begins == NULL)) {
    free(list), free(begins);
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_search_sorted got no memory for its buckets");
  }
  search search_row = choose(dtype, config[0] != 0);
  for (int64_t row = 0; row < rows; row++) {
    const char *members = (const char *)lists->data + row * n * bytes;
    int64_t k = before_nan(members, n, dtype);
    for (int64_t i = 0; i < k * bytes; i++) list[i] = members[i];
    search_row(list, k, (const char *)x->data + row * m * bytes, m, (int32_t *)out->data + row * m,
               (int32_t)(config[0] ? n : k), begins);
  }
  free(list), free(begins);
  return NULL;
}
