package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of CompileOptionsProto, ExecutableBuildOptionsProto and DebugOptions.
const (
	fieldBuildOptions = 3
	fieldDebugOptions = 3
	fieldExtraOptions = 500
)

// extraOptions is a compiler option that cannot be overridden by name like others; CompileOptions.XLA takes it
// nevertheless, as names between commas.
const extraOptions = "xla_backend_extra_options"

// leastModule is the smallest program there is, compiled to learn the compiler's own options.
const leastModule = `module @least { func.func @main() -> tensor<i32> { %0 = stablehlo.constant dense<0> : tensor<i32> return %0 : tensor<i32> } }`

// debugOptions keeps the compiler's own options (a serialized DebugOptions).
type debugOptions struct {
	sync.Mutex
	known bool
	bytes []byte
	err   error
}

// withExtra appends extra options of the backend (XLA's xla_backend_extra_options, names without values) to a
// serialized CompileOptionsProto. They cannot be overridden by name as others can: they are a map inside DebugOptions,
// and a DebugOptions that is handed over stands for all of the compiler's own, so those are asked for first.
func (l *library) withExtra(args *C.xp_compile_args, options []byte, extra []string) ([]byte, error) {
	d := &l.debug
	d.Lock()
	if !d.known {
		d.bytes, d.err = l.learnDebugOptions(args)
		d.known = true
	}
	own, err := d.bytes, d.err
	d.Unlock()
	if err != nil {
		return nil, err
	}
	own = append([]byte(nil), own...)
	for _, name := range extra {
		var entry []byte
		entry = protowire.AppendString(protowire.AppendTag(entry, fieldMapKey, protowire.BytesType), name)
		entry = protowire.AppendString(protowire.AppendTag(entry, fieldMapValue, protowire.BytesType), "")
		own = protowire.AppendBytes(protowire.AppendTag(own, fieldExtraOptions, protowire.BytesType), entry)
	}
	build := protowire.AppendBytes(protowire.AppendTag(nil, fieldDebugOptions, protowire.BytesType), own)
	// Messages that appear twice in a serialized one are merged, so the rest of the build options stays.
	return protowire.AppendBytes(protowire.AppendTag(options, fieldBuildOptions, protowire.BytesType), build), nil
}

// learnDebugOptions compiles the smallest program with the same arguments and reads back what options it was compiled
// with.
func (l *library) learnDebugOptions(args *C.xp_compile_args) ([]byte, error) {
	options := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(args.compile_options)), int(args.compile_options_size))...)
	// The plugin fills in its own options only where one of them is overridden. Level 3 is XLA's default.
	options, err := appendOverrides(options, map[string]any{"xla_backend_optimization_level": 3})
	if err != nil {
		return nil, err
	}
	code, coptions := C.CString(leastModule), C.CBytes(options)
	defer C.free(unsafe.Pointer(code))
	defer C.free(coptions)
	program := *args.program
	program.code, program.code_size = code, C.size_t(len(leastModule))
	var loaded *C.xp_loaded
	if err := l.takeError(C.xb_compile_program(l.slot, args.client, &program, (*C.char)(coptions), C.size_t(len(options)), &loaded)); err != nil {
		return nil, err
	}
	defer C.xb_loaded_destroy(l.slot, loaded)
	var got C.xp_compile_options_args
	if err := l.takeError(C.xb_compile_options(l.slot, loaded, &got)); err != nil {
		return nil, err
	}
	defer C.xb_compile_options_free(&got)
	if got.bytes == nil {
		return nil, errors.New("the plugin does not say what a program was compiled with")
	}
	all := unsafe.Slice((*byte)(unsafe.Pointer(got.bytes)), int(got.bytes_size))
	build, err := protoField(all, fieldBuildOptions)
	if err != nil {
		return nil, err
	}
	own, err := protoField(build, fieldDebugOptions)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), own...), nil
}

// protoField is the last value of a length-delimited field of a serialized message.
func protoField(message []byte, field protowire.Number) ([]byte, error) {
	var found []byte
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, protowire.ParseError(n)
		}
		if number == field && kind == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(message)
		}
		message = message[n:]
	}
	if found == nil {
		return nil, fmt.Errorf("the options that the plugin gives back lack field %d", field)
	}
	return found, nil
}
