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
