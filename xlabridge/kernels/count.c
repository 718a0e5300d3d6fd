// The kernel xlarun_count tells the host how far a running program is: it adds 1 to a counter of the process, which the
// host reads meanwhile, and passes an array on.
#include "ffi.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic int64_t counters[XB_COUNTERS];

int64_t xb_counted(int32_t counter) {
  return counter >= 0 && counter < XB_COUNTERS ? atomic_load_explicit(&counters[counter], memory_order_relaxed) : 0;
}

xf_error *xb_count(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_count takes an array and the number of a counter and gives the array");
  const xf_buffer *in = frame->args.values[0], *counter = frame->args.values[1], *out = frame->results.values[0];
  size_t bytes = sizeof(int32_t);
  if (in->dtype != XF_S32 || out->dtype != XF_S32 || counter->dtype != XF_S32 || counter->rank != 0 ||
      in->rank != out->rank)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_count takes s32 arrays, and gives one of the first one's shape");
  for (int64_t k = 0; k < in->rank; k++) {
    if (in->dims[k] != out->dims[k])
      return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_count gives an array of another shape");
    bytes *= (size_t)in->dims[k];
  }
  if (out->data != in->data) memcpy(out->data, in->data, bytes);
  int32_t number = *(const int32_t *)counter->data;
  if (number >= 0 && number < XB_COUNTERS) atomic_fetch_add_explicit(&counters[number], 1, memory_order_relaxed);
  return NULL;
}
