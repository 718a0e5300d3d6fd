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

// size is the number of elements; strides[i] is how many lie between neighbors along axis i.
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
  case XF_S8:
    return ((const int8_t *)b->data)[i];
  case XF_S16:
    return ((const int16_t *)b->data)[i];
  case XF_S32:
    return ((const int32_t *)b->data)[i];
  case XF_S64:
    return ((const int64_t *)b->data)[i];
  case XF_U8:
    return ((const uint8_t *)b->data)[i];
  case XF_U16:
    return ((const uint16_t *)b->data)[i];
  case XF_U32:
    return ((const uint32_t *)b->data)[i];
  }
  uint64_t v = ((const uint64_t *)b->data)[i];
  return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

// add_places adds to each of n places the index, every step-th from first on, times scale; where the index is outside
// of 0 to last the place gets and stays negative.
static void add_places(const xf_buffer *b, int64_t first, int64_t step, int64_t n, int64_t last, int64_t scale,
                       int64_t *at) {
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
    else l[k++] = l[i];
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
  if (out->dtype != array->dtype || out->rank != array->rank || xb_width(array->dtype) == 0)
    return "the result is not of the array's shape";
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
    return xf_fail(
        frame, XF_INVALID_ARGUMENT,
        "xlarun_write takes an array, a block and a place along each axis that config lists, and gives an array");
  const xf_buffer *array = frame->args.values[0], *block = frame->args.values[1], *out = frame->results.values[0];
  if (array->rank > AXES || block->rank != array->rank || block->dtype != array->dtype)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write got a block that is not of the array's kind");
  int64_t to[AXES], from[AXES], size;
  int64_t part = layout(block, from), bytes = xb_width(array->dtype);
  for (int64_t i = 0; i < array->rank; i++)
    if (block->dims[i] > array->dims[i])
      return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write got a block larger than the array");
  const char *wrong = start(array, out, to, &size);
  if (wrong != NULL) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  if (part == 0) return NULL;
  int64_t at = 0;
  for (int64_t k = 0; k < partial; k++) {
    const xf_buffer *b = frame->args.values[2 + k];
    if (axes[k] < 0 || axes[k] >= array->rank || b->rank != 0 || !whole(b))
      return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write got a wrong place");
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

// scattering is what xb_scatter does: for each index of `outer` loops and then of `inner`, the coordinates say where a
// window of updates is written.
typedef struct {
  const xf_buffer *indices, *updates, *out;
  xb_combiner combiner;
  int64_t kind, bytes;
  loop window[AXES], inner;
  int windows, outer;
  // Turns of each outer loop, and by how many elements a turn goes on in indices, array and updates.
  int64_t count[AXES];
  int64_t step_index[AXES];
  int64_t step_to[AXES];
  int64_t step_from[AXES];
  // The same step of the inner loop in the indices.
  int64_t inner_index;
  int64_t coordinates;
  // The last place of each coordinate, and the elements from one place to the next.
  int64_t last[AXES];
  int64_t scale[AXES];
} scattering;

enum { WINDOW, DROPPED, SHARED, SHARED_INDEX, COORDINATE, LISTS };

// read_lists reads the lists of the config, each after its length.
static bool read_lists(const int64_t *config, int64_t size, const int64_t **list, int64_t *length) {
  int64_t at = 1;
  for (int i = 0; i < LISTS; i++) {
    if (at >= size || config[at] < 0 || config[at] > AXES || at + 1 + config[at] > size) return false;
    length[i] = config[at];
    list[i] = config + at + 1;
    at += 1 + length[i];
  }
  return true;
}

// read_loops makes the loops of a scattering from the lists. It gives what is wrong, or NULL.
static const char *read_loops(scattering *s, const xf_buffer *array, const int64_t **list, const int64_t *length,
                              const int64_t *to, const int64_t *from, const int64_t *index) {
  // The window: what is neither dropped nor shared, in order.
  bool taken[AXES] = {0}, window_axis[AXES] = {0};
  int64_t extent[AXES];
  for (int i = DROPPED; i <= SHARED; i++)
    for (int64_t k = 0; k < length[i]; k++) taken[list[i][k]] = true;
  for (int64_t i = 0; i < array->rank; i++) {
    extent[i] = 1;
    if (taken[i]) continue;
    if (s->windows == length[WINDOW]) return "xlarun_scatter got too few window axes";
    int64_t axis = list[WINDOW][s->windows];
    extent[i] = s->updates->dims[axis];
    window_axis[axis] = true;
    s->window[s->windows++] = (loop){extent[i], to[i], from[axis]};
  }
  s->windows = merge(s->window, s->windows);
  // Around it, a loop for each axis of the indices but the last.
  for (int64_t i = 0; i < s->updates->rank; i++) {
    if (window_axis[i]) continue;
    if (s->outer == s->indices->rank - 1) return "xlarun_scatter got updates that the indices do not fit";
    s->count[s->outer] = s->updates->dims[i];
    s->step_index[s->outer] = index[s->outer];
    s->step_from[s->outer] = from[i];
    s->outer++;
  }
  for (int64_t k = 0; k < length[SHARED]; k++) s->step_to[list[SHARED_INDEX][k]] += to[list[SHARED][k]];
  s->coordinates = length[COORDINATE];
  for (int64_t k = 0; k < s->coordinates; k++) {
    int64_t axis = list[COORDINATE][k];
    s->last[k] = array->dims[axis] - extent[axis];
    s->scale[k] = to[axis];
  }
  // The innermost of those loops goes some indices at a time: where they write, then the writing.
  if (s->outer == 0) {
    s->count[0] = 1;
    s->step_index[0] = s->step_to[0] = s->step_from[0] = 0;
    s->outer = 1;
  }
  s->outer--;
  s->inner = (loop){s->count[s->outer], s->step_to[s->outer], s->step_from[s->outer]};
  s->inner_index = s->step_index[s->outer];
  return NULL;
}

// single_coordinate tells that there is one s32 coordinate, and that those of the inner loop lie side by side.
static bool single_coordinate(const scattering *s) {
  return s->coordinates == 1 && s->inner_index == 1 && s->indices->dtype == XF_S32;
}

// scatter_columns scatters lanes that share their indices, eight at a time, transposed, if there are enough updates to
// pay for it. It returns the number of lanes that are done.
static int64_t scatter_columns(const scattering *s) {
  enum { EIGHT = 8, LONGEST = 1 << 16 };
  int64_t n = s->last[0] + 1, k = 0;
  const loop *lanes = s->window, *inner = &s->inner;
  if (s->windows != 1 || s->outer != 0 || !single_coordinate(s) || inner->to != 0 || inner->from != 1 ||
      s->scale[0] != 1 || n < 1 || n > LONGEST || inner->n < n || lanes->n < EIGHT)
    return 0;
  xb_columns *eight = columns(s->kind, s->out->dtype);
  char *rows = eight != NULL ? malloc(n * EIGHT * s->bytes) : NULL;
  if (rows == NULL) return 0;
  for (; k + EIGHT <= lanes->n; k += EIGHT)
    eight((char *)s->out->data + k * lanes->to * s->bytes, n, lanes->to,
          (const char *)s->updates->data + k * lanes->from * s->bytes, inner->n, lanes->from,
          (const int32_t *)s->indices->data, rows);
  free(rows);
  return k;
}

// scatter_inner does the turns of the inner loop, whose first index, update and place are given.
static void scatter_inner(const scattering *s, int64_t first, int64_t source, int64_t base) {
  enum { SOME = 256 };
  int64_t at[SOME], bytes = s->bytes;
  const loop inner = s->inner, *window = s->window;
  const int windows = s->windows;
  char *out = s->out->data;
  const char *updates = (const char *)s->updates->data + source * bytes;
  if (windows == 0 && single_coordinate(s)) {
    s->combiner.direct(out + base * bytes, updates, inner.n, (const int32_t *)s->indices->data + first,
                       (uint32_t)s->last[0], s->scale[0], inner.to, inner.from);
    return;
  }
  for (int64_t i = 0; i < inner.n; i += SOME) {
    int64_t n = inner.n - i < SOME ? inner.n - i : SOME;
    const char *from = updates + i * inner.from * bytes;
    for (int64_t j = 0; j < n; j++) at[j] = base + (i + j) * inner.to;
    for (int64_t k = 0; k < s->coordinates; k++)
      add_places(s->indices, first + i * s->inner_index + k, s->inner_index, n, s->last[k], s->scale[k], at);
    if (windows == 0) {
      s->combiner.spray(out, from, n, at, inner.from);
    } else if (windows == 1 && window[0].to != 1) {  // lanes that share the indices, say
      for (int64_t k = 0; k < window[0].n; k++)
        s->combiner.spray(out + k * window[0].to * bytes, from + k * window[0].from * bytes, n, at, inner.from);
    } else if (windows == 1 && window[0].from == 1) {
      s->combiner.rows(out, from, n, at, window[0].n, inner.from);
    } else {
      for (int64_t j = 0; j < n; j++)
        if (at[j] >= 0)
          walk(s->combiner.run, out + at[j] * bytes, from + j * inner.from * bytes, bytes, window, windows);
    }
  }
}

// scatter_all does all turns of the outer loops, from a place and an update on.
static void scatter_all(const scattering *s, int64_t source, int64_t base) {
  int64_t first = 0, turn[AXES] = {0};
  for (;;) {
    scatter_inner(s, first, source, base);
    int i = s->outer - 1;
    for (; i >= 0; i--) {
      base += s->step_to[i];
      source += s->step_from[i];
      first += s->step_index[i];
      if (++turn[i] < s->count[i]) break;
      base -= s->count[i] * s->step_to[i];
      source -= s->count[i] * s->step_from[i];
      first -= s->count[i] * s->step_index[i];
      turn[i] = 0;
    }
    if (i < 0) return;
  }
}

xf_error *xb_scatter(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t config_size;
  const int64_t *config = xb_numbers(frame, &config_size);
  if (config == NULL || config_size < 6 || frame->args.size != 3 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_scatter takes an array, indices and updates, and gives an array");
  const xf_buffer *array = frame->args.values[0], *out = frame->results.values[0];
  scattering s = {.indices = frame->args.values[1],
                  .updates = frame->args.values[2],
                  .out = out,
                  .kind = config[0],
                  .combiner = combine(config[0], array->dtype),
                  .bytes = xb_width(array->dtype)};
  if (s.combiner.run == NULL || array->rank > AXES || s.indices->rank > AXES || s.updates->rank > AXES ||
      s.indices->rank < 1 || !whole(s.indices) || s.updates->dtype != array->dtype)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got arrays that it does not take");
  const int64_t *list[LISTS];
  int64_t length[LISTS], to[AXES], from[AXES], index[AXES], size;
  if (!read_lists(config, config_size, list, length))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_scatter got a broken config");
  int64_t all = layout(s.updates, from);
  layout(s.indices, index);
  const char *wrong = start(array, out, to, &size);
  if (wrong != NULL) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  if (all == 0 || size == 0) return NULL;
  if ((wrong = read_loops(&s, array, list, length, to, from, index)) != NULL)
    return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  int64_t lanes = scatter_columns(&s), base = lanes * s.window[0].to, source = lanes * s.window[0].from;
  if (lanes > 0 && lanes == s.window[0].n) return NULL;
  s.window[0].n -= lanes;
  scatter_all(&s, source, base);
  return NULL;
}
