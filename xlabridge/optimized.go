//go:build cgo

package xlabridge

import "fmt"

// Optimized returns the program after the compiler's passes. format is "hlo", "hlo_with_config" (a serialized
// HloModuleProto, alone or as field 1) or "mlir". A program for CPUs that comes from the cache lacks the bodies of its
// fusions.
func (e *Executable) Optimized() (format string, code []byte, err error) {
	if err := e.use(); err != nil {
		return "", nil, err
	}
	defer e.h.release()
	if e.inner == nil {
		return "", nil, fmt.Errorf("xlabridge: optimized form of program %s: it is in the cache only; compile it "+
			"without the cache", e.name)
	}
	if format, code, err = e.inner.Optimized(); err != nil {
		err = fmt.Errorf("xlabridge: optimized form of program %s: %w", e.name, err)
	}
	return format, code, err
}
