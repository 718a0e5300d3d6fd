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

// extraOptions is a compiler option that XLA does not let override by name. CompileOptions.XLA accepts it as NAME or
// NAME=VALUE, separated by commas.
const extraOptions = "xla_backend_extra_options"

// smallestModule is a smallest program, which is compiled to learn the compiler's default options.
const smallestModule = `module @least {
  func.func @main() -> tensor<i32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    return %0 : tensor<i32>
  }
}`

// optionCache holds the compiler's default options.
type optionCache struct {
	sync.Mutex
	defaults []byte          // the compiler's default options (a serialized DebugOptions); nil before the first use
	accepted map[string]bool // whether the plugin accepts an option with a value
	fail     func() error    // tests set it to make the query of the default options fail
}

// withExtra appends extra options of the backend (XLA's xla_backend_extra_options, NAME or NAME=VALUE) to a serialized
// CompileOptionsProto. XLA does not let them override by name: they are a map inside DebugOptions, and a given
// DebugOptions replaces all default options. So the default options are read first.
func (l *library) withExtra(args *C.xp_compile_args, options []byte, extra []string) ([]byte, error) {
	own, err := l.defaultDebugOptions(args)
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
	// If a message appears twice, protobuf merges both, so the other build options stay.
	return protowire.AppendBytes(protowire.AppendTag(options, fieldBuildOptions, protowire.BytesType), build), nil
}

// defaultDebugOptions returns a copy of the compiler's default options. A failure is not cached.
func (l *library) defaultDebugOptions(args *C.xp_compile_args) ([]byte, error) {
	l.options.Lock()
	defer l.options.Unlock()
	if l.options.defaults == nil {
		if l.options.fail != nil {
			if err := l.options.fail(); err != nil {
				return nil, err
			}
		}
		own, err := l.readDefaultOptions(args)
		if err != nil {
			return nil, err
		}
		l.options.defaults = own
	}
	return append([]byte(nil), l.options.defaults...), nil
}

// unknownOptions lists the options that the plugin does not accept, in alphabetical order. It compiles the smallest
// program with each option. If that fails without any option too, it returns none.
func (l *library) unknownOptions(r *request, args *C.xp_compile_args) []string {
	l.options.Lock()
	defer l.options.Unlock()
	if l.options.accepted == nil {
		l.options.accepted = map[string]bool{}
	}
	var unknown []string
	works := false
	for _, name := range slices.Sorted(maps.Keys(r.overrides)) {
		if _, ok := r.userOptions[name]; ok {
			continue
		}
		option := map[string]any{name: r.overrides[name]}
		key := fmt.Sprintf("%s=%v", name, r.overrides[name])
		accepted, ok := l.options.accepted[key]
		if !ok {
			if !works {
				if works = l.compilesSmallest(args, nil); !works {
					return nil
				}
			}
			accepted = l.compilesSmallest(args, option)
			l.options.accepted[key] = accepted
		}
		if !accepted {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// compilesSmallest reports whether the smallest program compiles with the same arguments and the overrides.
func (l *library) compilesSmallest(args *C.xp_compile_args, overrides map[string]any) bool {
	loaded, err := l.compileSmallest(args, overrides)
	if err == nil {
		C.xb_loaded_destroy(l.slot, loaded)
	}
	return err == nil
}

// compileSmallest compiles the smallest program. The caller destroys it.
func (l *library) compileSmallest(args *C.xp_compile_args, overrides map[string]any) (*C.xp_loaded, error) {
	options, err := appendOverrides(optionsOf(args), overrides)
	if err != nil {
		return nil, err
	}
	code, coptions := C.CString(smallestModule), C.CBytes(options)
	defer C.free(unsafe.Pointer(code))
	defer C.free(coptions)
	program := *args.program
	program.code, program.code_size = code, C.size_t(len(smallestModule))
	var loaded *C.xp_loaded
	err = l.takeError(C.xb_compile_program(l.slot, args.client, &program, (*C.char)(coptions), C.size_t(len(options)),
		&loaded))
	return loaded, err
}

// readDefaultOptions compiles the smallest program with the same arguments and reads the options of the result.
func (l *library) readDefaultOptions(args *C.xp_compile_args) ([]byte, error) {
	// The plugin adds its default options only if one of them is overridden. Level 3 is XLA's default.
	loaded, err := l.compileSmallest(args, map[string]any{"xla_backend_optimization_level": 3})
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

// protoField returns the last value of a length-delimited field of a serialized message.
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
