//go:build cgo

package xlabridge

import (
	"fmt"
	"slices"

	"xlarun/xlabridge/internal/callback"
	"xlarun/xlabridge/kernels"
)

// kernelPlatform is the platform that kernels in C are registered for: XLA's name of the CPU.
const kernelPlatform = "Host"

// registerKernels hands the kernels to the plugin, where it takes any.
func (l *library) registerKernels() error {
	for _, k := range slices.Concat(kernels.Registered(), callback.Kernels) {
		takes, err := l.plugin.Register(k.Name, kernelPlatform, k.Handler)
		if err != nil {
			return fmt.Errorf("plugin %s: it does not take the kernel %s: %w", l.path, k.Name, err)
		}
		l.kernels = takes
	}
	return nil
}

// HasKernels tells whether programs on this client can call kernels in C: on CPU, where the plugin has the FFI
// extension, unless kernels.Env says no.
func (c *Client) HasKernels() bool { return c.lib.kernels && c.Platform() == "cpu" && !c.switches.none }
