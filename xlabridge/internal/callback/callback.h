// The kernels whose work is done in Go.
#ifndef XLARUN_CALLBACK_H
#define XLARUN_CALLBACK_H

#include "../../../third_party/pjrt/ffi_abi.h"

// xb_debug is the handler of the kernel xlarun_debug: a message and arrays in, one number out, which is not set.
xf_error *xb_debug(xf_frame *frame);

// xlarun_debug does its work, in Go (debug.go).
xf_error *xlarun_debug(xf_frame *frame);

// xb_host is the handler of the kernel xlarun_host: a message and arrays in, the results of a function in Go out.
xf_error *xb_host(xf_frame *frame);

// xlarun_host does its work, in Go (host.go).
xf_error *xlarun_host(xf_frame *frame);

#endif
