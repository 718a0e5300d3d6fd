#include "ffi.h"

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
