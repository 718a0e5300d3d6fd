// Package goxla lets code that uses go-xla (github.com/gomlx/go-xla/pjrt), such as GoMLX's backend "xla", run on an
// open client: it has the client's devices, whose memory is taken once, and its programs come from the client's cache.
// The package does not import go-xla, which its caller has. Its test is in the module xlarun/gomlx.
package goxla

/*
#include "table.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	_ "xlarun/third_party/pjrt" // the C files include its headers
	"xlarun/xlabridge"
	"xlarun/xlabridge/internal/inside"
)

// registered is the client that go-xla has.
var registered struct {
	sync.Mutex
	platform string // "": none
	inside.Shared
}

// Register makes an open client known to go-xla under its platform's name, "cpu", "cuda", "rocm" or "tpu": each client
// that go-xla makes of this plugin is this one. preload is go-xla's pjrt.RegisterPreloadedPlugin. Call Register before
// go-xla is used. A process registers one client, and a second Register returns an error. The client stays open until
// the process ends: its Close returns an error, since go-xla does not say when it is done.
func Register(c *xlabridge.Client, preload func(platform string, table uintptr) error) error {
	registered.Lock()
	defer registered.Unlock()
	if registered.platform != "" {
		return fmt.Errorf("goxla: go-xla has a client for %s already, and a process registers one", registered.platform)
	}
	platform := c.Platform()
	err := inside.Share(c, func(shared inside.Shared) error {
		registered.Shared = shared
		return preload(platform, uintptr(C.gx_table(shared.Table, shared.Client)))
	})
	if err == nil {
		registered.platform = platform
	}
	return err
}

// goxlaCompile replaces PJRT_Client_Compile.
//
//export goxlaCompile
func goxlaCompile(raw unsafe.Pointer) (failed *C.xp_error) {
	args := (*C.xp_compile_args)(raw)
	code := unsafe.Slice((*byte)(unsafe.Pointer(args.program.code)), args.program.code_size)
	options := unsafe.Slice((*byte)(unsafe.Pointer(args.compile_options)), args.compile_options_size)
	format := C.GoStringN(args.program.format, C.int(args.program.format_size))
	loaded := registered.Compile(code, format, options, func() unsafe.Pointer {
		if failed = C.gx_compile(args); failed != nil {
			return nil
		}
		return unsafe.Pointer(args.executable)
	})
	args.executable = (*C.xp_loaded)(loaded)
	return failed
}
