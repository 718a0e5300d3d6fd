#include "ffi.h"

#include <string.h>

xp_ffi_extension *xb_ffi(const xp_api *api) {
  for (xf_extension *e = api->extension_start; e != NULL; e = e->next) {
    if (e->type != XP_EXTENSION_FFI) continue;
    xp_ffi_extension *ffi = (xp_ffi_extension *)e;
    size_t want = offsetof(xp_ffi_extension, register_handler) + sizeof ffi->register_handler;
    return e->struct_size >= want && ffi->register_handler != NULL ? ffi : NULL;
  }
  return NULL;
}

xp_error *xb_ffi_register(xp_ffi_extension *ffi, const char *name, void *handler, const char *platform) {
  xp_ffi_register_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = offsetof(xp_ffi_register_args, traits) + sizeof args.traits;
  args.name = name;
  args.name_size = strlen(name);
  args.handler = handler;
  args.platform = platform;
  args.platform_size = strlen(platform);
  return ffi->register_handler(&args);
}

xf_error *xb_reverse(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_reverse takes one array and gives one");
  const xf_buffer *in = frame->args.values[0], *out = frame->results.values[0];
  if (in->dtype != XF_F32 || in->rank != 1 || out->dtype != XF_F32 || out->rank != 1 || in->dims[0] != out->dims[0])
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_reverse takes f32[n] and gives f32[n]");
  const float *from = in->data;
  float *to = out->data;
  for (int64_t i = 0, n = in->dims[0]; i < n; i++) to[i] = from[n - 1 - i];
  return NULL;
}

xf_error *xb_turn(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_turn takes one matrix and gives one");
  const xf_buffer *in = frame->args.values[0], *out = frame->results.values[0];
  if (in->dtype != XF_F32 || in->rank != 2 || out->dtype != XF_F32 || out->rank != 2 || in->dims[0] != out->dims[1] || in->dims[1] != out->dims[0])
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_turn takes f32[a, b] and gives f32[b, a]");
  enum { BLOCK = 16 };  // floats of a cache line
  int64_t rows = in->dims[0], columns = in->dims[1];
  const float *from = in->data;
  float *to = out->data;
  for (int64_t i = 0; i < rows; i += BLOCK)
    for (int64_t j = 0; j < columns; j += BLOCK) {
      int64_t last = i + BLOCK < rows ? i + BLOCK : rows, end = j + BLOCK < columns ? j + BLOCK : columns;
      for (int64_t c = j; c < end; c++)
        for (int64_t r = i; r < last; r++) to[c * rows + r] = from[r * columns + c];
    }
  return NULL;
}

xf_error *xb_unset(xf_frame *frame) {
  (void)xf_asked(frame);
  return NULL;
}

// bytes is the size of an array; -1: of an unknown type.
static int64_t bytes(const xf_buffer *b) {
  static const char sizes[] = {[1] = 1, [2] = 1, [3] = 2, [4] = 4, [5] = 8, [6] = 1, [7] = 2, [8] = 4, [9] = 8, [10] = 2, [11] = 4, [12] = 8, [16] = 2};
  if (b->dtype < 1 || b->dtype >= (int)sizeof sizes || sizes[b->dtype] == 0) return -1;
  int64_t n = sizes[b->dtype];
  for (int64_t i = 0; i < b->rank; i++) n *= b->dims[i];
  return n;
}

xf_error *xb_write_rows(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 3 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write_rows takes an array, rows and a place and gives an array");
  const xf_buffer *array = frame->args.values[0], *rows = frame->args.values[1], *at = frame->args.values[2];
  const xf_buffer *out = frame->results.values[0];
  int64_t size = bytes(array), part = bytes(rows);
  if (size < 0 || part < 0 || bytes(out) != size || array->dtype != rows->dtype || array->rank < 1 || rows->rank != array->rank ||
      at->dtype != XF_S32 || at->rank != 0 || rows->dims[0] > array->dims[0])
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write_rows got arrays of wrong shapes");
  for (int64_t i = 1; i < array->rank; i++)
    if (rows->dims[i] != array->dims[i]) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_write_rows got rows of a wrong length");
  if (part == 0) return NULL;
  int64_t first = *(const int32_t *)at->data, last = array->dims[0] - rows->dims[0];
  if (first > last) first = last;
  if (first < 0) first = 0;
  if (out->data != array->data) memcpy(out->data, array->data, size);
  memcpy((char *)out->data + first * (part / rows->dims[0]), rows->data, part);
  return NULL;
}
