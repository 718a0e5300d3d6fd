#include "../../third_party/pjrt/ffi_abi.h"
#include "sparse.h"

static int is(const xf_buffer *b, int dtype, int rank) { return b->dtype == dtype && b->rank == rank; }

// xs_index_handler is the kernel xlarun_sparse_index as XLA calls it. Arguments: the layers' widths i32[layers + 1],
// then of each layer its connections' places i32[n]. Results: of each layer the index (xs_index).
xf_error *xs_index_handler(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  xf_buffer **args = (xf_buffer **)frame->args.values, **results = (xf_buffer **)frame->results.values;
  int64_t count = frame->results.size;
  if (frame->args.size != count + 1 || !is(args[0], XF_S32, 1) || args[0]->dims[0] != count + 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse_index got a wrong number of arrays");
  const int32_t *width = args[0]->data;
  for (int64_t l = 0; l < count; l++) {
    const xf_buffer *places = args[1 + l], *index = results[l];
    if (!is(places, XF_S32, 1) || !is(index, XF_S32, 1) || width[l] < 1 || width[l + 1] < 1 ||
        index->dims[0] != xs_index_size(width[l], width[l + 1], places->dims[0], l == 0))
      return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse_index got a layer of wrong shapes");
    const char *wrong = xs_index(width[l], width[l + 1], places->dims[0], l == 0, places->data, index->data);
    if (wrong != NULL) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  }
  return NULL;
}

static xf_error *step(xf_frame *frame, int bf16) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  xf_buffer **args = (xf_buffer **)frame->args.values, **results = (xf_buffer **)frame->results.values;
  int64_t count = (frame->args.size - 4) / 2;
  if (frame->args.size < 6 || count > XS_DEPTH || frame->args.size != 4 + 2 * count ||
      (frame->results.size != 1 && frame->results.size != 1 + count))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse got a wrong number of arrays");
  const xf_buffer *widths = args[0], *x = args[1], *labels = args[2], *number = args[3];
  if (!is(widths, XF_S32, 1) || widths->dims[0] != count + 1 || !is(x, XF_U8, 3) || !is(labels, XF_S32, 2) ||
      !is(number, XF_S32, 0) || labels->dims[0] != x->dims[0] || labels->dims[1] != x->dims[2] ||
      !is(results[0], XF_F32, 1) || results[0]->dims[0] != 2)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse got arrays of wrong shapes");
  const int32_t *width = widths->data;
  int64_t inputs = x->dims[1], lanes = x->dims[2], t = *(const int32_t *)number->data;
  if (t < 0 || t >= x->dims[0] || inputs != width[0])
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse got a step or a width that the images do not have");
  xs_layer layers[XS_DEPTH];
  for (int64_t l = 0; l < count; l++) {
    const xf_buffer *index = args[4 + 2 * l], *w = args[5 + 2 * l];
    const xf_buffer *g = frame->results.size > 1 ? results[1 + l] : NULL;
    if (!is(index, XF_S32, 1) || !is(w, XF_F32, 1) || width[l] < 1 || width[l + 1] < 1 ||
        (g != NULL && (!is(g, XF_F32, 1) || g->dims[0] != w->dims[0])) ||
        index->dims[0] != xs_index_size(width[l], width[l + 1], w->dims[0], l == 0))
      return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_sparse got a layer of wrong shapes");
    if (!xs_open(&layers[l], width[l], width[l + 1], w->dims[0], l == 0, index->data))
      return xf_fail(frame, XF_INVALID_ARGUMENT,
                     "xlarun_sparse got an index that xlarun_sparse_index did not make for the layer");
    layers[l].w = w->data;
    layers[l].g = g != NULL ? g->data : NULL;
  }
  const char *wrong = xs_step(count, layers, (const uint8_t *)x->data + t * inputs * lanes,
                              (const int32_t *)labels->data + t * lanes, lanes, bf16, results[0]->data);
  return wrong == NULL ? NULL : xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
}

// xs_handler and xs_bf16_handler are the kernels xlarun_sparse and xlarun_sparse_bf16 as XLA calls them. Arguments: the
// layers' widths i32[layers + 1], images u8[steps, inputs, lanes], labels i32[steps, lanes], the step i32[], then of
// each layer its index and its weights f32[n]. Results: f32[2] (see xs_step), then, where wanted, of each layer the
// gradient f32[n].
xf_error *xs_handler(xf_frame *frame) { return step(frame, 0); }
xf_error *xs_bf16_handler(xf_frame *frame) { return step(frame, 1); }
