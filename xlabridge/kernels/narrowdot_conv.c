// The kernel xlarun_bf16_conv: a convolution of bfloat16, as a product whose left operand's rows overlap; see
// narrowdot.c.
#include <stdlib.h>
#include <string.h>

#include "narrowdot_job.h"

// An axis of windows in memory: windows or their elements, and from one to the next in the left operand, the right one
// and the result.
typedef struct {
  int64_t dim, left, right, result;
} window_axis;

// by_left sorts axes so that what lies side by side in the left operand comes last.
static int by_left(const void *a, const void *b) {
  int64_t x = ((const window_axis *)a)->left, y = ((const window_axis *)b)->left;
  return (x < y) - (x > y);
}

// An array that is placed between zeros, axis by axis.
typedef struct {
  int rank, last;  // elements along the axis `last`, and what is behind them, lie side by side in both
  int64_t dims[XB_AXES], steps[XB_AXES], placed[XB_AXES], before[XB_AXES], apart[XB_AXES], room[XB_AXES];
} placement;

static void place(const placement *p, int axis, const uint16_t *from, uint16_t *to) {
  if (axis == p->rank) {
    *to = *from;
    return;
  }
  int64_t n = p->dims[axis];
  if (p->before[axis] + (n - 1) * p->apart[axis] >= p->room[axis])
    n = (p->room[axis] - p->before[axis] + p->apart[axis] - 1) / p->apart[axis];
  to += p->before[axis] * p->placed[axis];
  if (axis == p->last) {
    if (n > 0) memcpy(to, from, (size_t)(n * p->steps[axis]) * sizeof *to);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    place(p, axis + 1, from + i * p->steps[axis], to + i * p->apart[axis] * p->placed[axis]);
}

// Memory of a thread for images between zeros, kept from call to call.
static __thread uint16_t *images;
static __thread size_t images_size;

// read_conv makes a job of a convolution. config: the axes of images, weights and results, as batch, features, spatial
// axes (of weights: features out, features in); then of each spatial axis the stride, the zeros before, the distance of
// an image's elements and that of a window's. It gives what is wrong, or NULL.
static const char *read_conv(const xf_frame *frame, xb_job *j) {
  static const char *const wrong =
      "xlarun_bf16_conv takes bf16 images and weights, none of them empty, and gives bf16 or f32 with features last";
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);
  if (config == NULL || frame->args.size != 2 || frame->results.size != 1) return wrong;
  const xf_buffer *x = frame->args.values[0], *w = frame->args.values[1], *y = frame->results.values[0];
  int64_t rank = x->rank, spatial = rank - 2;
  if (spatial < 0 || rank > XB_AXES || w->rank != rank || y->rank != rank || size != 3 * rank + 4 * spatial ||
      x->dtype != XF_BF16 || w->dtype != XF_BF16 || (y->dtype != XF_BF16 && y->dtype != XF_F32))
    return wrong;
  const int64_t *of_x = config, *of_w = config + rank, *of_y = config + 2 * rank, *geometry = config + 3 * rank;
  int64_t w_steps[XB_AXES], y_steps[XB_AXES], step = 1;
  for (int64_t i = 0; i < 3 * rank; i++)
    if (config[i] < 0 || config[i] >= rank) return wrong;
  for (int64_t i = rank - 1; i >= 0; step *= w->dims[i--]) w_steps[i] = step;
  if (step == 0) return wrong;
  step = 1;
  for (int64_t i = rank - 1; i >= 0; step *= y->dims[i--]) y_steps[i] = step;
  if (step == 0 || y_steps[of_y[1]] != 1 || x->dims[of_x[0]] != y->dims[of_y[0]] ||
      x->dims[of_x[1]] != w->dims[of_w[1]] || w->dims[of_w[0]] != y->dims[of_y[1]])
    return wrong;

  placement p = {.rank = (int)rank, .last = (int)rank};
  bool as_is = true;
  for (int64_t i = 0; i < rank; i++) p.dims[i] = p.room[i] = x->dims[i], p.before[i] = 0, p.apart[i] = 1;
  for (int64_t i = 0; i < spatial; i++) {
    const int64_t *g = geometry + 4 * i, axis = of_x[2 + i];
    if (g[0] < 1 || g[1] < 0 || g[2] < 1 || g[3] < 1) return wrong;
    p.before[axis] = g[1], p.apart[axis] = g[2];
    p.room[axis] = (y->dims[of_y[2 + i]] - 1) * g[0] + (w->dims[of_w[2 + i]] - 1) * g[3] + 1;
    as_is = as_is && g[1] == 0 && g[2] == 1 && p.room[axis] <= x->dims[axis];
  }
  if (as_is)
    for (int64_t i = 0; i < rank; i++) p.room[i] = x->dims[i];
  step = 1;
  int64_t placed = 1;
  bool whole = true;  // nothing lies between what is behind the axis
  for (int64_t i = rank - 1; i >= 0; step *= x->dims[i], placed *= p.room[i], i--) {
    p.steps[i] = step, p.placed[i] = placed;
    if (whole && p.apart[i] == 1) p.last = (int)i;
    whole = whole && p.apart[i] == 1 && p.before[i] == 0 && p.room[i] == p.dims[i];
  }
  if (step == 0) return wrong;
  const uint16_t *from = x->data;
  if (!as_is) {
    if (images_size < (size_t)placed) {
      free(images);
      images = malloc((size_t)placed * sizeof *images);
      images_size = images == NULL ? 0 : (size_t)placed;
      if (images == NULL) return "xlarun_bf16_conv has no memory for its images";
    }
    memset(images, 0, (size_t)placed * sizeof *images);
    place(&p, 0, x->data, images);
    from = images;
  }

  window_axis rows[XB_AXES], inner[XB_AXES];
  rows[0] = (window_axis){x->dims[of_x[0]], p.placed[of_x[0]], 0, y_steps[of_y[0]]};
  inner[0] = (window_axis){x->dims[of_x[1]], p.placed[of_x[1]], w_steps[of_w[1]], 0};
  for (int64_t i = 0; i < spatial; i++) {
    rows[1 + i] = (window_axis){y->dims[of_y[2 + i]], geometry[4 * i] * p.placed[of_x[2 + i]], 0, y_steps[of_y[2 + i]]};
    inner[1 + i] =
        (window_axis){w->dims[of_w[2 + i]], geometry[4 * i + 3] * p.placed[of_x[2 + i]], w_steps[of_w[2 + i]], 0};
  }
  qsort(rows, (size_t)rank - 1, sizeof *rows, by_left);
  qsort(inner, (size_t)rank - 1, sizeof *inner, by_left);
  xb_axes one = {.size = 1};
  j->left = (xb_operand){(const char *)from, one, one, one}, j->right = (xb_operand){w->data, one, one, one},
  j->results = one;
  for (int64_t i = 0; i < rank - 1; i++) {
    xb_add_axis(&j->left.free, rows[i].dim, rows[i].left);
    xb_add_axis(&j->results, rows[i].dim, rows[i].result);
    xb_add_axis(&j->left.inner, inner[i].dim, inner[i].left);
    xb_add_axis(&j->right.inner, inner[i].dim, inner[i].right);
  }
  xb_add_axis(&j->right.free, w->dims[of_w[0]], w_steps[of_w[0]]);
  j->rows = j->left.free.size, j->columns = j->right.free.size, j->inner = j->left.inner.size;
  j->half = y->dtype == XF_BF16, j->out = y->data;
  return NULL;
}

xf_error *xb_bf16_conv(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  xb_job *j = xb_narrow_start(XB_BF16);
  if (j == NULL) return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_bf16_conv has no memory");
  const char *wrong = read_conv(frame, j);
  if (wrong != NULL) {
    free(j);
    return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  }
  return xb_narrow_run(frame, j, 1)
             ? NULL
             : xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_bf16_conv has no memory for its blocks");
}
