//go:build cgo

package xlabridge

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
	"xlarun/xlabridge/internal/pjrt"
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
	defaults []byte       // the compiler's default options (a serialized DebugOptions); nil before the first use
	fail     func() error // tests set it to make the query of the default options fail
}

// withExtra appends extra options of the backend (XLA's xla_backend_extra_options, NAME or NAME=VALUE) to a serialized
// CompileOptionsProto. XLA does not let them override by name: they are a map inside DebugOptions, and a given
// DebugOptions replaces all default options. So the default options are read first.
func (c *Client) withExtra(base, options []byte, extra []string) ([]byte, error) {
	own, err := c.defaultDebugOptions(base)
	if err != nil {
		return nil, err
	}
	debug := protobuf.Message(own)
	for _, name := range extra {
		var entry protobuf.Message
		name, value, _ := strings.Cut(name, "=")
		entry.Text(fieldMapKey, name)
		entry.Text(fieldMapValue, value)
		debug.Bytes(fieldExtraOptions, entry)
	}
	var build protobuf.Message
	build.Bytes(fieldDebugOptions, debug)
	// If a message appears twice, protobuf merges both, so the other build options stay.
	with := protobuf.Message(options)
	with.Bytes(fieldBuildOptions, build)
	return with, nil
}

// defaultDebugOptions returns a copy of the compiler's default options. A failure is not cached.
func (c *Client) defaultDebugOptions(base []byte) ([]byte, error) {
	l := c.lib
	l.options.Lock()
	defer l.options.Unlock()
	if l.options.defaults == nil {
		if l.options.fail != nil {
			if err := l.options.fail(); err != nil {
				return nil, err
			}
		}
		own, err := c.readDefaultOptions(base)
		if err != nil {
			return nil, err
		}
		l.options.defaults = own
	}
	return append([]byte(nil), l.options.defaults...), nil
}

// optionName is the name of an option in an error.
var optionName = regexp.MustCompile(`\bxla_\w+`)

// refused lists the default options, in alphabetical order, that the compiler's error names: the plugin does not know
// them, or takes other values. The caller's own are not among them.
func (r *request) refused(err error) (names []string) {
	named := optionName.FindAllString(err.Error(), -1)
	for _, name := range slices.Sorted(maps.Keys(r.overrides)) {
		if _, own := r.userOptions[name]; !own && slices.Contains(named, name) {
			names = append(names, name)
		}
	}
	return names
}

// readDefaultOptions compiles the smallest program with the same base options and reads the options of the result.
func (c *Client) readDefaultOptions(base []byte) ([]byte, error) {
	// The plugin adds its default options only if one of them is overridden. Level 3 is XLA's default.
	options, err := appendOverrides(base[:len(base):len(base)], map[string]any{"xla_backend_optimization_level": 3})
	if err != nil {
		return nil, err
	}
	program, err := c.inner.Compile([]byte(smallestModule), options, 1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = program.Close() }()
	all, err := program.Options()
	if e, ok := errors.AsType[*pjrt.Error](err); ok && e.Code == pjrt.Unimplemented {
		return nil, errors.New("the plugin does not say what a program was compiled with")
	}
	if err != nil {
		return nil, err
	}
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
func protoField(message []byte, field protowire.Number) (found []byte, err error) {
	all, err := protobuf.Fields(message)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.Number == field && f.Kind == protowire.BytesType {
			found = f.Bytes
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the options that the plugin gives back lack field %d", field)
	}
	return found, nil
}
