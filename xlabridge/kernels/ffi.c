#include "ffi.h"

#include <string.h>

const int64_t *xb_numbers(const xf_frame *frame, int64_t *size) {
  const xf_attributes *a = &frame->attributes;
  if (a->size != 1 || a->types[0] != XF_ARRAY) return NULL;
  const xf_array *v = a->values[0];
  if (v->dtype != XF_S64) return NULL;
  *size = (int64_t)v->size;
  return v->data;
}

int64_t xb_width(int dtype) {
  switch (dtype) {
  case XF_PRED:
  case XF_S8:
  case XF_U8:
    return 1;
  case XF_S16:
  case XF_U16:
  case XF_F16:
  case XF_BF16:
    return 2;
  case XF_S32:
  case XF_U32:
  case XF_F32:
    return 4;
  case XF_S64:
  case XF_U64:
  case XF_F64:
  case XF_C64:
    return 8;
  }
  return 0;
}

int64_t xb_elements(const xf_buffer *b) {
  int64_t n = 1;
  for (int64_t i = 0; i < b->rank; i++) n *= b->dims[i];
  return n;
}

size_t xb_bytes(const xf_buffer *b) { return (size_t)(xb_width(b->dtype) * xb_elements(b)); }

double xb_get_float(const xf_buffer *b, int64_t i) {
  return b->dtype == XF_F32 ? ((const float *)b->data)[i] : ((const double *)b->data)[i];
}

void xb_set_float(const xf_buffer *b, int64_t i, double x) {
  if (b->dtype == XF_F32) ((float *)b->data)[i] = (float)x;
  else ((double *)b->data)[i] = x;
}
