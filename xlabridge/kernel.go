//go:build cgo

package xlabridge

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"xlarun/xlabridge/internal/callback"
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
	for _, k := range slices.Concat(kernels.All, callback.Kernels) {
		RegisterKernel(k.Name, k.Handler)
	}
}

// registerKernels hands the kernels to the plugin, where it takes any.
func (l *library) registerKernels() error {
	registered.Lock()
	defer registered.Unlock()
	for _, k := range registered.list {
		takes, err := l.plugin.Register(k.name, kernelPlatform, k.handler)
		if err != nil {
			return fmt.Errorf("plugin %s: it does not take the kernel %s: %w", l.path, k.name, err)
		}
		l.kernels = takes
	}
	return nil
}

// HasKernels tells whether programs on this client can call the kernels of RegisterKernel: on CPU, where the plugin has
// the FFI extension, unless EnvKernels says no.
func (c *Client) HasKernels() bool { return c.lib.kernels && c.Platform() == "cpu" && !c.switches.none }
