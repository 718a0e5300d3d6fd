// The kernels xlarun_unfold, the windows of images side by side, and xlarun_fold, its transpose: each element of an image is the sum of those of the windows that are taken from it.
#include <stdbool.h>
#include <string.h>

#include "ffi.h"

// windows are what the attribute config and the shapes say.
typedef struct {
  int64_t images, height, width, channels, high, wide;
  int64_t kernel_height, kernel_width, stride_height, stride_width, top, left;
} windows;

static bool read_windows(const xf_frame *frame, const xf_buffer *image, const xf_buffer *out, windows *w) {
  int64_t size = 0, n = image->rank - 3;
  const int64_t *config = xb_numbers(frame, &size);
  if (config == NULL || size != 6 || n < 0 || out->rank != image->rank || image->dtype != XF_F32 || out->dtype != XF_F32) return false;
  w->images = 1;
  for (int64_t i = 0; i < n; i++) {
    if (image->dims[i] != out->dims[i]) return false;
    w->images *= image->dims[i];
  }
  w->height = image->dims[n], w->width = image->dims[n + 1], w->channels = image->dims[n + 2];
  w->high = out->dims[n], w->wide = out->dims[n + 1];
  w->kernel_height = config[0], w->kernel_width = config[1], w->stride_height = config[2], w->stride_width = config[3], w->top = config[4], w->left = config[5];
  for (int i = 0; i < 6; i++)
    if (config[i] < (i < 4)) return false;
  return out->dims[n + 2] == w->kernel_height * w->kernel_width * w->channels;
}

static inline void add(float *restrict to, const float *restrict from, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

// walk goes through the rows of all windows. Those of an image are copied from it with the zeros outside of it, or else added to it.
static inline void walk(const windows *w, float *image, float *out, bool fold) {
  int64_t c = w->channels, row = w->kernel_width * c;
  for (int64_t i = 0; i < w->images; i++, image += w->height * w->width * c)
    for (int64_t oy = 0; oy < w->high; oy++)
      for (int64_t ox = 0; ox < w->wide; ox++) {
        int64_t x = ox * w->stride_width - w->left;
        int64_t from = x < 0 ? 0 : x, to = x + w->kernel_width < w->width ? x + w->kernel_width : w->width;
        for (int64_t ky = 0; ky < w->kernel_height; ky++, out += row) {
          int64_t y = oy * w->stride_height + ky - w->top;
          if (y < 0 || y >= w->height || from >= to) {
            if (!fold) memset(out, 0, (size_t)row * sizeof(float));
            continue;
          }
          float *at = image + (y * w->width + from) * c;
          int64_t before = (from - x) * c, n = (to - from) * c;
          if (fold) {
            add(at, out + before, n);
            continue;
          }
          for (int64_t k = 0; k < before; k++) out[k] = 0;
          for (int64_t k = 0; k < n; k++) out[before + k] = at[k];
          for (int64_t k = before + n; k < row; k++) out[k] = 0;
        }
      }
}

xf_error *xb_unfold(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  windows w;
  if (frame->args.size != 1 || frame->results.size != 1 || !read_windows(frame, frame->args.values[0], frame->results.values[0], &w))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_unfold takes f32[..., height, width, channels] and gives f32[..., high, wide, kernel height * kernel width * channels]");
  walk(&w, ((const xf_buffer *)frame->args.values[0])->data, ((const xf_buffer *)frame->results.values[0])->data, false);
  return NULL;
}

xf_error *xb_fold(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  windows w;
  if (frame->args.size != 1 || frame->results.size != 1 || !read_windows(frame, frame->results.values[0], frame->args.values[0], &w))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_fold takes f32[..., high, wide, kernel height * kernel width * channels] and gives f32[..., height, width, channels]");
  float *image = ((const xf_buffer *)frame->results.values[0])->data;
  memset(image, 0, (size_t)(w.images * w.height * w.width * w.channels) * sizeof(float));
  walk(&w, image, ((const xf_buffer *)frame->args.values[0])->data, true);
  return NULL;
}
