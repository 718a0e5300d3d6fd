// Package inside has what xlabridge lets the packages below it do with a client, and nobody else. It
// sets CompiledWith and Share.
package inside

import (
	"unsafe"

	"xlarun/graph"
)

// CompiledWith says what a client (an *xlabridge.Client) would compile a program with: the target, the compiler's
// options, and the key in the cache. options are xlabridge.CompileOptions. Nothing of it depends on the machine: the
// target is that of a CPU without narrow products, with eight cores and a made-up name.
var CompiledWith func(client any, p *graph.Program, options any) (string, error)

// Shared is a client that other code in the process uses, too.
type Shared struct {
	Table, Client unsafe.Pointer // the plugin's table of functions, and its client
	// Compile returns a program of the plugin from the cache, or has compile compile it, and stores it. compile returns
	// nil if it fails. options are a CompileOptionsProto.
	Compile func(code []byte, format string, options []byte, compile func() unsafe.Pointer) unsafe.Pointer
}

// Share registers a client (an *xlabridge.Client) with other code. It stays open from then on if register returns nil.
var Share func(client any, register func(Shared) error) error

// Observe is called with each program that a client compiles or takes from its cache. Tests set it; it is nil in
// programs of users.
var Observe func(name, text, options string, compiled bool)
