package xlabridge

/*
#include <stdlib.h>
#include "ffi.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"xlarun/graph"
)

// kernelPlatform is the platform that kernels in C are registered for: XLA's name of the CPU.
const kernelPlatform = "Host"

// kernels are the handlers that every plugin opened from now on gets to know.
var kernels struct {
	sync.Mutex
	list []kernel
}

type kernel struct {
	name    string
	handler unsafe.Pointer
}

// RegisterKernel makes a C function known under the name that graph.CustomCall calls it by. handler is an XLA FFI
// handler (xf_handler of third_party/pjrt/ffi_abi.h) for programs on the CPU. Call it before any plugin is opened, from
// an init function: a plugin learns of the kernels when it is opened.
func RegisterKernel(name string, handler unsafe.Pointer) {
	kernels.Lock()
	defer kernels.Unlock()
	kernels.list = append(kernels.list, kernel{name, handler})
}

func init() {
	RegisterKernel("xlarun_reverse", unsafe.Pointer(C.xb_reverse))
	// Those that graph's lowering calls.
	RegisterKernel("xlarun_turn", unsafe.Pointer(C.xb_turn))
	RegisterKernel("xlarun_cumulative", unsafe.Pointer(C.xb_cumulative))
	RegisterKernel("xlarun_top_k", unsafe.Pointer(C.xb_top_k))
	RegisterKernel("xlarun_sort", unsafe.Pointer(C.xb_sort))
	RegisterKernel("xlarun_threefry", unsafe.Pointer(C.xb_threefry))
	RegisterKernel("xlarun_apart", unsafe.Pointer(C.xb_unset))
	RegisterKernel("xlarun_gather", unsafe.Pointer(C.xb_gather))
	RegisterKernel("xlarun_after", unsafe.Pointer(C.xb_after))
	RegisterKernel("xlarun_unset", unsafe.Pointer(C.xb_unset))
	RegisterKernel("xlarun_write", unsafe.Pointer(C.xb_write))
	RegisterKernel("xlarun_scatter", unsafe.Pointer(C.xb_scatter))
	RegisterKernel("xlarun_cholesky", unsafe.Pointer(C.xb_cholesky))
	RegisterKernel("xlarun_triangular_solve", unsafe.Pointer(C.xb_triangular_solve))
	RegisterKernel("xlarun_lu", unsafe.Pointer(C.xb_lu))
	RegisterKernel("xlarun_eigh", unsafe.Pointer(C.xb_eigh))
	RegisterKernel("xlarun_low_rank", unsafe.Pointer(C.xb_low_rank))
	RegisterKernel("xlarun_sparse_dot", unsafe.Pointer(C.xb_sparse_dot))
	RegisterKernel("xlarun_sparse_outer", unsafe.Pointer(C.xb_sparse_outer))
	RegisterKernel("xlarun_recurrence", unsafe.Pointer(C.xb_recurrence))
	RegisterKernel("xlarun_integrate_fire", unsafe.Pointer(C.xb_integrate_fire))
	RegisterKernel("xlarun_conv_images", unsafe.Pointer(C.xb_conv_images))
	RegisterKernel("xlarun_conv_images_input", unsafe.Pointer(C.xb_conv_images_input))
	RegisterKernel("xlarun_conv_images_weights", unsafe.Pointer(C.xb_conv_images_weights))
	RegisterKernel("xlarun_tree_backup", unsafe.Pointer(C.xb_tree_backup))
	RegisterKernel("xlarun_permute", unsafe.Pointer(C.xb_permute))
	RegisterKernel(graph.DebugTarget, unsafe.Pointer(C.xlarun_debug))
}

// registerKernels hands the kernels to the plugin, where it takes any.
func (l *library) registerKernels(api *C.xp_api) error {
	ffi := C.xb_ffi(api)
	if ffi == nil {
		return nil
	}
	kernels.Lock()
	defer kernels.Unlock()
	platform := C.CString(kernelPlatform)
	defer C.free(unsafe.Pointer(platform))
	for _, k := range kernels.list {
		name := C.CString(k.name)
		err := l.takeError(C.xb_ffi_register(ffi, name, k.handler, platform))
		C.free(unsafe.Pointer(name))
		if err != nil {
			return fmt.Errorf("plugin %s: it does not take the kernel %s: %w", l.path, k.name, err)
		}
	}
	l.kernels = true
	return nil
}

// HasKernels tells whether programs on this client can call the kernels of RegisterKernel: on CPU, where the plugin has
// the FFI extension.
func (c *Client) HasKernels() bool { return c.lib.kernels && c.Platform() == "cpu" }
