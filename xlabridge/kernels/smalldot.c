// The kernel xlarun_small_dots: products of many pairs of small matrices.
#include "smalldot.h"

#include "ffi.h"
#include "vectors.h"

// choose takes the widest registers that the columns fill.
static xb_small_dots *choose(int64_t columns) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() >= XB_AVX512 && columns > 8) return xb_small_dots_avx512;
  if (xb_widest_vectors() >= XB_AVX2) return xb_small_dots_avx2;
#endif
  return xb_small_dots_plain;
}

xf_error *xb_small_dots_call(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);
  if (config == NULL || size != 2 || frame->args.size != 2 || frame->results.size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_small_dots takes two arrays and two numbers and gives one array");
  const xf_buffer *x = frame->args.values[0], *y = frame->args.values[1], *out = frame->results.values[0];
  bool right = x->dtype == XF_F32 && y->dtype == XF_F32 && out->dtype == XF_F32 && x->rank == 3 && y->rank == 3 &&
               out->rank == 3;
  xb_small_sizes s = {.x_transposed = config[0] != 0, .y_transposed = config[1] != 0};
  if (right) {
    s.products = out->dims[0], s.rows = out->dims[1], s.columns = out->dims[2],
    s.inner = x->dims[s.x_transposed ? 1 : 2];
    s.x_shared = x->dims[0] == 1;
    right = (s.x_shared || x->dims[0] == s.products) && y->dims[0] == s.products &&
            x->dims[s.x_transposed ? 2 : 1] == s.rows && y->dims[s.y_transposed ? 2 : 1] == s.inner &&
            y->dims[s.y_transposed ? 1 : 2] == s.columns && s.rows <= XB_SMALL_SIDE && s.inner <= XB_SMALL_SIDE &&
            s.columns <= XB_SMALL_SIDE;
  }
  if (!right) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_small_dots got arrays of wrong shapes or types");
  choose(s.columns)(&s, x->data, y->data, out->data);
  return NULL;
}
