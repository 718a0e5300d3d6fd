// Kernels that write into parts of arrays.
#include "ffi.h"

#include <stdbool.h>
#include <string.h>

enum { AXES = 16 };

// OUTSIDE is a place that stays negative whatever is added to it.
#define OUTSIDE (INT64_MIN / 2)

// width is the size of an element; 0: of an unknown type.
static int64_t width(int dtype) {
  switch (dtype) {
    case XF_PRED: case XF_S8: case XF_U8: return 1;
    case XF_S16: case XF_U16: case XF_F16: case XF_BF16: return 2;
    case XF_S32: case XF_U32: case XF_F32: return 4;
    case XF_S64: case XF_U64: case XF_F64: case XF_C64: return 8;
  }
  return 0;
}

// size is the number of elements; strides[i] is how many lie between neighbours along axis i.
static int64_t layout(const xf_buffer *b, int64_t *strides) {
  int64_t n = 1;
  for (int64_t i = b->rank - 1; i >= 0; i--) {
    strides[i] = n;
    n *= b->dims[i];
  }
  return n;
}

// place reads element i of an array of whole numbers.
static inline int64_t place(const xf_buffer *b, int64_t i) {
  switch (b->dtype) {
    case XF_S8: return ((const int8_t *)b->data)[i];
    case XF_S16: return ((const int16_t *)b->data)[i];
    case XF_S32: return ((const int32_t *)b->data)[i];
    case XF_S64: return ((const int64_t *)b->data)[i];
    case XF_U8: return ((const uint8_t *)b->data)[i];
    case XF_U16: return ((const uint16_t *)b->data)[i];
    case XF_U32: return ((const uint32_t *)b->data)[i];
  }
  uint64_t v = ((const uint64_t *)b->data)[i];
  return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

// add_places adds to each of n places the index, every step-th from first on, times scale; where the index is outside of 0
// to last the place gets and stays negative.
static void add_places(const xf_buffer *b, int64_t first, int64_t step, int64_t n, int64_t last, int64_t scale, int64_t *at) {
  if (b->dtype == XF_S32) {
    const int32_t *v = (const int32_t *)b->data + first;
    for (int64_t i = 0; i < n; i++) {
      int64_t p = v[i * step];
      at[i] = p < 0 || p > last ? OUTSIDE : at[i] + p * scale;
    }
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t p = place(b, first + i * step);
    at[i] = p < 0 || p > last ? OUTSIDE : at[i] + p * scale;
  }
}

static bool whole(const xf_buffer *b) { return b->dtype >= XF_S8 && b->dtype <= XF_U64; }

// loop is one of nested loops that walk through two arrays at once.
typedef struct {
  int64_t n, to, from;  // turns, and the elements that each turn goes on by in the arrays
} loop;

// merge drops loops of one turn, makes one of two that walk on without a gap, and returns how many are left.
static int merge(loop *l, int n) {
  int k = 0;
  for (int i = 0; i < n; i++) {
    if (l[i].n == 1) continue;
    if (k > 0 && l[k - 1].to == l[i].n * l[i].to && l[k - 1].from == l[i].n * l[i].from)
      l[k - 1] = (loop){l[k - 1].n * l[i].n, l[i].to, l[i].from};
    else
      l[k++] = l[i];
  }
  return k;
}

// A run combines n elements of from with those of to; strides are in elements. A spray combines windows of one element:
// element i of from, at stride fs, with the one at to + at[i]; a negative place is none. A direct spray reads the places itself: the one of element i is i * step
// and scale times the index, which says none if it is above last, or negative.
typedef void run(void *restrict to, const void *restrict from, int64_t n, int64_t to_stride, int64_t from_stride);
typedef void spray(void *restrict to, const void *restrict from, int64_t n, const int64_t *restrict at, int64_t from_stride);
typedef void direct(void *restrict to, const void *restrict from, int64_t n, const int32_t *restrict index, uint32_t last, int64_t scale, int64_t step, int64_t from_stride);

#define RUN(NAME, T, VALUE)                                                                                                   \
  static void NAME(void *restrict to, const void *restrict from, int64_t n, int64_t ts, int64_t fs) {                         \
    T *restrict x = to;                                                                                                       \
    const T *restrict y = from;                                                                                               \
    if (ts == 1 && fs == 1) {                                                                                                 \
      for (int64_t i = 0; i < n; i++) { T a = x[i], b = y[i]; (void)a; x[i] = VALUE; }                                         \
    } else {                                                                                                                  \
      for (int64_t i = 0; i < n; i++, x += ts, y += fs) { T a = *x, b = *y; (void)a; *x = VALUE; }                             \
    }                                                                                                                         \
  }                                                                                                                           \
  static void spray_##NAME(void *restrict to, const void *restrict from, int64_t n, const int64_t *restrict at, int64_t fs) { \
    T *x = to;                                                                                                                \
    const T *y = from;                                                                                                        \
    for (int64_t i = 0; i < n; i++, y += fs) {                                                                                \
      if (at[i] < 0) continue;                                                                                                \
      T a = x[at[i]], b = *y;                                                                                                 \
      (void)a;                                                                                                                \
      x[at[i]] = VALUE;                                                                                                       \
    }                                                                                                                         \
  }                                                                                                                           \
  static void direct_##NAME(void *restrict to, const void *restrict from, int64_t n, const int32_t *restrict index,           \
                            uint32_t last, int64_t scale, int64_t step, int64_t fs) {                                         \
    T *x = to;                                                                                                                \
    const T *y = from;                                                                                                        \
    for (int64_t i = 0; i < n; i++, y += fs, x += step) {                                                                     \
      if ((uint32_t)index[i] > last) continue;                                                                                \
      T *place = x + index[i] * scale;                                                                                        \
      T a = *place, b = *y;                                                                                                   \
      (void)a;                                                                                                                \
      *place = VALUE;                                                                                                         \
    }                                                                                                                         \
  }

#define ARITHMETIC(T, U)              \
  RUN(sum_##T, T, (T)((U)a + (U)b))   \
  RUN(prod_##T, T, (T)((U)a * (U)b))

#define ORDER(T)                    \
  RUN(max_##T, T, a > b ? a : b)    \
  RUN(min_##T, T, a < b ? a : b)

// NaN wins, and 0 is more than -0, as in StableHLO. The comparisons are in an order in which a processor foretells all but the first, which takes no branch.
#define FLOAT_ORDER(T)                                                                    \
  static inline T most_##T(T a, T b) {                                                    \
    T r = a > b ? a : b;                                                                  \
    return a != a ? a : a == b ? (a == 0 ? a + b : a) : r;                                \
  }                                                                                       \
  static inline T least_##T(T a, T b) {                                                   \
    T r = a < b ? a : b;                                                                  \
    return a != a ? a : a == b ? (a == 0 ? -(-a + -b) : a) : r;                           \
  }                                                                                       \
  RUN(max_##T, T, most_##T(a, b))                                                         \
  RUN(min_##T, T, least_##T(a, b))

// Whole numbers wrap around, which C allows unsigned ones only; the narrow ones are widened first.
ARITHMETIC(float, float)
ARITHMETIC(double, double)
ARITHMETIC(int8_t, uint32_t)
ARITHMETIC(int16_t, uint32_t)
ARITHMETIC(int32_t, uint32_t)
ARITHMETIC(int64_t, uint64_t)
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

enum { SET, SUM, PROD, MAX, MIN };

typedef struct {
  run *run;
  spray *spray;
  direct *direct;
} combiner;

// combine finds the combiner of a kind and an element type; nulls: there is none.
static combiner combine(int64_t kind, int dtype) {
#define BOTH(NAME) {NAME, spray_##NAME, direct_##NAME}
#define KINDS(T) \
  { BOTH(sum_##T), BOTH(prod_##T), BOTH(max_##T), BOTH(min_##T) }
  static const combiner set[] = {[1] = BOTH(set_uint8_t), [2] = BOTH(set_uint16_t), [4] = BOTH(set_uint32_t), [8] = BOTH(set_uint64_t)};
  static const combiner others[][4] = {
      [XF_S8] = KINDS(int8_t),   [XF_S16] = KINDS(int16_t),  [XF_S32] = KINDS(int32_t),  [XF_S64] = KINDS(int64_t),
      [XF_U8] = KINDS(uint8_t),  [XF_U16] = KINDS(uint16_t), [XF_U32] = KINDS(uint32_t), [XF_U64] = KINDS(uint64_t),
      [XF_F32] = KINDS(float),   [XF_F64] = KINDS(double),
  };
  if (kind == SET) return set[width(dtype)];
  if (kind < SET || kind > MIN || dtype < 0 || dtype >= (int)(sizeof others / sizeof others[0])) return (combiner){NULL, NULL, NULL};
  return others[dtype][kind - SUM];
}

// walk runs through nested loops, the innermost by f.
static void walk(run *f, char *to, const char *from, int64_t bytes, const loop *l, int n) {
  if (n == 0) {
    f(to, from, 1, 1, 1);
  } else if (n == 1) {
    f(to, from, l->n, l->to, l->from);
  } else {
    for (int64_t i = 0; i < l->n; i++) walk(f, to + i * l->to * bytes, from + i * l->from * bytes, bytes, l + 1, n - 1);
  }
}

// start checks what both kernels take first and begins the result.
static const char *start(const xf_buffer *array, const xf_buffer *out, int64_t *strides, int64_t *size) {
  *size = layout(array, strides);
  if (out->dtype != array->dtype || out->rank != array->rank || width(array->dtype) == 0) return "the result is not of the array's shape";
  for (int64_t i = 0; i < array->rank; i++)
    if (out->dims[i] != array->dims[i]) return "the result is not of the array's shape";
  if (out->data != array->data) memcpy(out->data, array->data, *size * width(array->dtype));
  return NULL;
}

xf_error *xb_write(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t partial;
  const int64_t *axes = xb_numbers(frame, &partial);
  if (axes == NULL || frame->results.size != 1 || frame->args.size != 2 + partial)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write takes an array, a block and a place along each axis that config lists, and gives an array");
  const xf_buffer *array = frame->args.values[0], *block = frame->args.values[1], *out = frame->results.values[0];
  if (array->rank > AXES || block->rank != array->rank || block->dtype != array->dtype)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write got a block that is not of the array's kind");
  int64_t to[AXES], from[AXES], size;
  int64_t part = layout(block, from), bytes = width(array->dtype);
  for (int64_t i = 0; i < array->rank; i++)
    if (block->dims[i] > array->dims[i]) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write got a block larger than the array");
  const char *wrong = start(array, out, to, &size);
  if (wrong != NULL) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  if (part == 0) return NULL;
  int64_t at = 0;
  for (int64_t k = 0; k < partial; k++) {
    const xf_buffer *b = frame->args.values[2 + k];
    if (axes[k] < 0 || axes[k] >= array->rank || b->rank != 0 || !whole(b)) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write got a wrong place");
    int64_t first = place(b, 0), last = array->dims[axes[k]] - block->dims[axes[k]];
    if (first > last) first = last;
    if (first < 0) first = 0;
    at += first * to[axes[k]];
  }
  loop l[AXES];
  for (int64_t i = 0; i < array->rank; i++) l[i] = (loop){block->dims[i], to[i], from[i]};
  int n = merge(l, (int)array->rank);
  char *into = (char *)out->data + at * bytes;
  if (n == 0 || (n == 1 && l[0].to == 1 && l[0].from == 1)) {
    memcpy(into, block->data, part * bytes);
    return NULL;
  }
  walk(combine(SET, array->dtype).run, into, block->data, bytes, l, n);
  return NULL;
}

xf_error *xb_scatter(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t given;
  const int64_t *config = xb_numbers(frame, &given);
  if (config == NULL || given < 6 || frame->args.size != 3 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter takes an array, indices and updates, and gives an array");
  const xf_buffer *array = frame->args.values[0], *indices = frame->args.values[1], *updates = frame->args.values[2], *out = frame->results.values[0];
  combiner f = combine(config[0], array->dtype);
  if (f.run == NULL || array->rank > AXES || indices->rank > AXES || updates->rank > AXES || indices->rank < 1 || !whole(indices) || updates->dtype != array->dtype)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got arrays that it does not take");
  // The five lists.
  const int64_t *list[5];
  int64_t length[5], at = 1;
  for (int i = 0; i < 5; i++) {
    if (at >= given || config[at] < 0 || config[at] > AXES || at + 1 + config[at] > given) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got a broken config");
    length[i] = config[at];
    list[i] = config + at + 1;
    at += 1 + length[i];
  }
  enum { WINDOW, DROPPED, SHARED, SHARED_INDEX, COORDINATE };
  int64_t to[AXES], from[AXES], index[AXES], size;
  int64_t bytes = width(array->dtype), all = layout(updates, from);
  layout(indices, index);
  const char *wrong = start(array, out, to, &size);
  if (wrong != NULL) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  if (all == 0 || size == 0) return NULL;
  // The window: what is neither dropped nor shared, in order.
  bool taken[AXES] = {0}, window_axis[AXES] = {0};
  int64_t extent[AXES];
  loop window[AXES];
  int windows = 0;
  for (int i = DROPPED; i <= SHARED; i++)
    for (int64_t k = 0; k < length[i]; k++) taken[list[i][k]] = true;
  for (int64_t i = 0; i < array->rank; i++) {
    extent[i] = 1;
    if (taken[i]) continue;
    if (windows == length[WINDOW]) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got too few window axes");
    int64_t axis = list[WINDOW][windows];
    extent[i] = updates->dims[axis];
    window_axis[axis] = true;
    window[windows++] = (loop){extent[i], to[i], from[axis]};
  }
  windows = merge(window, windows);
  // Around it, a loop for each axis of the indices but the last.
  int64_t step_index[AXES], count[AXES], step_to[AXES] = {0}, step_from[AXES], turn[AXES] = {0};
  int outer = 0;
  for (int64_t i = 0; i < updates->rank; i++) {
    if (window_axis[i]) continue;
    if (outer == indices->rank - 1) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got updates that the indices do not fit");
    count[outer] = updates->dims[i];
    step_index[outer] = index[outer];
    step_from[outer] = from[i];
    outer++;
  }
  for (int64_t k = 0; k < length[SHARED]; k++) step_to[list[SHARED_INDEX][k]] += to[list[SHARED][k]];
  int64_t coordinates = length[COORDINATE], last[AXES], scale[AXES];
  for (int64_t k = 0; k < coordinates; k++) {
    int64_t axis = list[COORDINATE][k];
    last[k] = array->dims[axis] - extent[axis];
    scale[k] = to[axis];
  }
  // The innermost of those loops goes some indices at a time: where they write, then the writing.
  if (outer == 0) {
    count[0] = 1;
    step_index[0] = step_to[0] = step_from[0] = 0;
    outer = 1;
  }
  const loop inner = {count[outer - 1], step_to[outer - 1], step_from[outer - 1]};
  const int64_t inner_index = step_index[outer - 1];
  outer--;
  int64_t base = 0, source = 0, first = 0;
  bool directly = windows == 0 && coordinates == 1 && inner_index == 1 && indices->dtype == XF_S32;
  for (;;) {
    enum { SOME = 256 };
    int64_t at[SOME];
    if (directly)
      f.direct((char *)out->data + base * bytes, (const char *)updates->data + source * bytes, inner.n, (const int32_t *)indices->data + first, (uint32_t)last[0], scale[0],
               inner.to, inner.from);
    for (int64_t i = directly ? inner.n : 0; i < inner.n; i += SOME) {
      int64_t n = inner.n - i < SOME ? inner.n - i : SOME;
      const char *from_here = (const char *)updates->data + (source + i * inner.from) * bytes;
      for (int64_t j = 0; j < n; j++) at[j] = base + (i + j) * inner.to;
      for (int64_t k = 0; k < coordinates; k++) add_places(indices, first + i * inner_index + k, inner_index, n, last[k], scale[k], at);
      if (windows == 0) {
        f.spray(out->data, from_here, n, at, inner.from);
        continue;
      }
      for (int64_t j = 0; j < n; j++)
        if (at[j] >= 0) walk(f.run, (char *)out->data + at[j] * bytes, from_here + j * inner.from * bytes, bytes, window, windows);
    }
    int i = outer - 1;
    for (; i >= 0; i--) {
      base += step_to[i];
      source += step_from[i];
      first += step_index[i];
      if (++turn[i] < count[i]) break;
      base -= count[i] * step_to[i];
      source -= count[i] * step_from[i];
      first -= count[i] * step_index[i];
      turn[i] = 0;
    }
    if (i < 0) return NULL;
  }
}
