#include "ffi.h"

xf_error *xb_unset(xf_frame *frame) {
  (void)xf_asked(frame);
  return NULL;
}
