// Kernels that write into parts of arrays.
#include "writes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"
#include "vectors.h"

enum { AXES = 16 };

// OUTSIDE is a place that stays negative whatever is added to it.
#define OUTSIDE (INT64_MIN / 2)

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

// combine returns the combiner of a kind and an element type for this processor; nulls: there is none.
static xb_combiner combine(int64_t kind, int dtype) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_combine_avx2(kind, dtype, xb_width(dtype));
#endif
  return xb_combine_plain(kind, dtype, xb_width(dtype));
}

// columns returns what combines eight lanes at once on this processor; null: nothing does.
static xb_columns *columns(int64_t kind, int dtype) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX2) return xb_columns_avx2(kind, dtype, xb_width(dtype));
#endif
  return NULL;
}

// walk runs through nested loops, the innermost by f.
static void walk(xb_run *f, char *to, const char *from, int64_t bytes, const loop *l, int n) {
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
  if (out->dtype != array->dtype || out->rank != array->rank || xb_width(array->dtype) == 0) return "the result is not of the array's shape";
  for (int64_t i = 0; i < array->rank; i++)
    if (out->dims[i] != array->dims[i]) return "the result is not of the array's shape";
  if (out->data != array->data) memcpy(out->data, array->data, *size * xb_width(array->dtype));
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
  int64_t part = layout(block, from), bytes = xb_width(array->dtype);
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
  int64_t config_size;
  const int64_t *config = xb_numbers(frame, &config_size);
  if (config == NULL || config_size < 6 || frame->args.size != 3 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter takes an array, indices and updates, and gives an array");
  const xf_buffer *array = frame->args.values[0], *indices = frame->args.values[1], *updates = frame->args.values[2], *out = frame->results.values[0];
  xb_combiner f = combine(config[0], array->dtype);
  if (f.run == NULL || array->rank > AXES || indices->rank > AXES || updates->rank > AXES || indices->rank < 1 || !whole(indices) || updates->dtype != array->dtype)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got arrays that it does not take");
  // The five lists.
  const int64_t *list[5];
  int64_t length[5], at = 1;
  for (int i = 0; i < 5; i++) {
    if (at >= config_size || config[at] < 0 || config[at] > AXES || at + 1 + config[at] > config_size) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got a broken config");
    length[i] = config[at];
    list[i] = config + at + 1;
    at += 1 + length[i];
  }
  enum { WINDOW, DROPPED, SHARED, SHARED_INDEX, COORDINATE };
  int64_t to[AXES], from[AXES], index[AXES], size;
  int64_t bytes = xb_width(array->dtype), all = layout(updates, from);
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
  // Lanes that share their indices are transposed, eight at a time, if there are enough updates to pay for it.
  enum { EIGHT = 8, LONGEST = 1 << 16 };
  if (windows == 1 && outer == 0 && coordinates == 1 && inner_index == 1 && indices->dtype == XF_S32 && inner.to == 0 &&
      inner.from == 1 && scale[0] == 1 && last[0] >= 0 && last[0] < LONGEST && inner.n > last[0]) {
    xb_columns *eight = columns(config[0], array->dtype);
    char *rows = eight != NULL && window[0].n >= EIGHT ? malloc((last[0] + 1) * EIGHT * bytes) : NULL;
    if (rows != NULL) {
      int64_t k = 0;
      for (; k + EIGHT <= window[0].n; k += EIGHT)
        eight((char *)out->data + k * window[0].to * bytes, last[0] + 1, window[0].to, (const char *)updates->data + k * window[0].from * bytes,
              inner.n, window[0].from, (const int32_t *)indices->data, rows);
      free(rows);
      if (k == window[0].n) return NULL;
      base = k * window[0].to;
      source = k * window[0].from;
      window[0].n -= k;
    }
  }
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
      if (windows == 1 && window[0].to != 1) {  // lanes that share the indices, say
        for (int64_t k = 0; k < window[0].n; k++)
          f.spray((char *)out->data + k * window[0].to * bytes, from_here + k * window[0].from * bytes, n, at, inner.from);
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
