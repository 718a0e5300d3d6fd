// The kernels xlarun_conv_images, a convolution of images, xlarun_conv_images_input, its gradient by the images, and
// xlarun_conv_images_weights, its gradient by the weights.
//
// Images are processed in groups. If windows reach beyond an image, the group is copied into the kernel's own memory
// with zeros around each image. The windows of a group are divided so that their sums stay in registers.
#include "convimages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"
#include "vectors.h"

static const xb_conv *choose(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX512) return &xb_conv_avx512;
  if (xb_widest_vectors() >= XB_AVX2) return &xb_conv_avx2;
#endif
  return &xb_conv_plain;
}

// A convolution, as shapes and the attribute config say.
typedef struct {
  int64_t lead, images;  // sets of weights, and images for each
  int64_t height, width, ins, kernel_height, kernel_width, outs, high, wide;
  int64_t stride_height, stride_width, top, left;
} conv;

// Images that are processed together.
typedef struct {
  const conv *c;
  xb_windows in;
  int64_t most, rows, columns, numbers;  // images at a time; of an image with its zeros: rows, columns and elements
  int64_t *at;
  float *memory;
} group;

enum { ENOUGH = 128 };  // windows of a group, if there are as many

// open_group allocates memory for images and the zeros around them, and `more` elements after them. With as_is, images
// that need no zeros are used without a copy.
static bool open_group(group *g, const conv *c, bool as_is, int64_t more) {
  int64_t windows = c->high * c->wide;
  *g = (group){.c = c,
               .most = (ENOUGH + windows - 1) / windows,
               .rows = (c->high - 1) * c->stride_height + c->kernel_height,
               .columns = (c->wide - 1) * c->stride_width + c->kernel_width};
  if (g->most > c->images) g->most = c->images;
  as_is = as_is && c->top == 0 && c->left == 0 && g->rows <= c->height && g->columns <= c->width;
  if (as_is) g->rows = c->height, g->columns = c->width;
  g->numbers = g->rows * g->columns * c->ins;
  g->at = malloc((size_t)(g->most * windows) * sizeof *g->at);
  g->memory = as_is ? NULL : calloc((size_t)(g->most * g->numbers + more), sizeof *g->memory);
  if (g->at == NULL || (!as_is && g->memory == NULL)) return false;
  int64_t *at = g->at;
  for (int64_t i = 0; i < g->most; i++)
    for (int64_t y = 0; y < c->high; y++)
      for (int64_t x = 0; x < c->wide; x++)
        *at++ = i * g->numbers + (y * c->stride_height * g->columns + x * c->stride_width) * c->ins;
  g->in = (xb_windows){0, c->kernel_height, c->kernel_width * c->ins, g->columns * c->ins, g->at, g->memory};
  return true;
}

static void close_group(group *g) {
  free(g->at);
  free(g->memory);
}

// rows_of calls copy for each row of the first n images and its place in the group.
static inline __attribute__((always_inline)) void rows_of(const group *g, int64_t n,
                                                          void (*copy)(float *placed, float *image, size_t size),
                                                          float *images) {
  const conv *c = g->c;
  int64_t width = g->columns - c->left < c->width ? g->columns - c->left : c->width,
          height = g->rows - c->top < c->height ? g->rows - c->top : c->height;
  if (width <= 0) return;
  for (int64_t i = 0; i < n; i++)
    for (int64_t y = 0; y < height; y++)
      copy(g->memory + i * g->numbers + ((y + c->top) * g->columns + c->left) * c->ins,
           images + (i * c->height + y) * c->width * c->ins, (size_t)(width * c->ins) * sizeof(float));
}

static inline void place(float *placed, float *image, size_t size) { memcpy(placed, image, size); }

static inline void take(float *placed, float *image, size_t size) { memcpy(image, placed, size); }

// put makes the windows those of n images.
static void put(group *g, const float *images, int64_t n) {
  g->in.windows = n * g->c->high * g->c->wide;
  if (g->memory == NULL) g->in.x = (float *)images;
  else rows_of(g, n, place, (float *)images);
}

// panels is the size of a matrix in panels.
static int64_t panels(const xb_conv *k, int64_t lines, int64_t columns) {
  return (columns + k->columns - 1) / k->columns * lines * k->columns;
}

// to_panels gives the panels of a matrix whose number (i, j) is at w[i * line + j * column].
static float *to_panels(const xb_conv *k, int64_t lines, int64_t columns, const float *w, int64_t line, int64_t column,
                        float *to) {
  for (int64_t first = 0; first < columns; first += k->columns) {
    int64_t n = columns - first < k->columns ? columns - first : k->columns;
    for (int64_t i = 0; i < lines; i++, to += k->columns) {
      const float *from = w + i * line + first * column;
      for (int64_t j = 0; j < n; j++) to[j] = from[j * column];
      for (int64_t j = n; j < k->columns; j++) to[j] = 0;
    }
  }
  return to;
}

static void of_panels(const xb_conv *k, int64_t lines, int64_t columns, const float *from, float *w) {
  for (int64_t first = 0; first < columns; first += k->columns)
    for (int64_t i = 0; i < lines; i++, from += k->columns)
      memcpy(w + i * columns + first, from,
             (size_t)(columns - first < k->columns ? columns - first : k->columns) * sizeof(float));
}

// Sizes of an image, a set of weights and an image's results.
static int64_t numbers_x(const conv *c) { return c->height * c->width * c->ins; }
static int64_t numbers_w(const conv *c) { return c->kernel_height * c->kernel_width * c->ins * c->outs; }
static int64_t numbers_y(const conv *c) { return c->high * c->wide * c->outs; }

// results computes xlarun_conv_images: y from x and w.
static bool results(const conv *c, const float *x, const float *w, float *y) {
  const xb_conv *k = choose();
  int64_t lines = c->kernel_height * c->kernel_width * c->ins;
  group g = {0};
  float *panel = malloc((size_t)panels(k, lines, c->outs) * sizeof *panel);
  bool right = panel != NULL && open_group(&g, c, true, 0);
  for (int64_t l = 0; right && l < c->lead; l++, w += numbers_w(c)) {
    to_panels(k, lines, c->outs, w, c->outs, 1, panel);
    for (int64_t i = 0, n; i < c->images; i += n, x += n * numbers_x(c), y += n * numbers_y(c)) {
      n = c->images - i < g.most ? c->images - i : g.most;
      put(&g, x, n);
      k->results(&g.in, c->outs, panel, y);
    }
  }
  close_group(&g);
  free(panel);
  return right;
}

// images computes xlarun_conv_images_input: x from y and w.
static bool images(const conv *c, const float *y, const float *w, float *x) {
  const xb_conv *k = choose();
  int64_t row = c->kernel_width * c->ins;
  group g = {0};
  float *panel = malloc((size_t)(c->kernel_height * panels(k, c->outs, row)) * sizeof *panel);
  bool right = panel != NULL && open_group(&g, c, false, k->columns);
  if (right && (g.rows - c->top < c->height || g.columns - c->left < c->width))
    memset(x, 0, (size_t)(c->lead * c->images * numbers_x(c)) * sizeof *x);  // no window gets to some
  for (int64_t l = 0; right && l < c->lead; l++, w += numbers_w(c)) {
    float *to = panel;
    for (int64_t r = 0; r < c->kernel_height; r++)
      to = to_panels(k, c->outs, row, w + r * row * c->outs, 1, c->outs, to);
    for (int64_t i = 0, n; i < c->images; i += n, x += n * numbers_x(c), y += n * numbers_y(c)) {
      n = c->images - i < g.most ? c->images - i : g.most;
      g.in.windows = n * c->high * c->wide;
      memset(g.memory, 0, (size_t)(n * g.numbers) * sizeof *g.memory);
      k->images(&g.in, c->outs, y, panel);
      rows_of(&g, n, take, x);
    }
  }
  close_group(&g);
  free(panel);
  return right;
}

// weights computes xlarun_conv_images_weights: w from x and y.
static bool weights(const conv *c, const float *x, const float *y, float *w) {
  const xb_conv *k = choose();
  int64_t lines = c->kernel_height * c->kernel_width * c->ins, sums = panels(k, lines, c->outs);
  group g = {0};
  bool right = open_group(&g, c, true, 0);
  float *panel = right ? malloc((size_t)(sums + g.most * c->high * c->wide * k->columns) * sizeof *panel) : NULL;
  right = panel != NULL;
  for (int64_t l = 0; right && l < c->lead; l++, w += numbers_w(c)) {
    memset(panel, 0, (size_t)sums * sizeof *panel);
    for (int64_t i = 0, n; i < c->images; i += n, x += n * numbers_x(c), y += n * numbers_y(c)) {
      n = c->images - i < g.most ? c->images - i : g.most;
      put(&g, x, n);
      k->weights(&g.in, c->outs, y, panel, panel + sums);
    }
    of_panels(k, lines, c->outs, panel, w);
  }
  close_group(&g);
  free(panel);
  return right;
}

// read_conv reads the convolution from the shapes and the config. It returns false if they do not fit together.
static bool read_conv(const xf_frame *frame, const xf_buffer *x, const xf_buffer *w, const xf_buffer *y, conv *c) {
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);
  if (config == NULL || size != 5 || x == NULL || x->dtype != XF_F32 || w->dtype != XF_F32 || y->dtype != XF_F32)
    return false;
  int64_t lead = config[4], front = x->rank - 3;
  if (config[0] < 1 || config[1] < 1 || config[2] < 0 || config[3] < 0 || lead < 0 || front < lead ||
      y->rank != x->rank || w->rank != lead + 4)
    return false;
  *c = (conv){.lead = 1,
              .images = 1,
              .stride_height = config[0],
              .stride_width = config[1],
              .top = config[2],
              .left = config[3]};
  for (int64_t i = 0; i < front; i++) {
    if (x->dims[i] != y->dims[i] || (i < lead && x->dims[i] != w->dims[i])) return false;
    *(i < lead ? &c->lead : &c->images) *= x->dims[i];
  }
  c->height = x->dims[front], c->width = x->dims[front + 1], c->ins = x->dims[front + 2];
  c->kernel_height = w->dims[lead], c->kernel_width = w->dims[lead + 1], c->outs = w->dims[lead + 3];
  c->high = y->dims[front], c->wide = y->dims[front + 1];
  bool some = c->lead > 0 && c->images > 0 && c->height > 0 && c->width > 0 && c->ins > 0 && c->kernel_height > 0 &&
              c->kernel_width > 0 && c->outs > 0 && c->high > 0 && c->wide > 0;
  return some && w->dims[lead + 2] == c->ins && y->dims[front + 2] == c->outs;
}

static xf_error *finish(xf_frame *frame, bool read, bool done) {
  if (!read)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_conv_images and its gradients take f32 images [..., height, width, ins], weights [..., "
                   "kernel height, kernel width, ins, outs] and results [..., high, wide, outs]");
  return done ? NULL : xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_conv_images has no memory for its windows");
}

// part returns one of the two operands, or the result. It returns NULL if their number is wrong.
static const xf_buffer *part(const xf_frame *frame, int which) {
  if (frame->args.size != 2 || frame->results.size != 1) return NULL;
  return which < 2 ? frame->args.values[which] : frame->results.values[0];
}

xf_error *xb_conv_images(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  conv c;
  const xf_buffer *x = part(frame, 0), *w = part(frame, 1), *y = part(frame, 2);
  bool read = read_conv(frame, x, w, y, &c);
  return finish(frame, read, read && results(&c, x->data, w->data, y->data));
}

xf_error *xb_conv_images_input(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  conv c;
  const xf_buffer *y = part(frame, 0), *w = part(frame, 1), *x = part(frame, 2);
  bool read = read_conv(frame, x, w, y, &c);
  return finish(frame, read, read && images(&c, y->data, w->data, x->data));
}

xf_error *xb_conv_images_weights(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  conv c;
  const xf_buffer *x = part(frame, 0), *y = part(frame, 1), *w = part(frame, 2);
  bool read = read_conv(frame, x, w, y, &c);
  return finish(frame, read, read && weights(&c, x->data, y->data, w->data));
}
