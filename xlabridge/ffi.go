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
	"xlarun/xlabridge/kernels"
)

// kernelPlatform is the platform that kernels in C are registered for: XLA's name of the CPU.
const kernelPlatform = "Host"

// registered are the kernels that a plugin learns of when it is opened.
var registered struct {
	sync.Mutex
	list []kernel
}

type kernel struct {
	name    string
	handler unsafe.Pointer
}

// RegisterKernel registers a C function under a name for graph.CustomCall. handler is an XLA FFI
// handler (xf_handler of third_party/pjrt/ffi_abi.h) for programs on the CPU. Call it from an init function, before any
// plugin is opened.
func RegisterKernel(name string, handler unsafe.Pointer) {
	registered.Lock()
	defer registered.Unlock()
	registered.list = append(registered.list, kernel{name, handler})
}

func init() {
	for _, k := range kernels.All {
		RegisterKernel(k.Name, k.Handler)
	}
	RegisterKernel(graph.DebugTarget, unsafe.Pointer(C.xb_debug))
	RegisterKernel(graph.HostTarget, unsafe.Pointer(C.xb_host))
}

// registerKernels hands the kernels to the plugin, where it takes any.
func (l *library) registerKernels(api *C.xp_api) error {
	ffi := C.xb_ffi(api)
	if ffi == nil {
		return nil
	}
	registered.Lock()
	defer registered.Unlock()
	platform := C.CString(kernelPlatform)
	defer C.free(unsafe.Pointer(platform))
	for _, k := range registered.list {
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
// the FFI extension, unless EnvKernels says no.
func (c *Client) HasKernels() bool { return c.lib.kernels && c.Platform() == "cpu" && !c.switches.none }
