package callback

/*
#cgo CFLAGS: -O3 -g0 -Wall -Wno-psabi
#cgo linux LDFLAGS: -lm
#include "callback.h"
*/
import "C"

import (
	"unsafe"

	"xlarun/graph"
	_ "xlarun/third_party/pjrt"        // the C files include its headers
	_ "xlarun/xlabridge/internal/pjrt" // and gomode.h
	"xlarun/xlabridge/kernels"
)

// Kernels are the kernels that call Go.
var Kernels = []kernels.Kernel{
	{Name: graph.DebugTarget, Handler: unsafe.Pointer(C.xb_debug)},
	{Name: graph.HostTarget, Handler: unsafe.Pointer(C.xb_host)},
}
