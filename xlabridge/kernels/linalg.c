// Linear algebra as XLA calls it. The arrays' last two axes are the matrices; all in front of them are counted
// together.
#include "linalg.h"

#include <stdbool.h>

#include "ffi.h"
#include "vectors.h"

static const xb_linalg *choose(int dtype) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() == XB_AVX512) return dtype == XF_F32 ? &xb_linalg_f32_avx512 : &xb_linalg_f64_avx512;
  if (xb_widest_vectors() == XB_AVX2) return dtype == XF_F32 ? &xb_linalg_f32_avx2 : &xb_linalg_f64_avx2;
#endif
  return dtype == XF_F32 ? &xb_linalg_f32_plain : &xb_linalg_f64_plain;
}

static bool matrices(const xf_buffer *b) { return (b->dtype == XF_F32 || b->dtype == XF_F64) && b->rank >= 2; }

static bool same(const xf_buffer *a, const xf_buffer *b, int64_t axes) {
  if (a->rank < axes || b->rank < axes) return false;
  for (int64_t i = 0; i < axes; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

static int64_t rows(const xf_buffer *b) { return b->dims[b->rank - 2]; }
static int64_t columns(const xf_buffer *b) { return b->dims[b->rank - 1]; }

static int64_t count(const xf_buffer *b) {
  int64_t n = 1;
  for (int64_t i = 0; i < b->rank - 2; i++) n *= b->dims[i];
  return n;
}

static xf_error *wrong(xf_frame *frame, const char *message) { return xf_fail(frame, XF_INVALID_ARGUMENT, message); }

static xf_error *ended(xf_frame *frame, int well) {
  return well ? NULL : xf_fail(frame, XF_RESOURCE_EXHAUSTED, "no memory for a factorisation");
}

xf_error *xb_cholesky(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 1)
    return wrong(frame, "xlarun_cholesky takes one array and gives one");
  const xf_buffer *a = frame->args.values[0], *l = frame->results.values[0];
  if (!matrices(a) || rows(a) != columns(a) || l->dtype != a->dtype || l->rank != a->rank || !same(a, l, a->rank))
    return wrong(frame, "xlarun_cholesky takes square matrices of floats and gives the same");
  return ended(frame, choose(a->dtype)->cholesky(count(a), rows(a), a->data, l->data));
}

xf_error *xb_triangular_solve(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);  // right, upper, transposed, unit
  if (frame->args.size != 2 || frame->results.size != 1 || size != 4)
    return wrong(frame, "xlarun_triangular_solve takes two arrays and four numbers and gives one array");
  const xf_buffer *a = frame->args.values[0], *b = frame->args.values[1], *x = frame->results.values[0];
  if (!matrices(a) || !matrices(b) || a->dtype != b->dtype || x->dtype != b->dtype || a->rank != b->rank ||
      x->rank != b->rank || rows(a) != columns(a) || !same(a, b, a->rank - 2) || !same(x, b, b->rank) ||
      rows(a) != (config[0] ? columns(b) : rows(b)))
    return wrong(frame, "xlarun_triangular_solve got arrays of wrong shapes");
  return ended(frame,
               choose(a->dtype)->solve(count(a), rows(a), config[0] ? rows(b) : columns(b), config[0] != 0,
                                       config[1] != 0, config[2] != 0, config[3] != 0, a->data, b->data, x->data));
}

xf_error *xb_lu(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 3)
    return wrong(frame, "xlarun_lu takes one array and gives three");
  const xf_buffer *a = frame->args.values[0], *lu = frame->results.values[0];
  const xf_buffer *pivots = frame->results.values[1], *order = frame->results.values[2];
  if (!matrices(a) || rows(a) < columns(a) || lu->dtype != a->dtype || lu->rank != a->rank || !same(a, lu, a->rank) ||
      pivots->dtype != XF_S32 || order->dtype != XF_S32 || pivots->rank != a->rank - 1 || order->rank != a->rank - 1 ||
      !same(pivots, a, a->rank - 2) || !same(order, a, a->rank - 1) || pivots->dims[a->rank - 2] != columns(a))
    return wrong(frame, "xlarun_lu got arrays of wrong shapes");
  return ended(frame,
               choose(a->dtype)->lu(count(a), rows(a), columns(a), a->data, lu->data, pivots->data, order->data));
}

xf_error *xb_qr(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 2)
    return wrong(frame, "xlarun_qr takes one array and gives two");
  const xf_buffer *a = frame->args.values[0], *q = frame->results.values[0], *r = frame->results.values[1];
  if (!matrices(a) || q->dtype != a->dtype || r->dtype != a->dtype || q->rank != a->rank || r->rank != a->rank ||
      !same(q, a, a->rank - 1) || !same(r, a, a->rank - 2) || columns(r) != columns(a) || rows(r) != columns(q) ||
      columns(q) != (rows(a) < columns(a) ? rows(a) : columns(a)))
    return wrong(frame, "xlarun_qr got arrays of wrong shapes");
  return ended(frame, choose(a->dtype)->qr(count(a), rows(a), columns(a), a->data, q->data, r->data));
}
