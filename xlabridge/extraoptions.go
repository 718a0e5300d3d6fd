package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
// nevertheless, as NAME or NAME=VALUE between commas.
const extraOptions = "xla_backend_extra_options"

// leastModule is the smallest program there is, compiled to learn the compiler's own options.
const leastModule = `module @least { func.func @main() -> tensor<i32> { ` +
	`%0 = stablehlo.constant dense<0> : tensor<i32> return %0 : tensor<i32> } }`

// knownOptions keeps what is known of the compiler's options.
type knownOptions struct {
	sync.Mutex
	own   []byte          // the compiler's own (a serialized DebugOptions); nil as long as nobody has asked
	taken map[string]bool // whether the plugin takes an option with a value
	fail  func() error    // where not nil, stands before every question for the compiler's own: for tests
}

// withExtra appends extra options of the backend (XLA's xla_backend_extra_options, NAME or NAME=VALUE) to a
// serialized CompileOptionsProto. They cannot be overridden by name as others can: they are a map inside DebugOptions,
// and a DebugOptions that is handed over stands for all of the compiler's own, so those are asked for first.
func (l *library) withExtra(args *C.xp_compile_args, options []byte, extra []string) ([]byte, error) {
	own, err := l.debugOptions(args)
	if err != nil {
		return nil, err
	}
	for _, name := range extra {
		var entry []byte
		name, value, _ := strings.Cut(name, "=")
		entry = protowire.AppendString(protowire.AppendTag(entry, fieldMapKey, protowire.BytesType), name)
		entry = protowire.AppendString(protowire.AppendTag(entry, fieldMapValue, protowire.BytesType), value)
		own = protowire.AppendBytes(protowire.AppendTag(own, fieldExtraOptions, protowire.BytesType), entry)
	}
	build := protowire.AppendBytes(protowire.AppendTag(nil, fieldDebugOptions, protowire.BytesType), own)
	// Messages that appear twice in a serialized one are merged, so the rest of the build options stays.
	return protowire.AppendBytes(protowire.AppendTag(options, fieldBuildOptions, protowire.BytesType), build), nil
}

// debugOptions is a copy of the compiler's own options. A failure is not kept: the next program asks again.
func (l *library) debugOptions(args *C.xp_compile_args) ([]byte, error) {
	l.options.Lock()
	defer l.options.Unlock()
	if l.options.own == nil {
		if l.options.fail != nil {
			if err := l.options.fail(); err != nil {
				return nil, err
			}
		}
		own, err := l.learnDebugOptions(args)
		if err != nil {
			return nil, err
		}
		l.options.own = own
	}
	return append([]byte(nil), l.options.own...), nil
}

// unknownOptions lists those of our own options that the plugin does not take, in alphabetical order. It asks by
// compiling the smallest program with each; where that fails without any too, nothing is known.
func (l *library) unknownOptions(r *request, args *C.xp_compile_args) []string {
	l.options.Lock()
	defer l.options.Unlock()
	if l.options.taken == nil {
		l.options.taken = map[string]bool{}
	}
	var unknown []string
	works := false
	for _, name := range slices.Sorted(maps.Keys(r.overrides)) {
		if _, asked := r.asked[name]; asked {
			continue
		}
		option := map[string]any{name: r.overrides[name]}
		key := fmt.Sprintf("%s=%v", name, r.overrides[name])
		taken, known := l.options.taken[key]
		if !known {
			if !works {
				if works = l.compilesLeast(args, nil); !works {
					return nil
				}
			}
			taken = l.compilesLeast(args, option)
			l.options.taken[key] = taken
		}
		if !taken {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// compilesLeast tells whether the smallest program compiles with the same arguments and the overrides.
func (l *library) compilesLeast(args *C.xp_compile_args, overrides map[string]any) bool {
	loaded, err := l.compileLeast(args, overrides)
	if err == nil {
		C.xb_loaded_destroy(l.slot, loaded)
	}
	return err == nil
}

// compileLeast compiles the smallest program; the caller destroys it.
func (l *library) compileLeast(args *C.xp_compile_args, overrides map[string]any) (*C.xp_loaded, error) {
	options, err := appendOverrides(optionsOf(args), overrides)
	if err != nil {
		return nil, err
	}
	code, coptions := C.CString(leastModule), C.CBytes(options)
	defer C.free(unsafe.Pointer(code))
	defer C.free(coptions)
	program := *args.program
	program.code, program.code_size = code, C.size_t(len(leastModule))
	var loaded *C.xp_loaded
	err = l.takeError(C.xb_compile_program(l.slot, args.client, &program, (*C.char)(coptions), C.size_t(len(options)),
		&loaded))
	return loaded, err
}

// learnDebugOptions compiles the smallest program with the same arguments and reads back what options it was compiled
// with.
func (l *library) learnDebugOptions(args *C.xp_compile_args) ([]byte, error) {
	// The plugin fills in its own options only where one of them is overridden. Level 3 is XLA's default.
	loaded, err := l.compileLeast(args, map[string]any{"xla_backend_optimization_level": 3})
	if err != nil {
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
