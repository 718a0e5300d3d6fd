// Kernels of our own: C functions that compiled programs call by name.
#ifndef XLARUN_FFI_H
#define XLARUN_FFI_H

#include "ffi_abi.h"
#include "pjrt_abi.h"

// xb_ffi finds the FFI extension of a plugin's table; NULL: it has none that can register handlers.
xp_ffi_extension *xb_ffi(const xp_api *api);

// xb_ffi_register registers a handler for a platform.
xp_error *xb_ffi_register(xp_ffi_extension *ffi, const char *name, void *handler, const char *platform);

// xb_reverse is the handler of the kernel xlarun_reverse: one f32[n] in, the same backwards out.
xf_error *xb_reverse(xf_frame *frame);

// xb_turn is the handler of the kernel xlarun_turn: f32[a, b] in, its transpose f32[b, a] out.
xf_error *xb_turn(xf_frame *frame);

// xb_unset is the handler of the kernel xlarun_unset: nothing in, one array out, left as it is.
xf_error *xb_unset(xf_frame *frame);

// xb_write_rows is the handler of the kernel xlarun_write_rows: an array, rows of the same shape but for the first axis, and
// the number of the first row to write them to (i32[], moved so that all rows are inside). Gives the array with the rows
// written, in place where result and array are the same memory.
xf_error *xb_write_rows(xf_frame *frame);

// xlarun_debug is the handler of the kernel xlarun_debug, in Go (debug.go): a message and arrays in, one number out, which is
// left as it is.
xf_error *xlarun_debug(xf_frame *frame);

#endif
