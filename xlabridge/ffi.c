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

xf_error *xb_unset(xf_frame *frame) {
  (void)xf_asked(frame);
  return NULL;
}
