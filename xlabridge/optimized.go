package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Optimized returns the program after the compiler's passes. format is "hlo", "hlo_with_config" (a serialized
// HloModuleProto, alone or as field 1) or "mlir". A program for CPUs that comes from the cache lacks the bodies of its
// fusions.
func (e *Executable) Optimized() (format string, code []byte, err error) {
	if err := e.use(); err != nil {
		return "", nil, err
	}
	defer e.h.release()
	if e.raw == nil {
		return "", nil, fmt.Errorf("xlabridge: optimized form of program %s: it is in the cache only; compile it "+
			"without the cache", e.name)
	}
	lib := e.client.lib
	program := (*C.xp_program)(C.calloc(1, C.size_t(unsafe.Sizeof(C.xp_program{}))))
	defer C.free(unsafe.Pointer(program))
	program.struct_size = C.size_t(unsafe.Sizeof(C.xp_program{}))
	// The first call returns only the size of the code.
	err = lib.takeError(C.xb_optimized(lib.slot, e.raw, program))
	if err == nil && program.code_size > 0 {
		program.code = (*C.char)(C.malloc(program.code_size))
		defer C.free(unsafe.Pointer(program.code))
		err = lib.takeError(C.xb_optimized(lib.slot, e.raw, program))
	}
	if err != nil {
		return "", nil, fmt.Errorf("xlabridge: optimized form of program %s: %w", e.name, err)
	}
	return C.GoStringN(program.format, C.int(program.format_size)),
		C.GoBytes(unsafe.Pointer(program.code), C.int(program.code_size)), nil
}
