// Package pjrt calls a PJRT plugin: a method for each function of its C interface that is used, and typed errors. Go
// fills in the structures of arguments, and one function of C calls any function of the plugin. Calls wait for their
// end, and what they use must not be closed meanwhile. Nothing is closed by the garbage collector.
package pjrt

/*
#cgo CFLAGS: -O3 -g0 -Wall
#cgo linux LDFLAGS: -ldl -lm
#include <stdlib.h>
#include "pjrt.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	_ "xlarun/third_party/pjrt" // the C files include its headers
)

// Plugin is an opened library. It is never closed, because XLA crashes after dlclose.
type Plugin struct {
	Major, Minor int // of the interface
	api          *C.xp_api
}

// LoadError is the error of a file that the loader does not take.
type LoadError struct{ Path, Reason string }

func (e *LoadError) Error() string {
	return fmt.Sprintf("plugin %s: not a shared library that can be loaded (%s); name another with --plugin or run "+
		"`xlarun plugin install`", e.Path, e.Reason)
}

// least is the number of entries that a table must have.
const least = C.XP_EXECUTABLE_MEMORY_STATS + 1

// tableHead is the size of what precedes the entries of a table.
const tableHead = unsafe.Sizeof(C.xp_api{})

// LogLevel is the environment variable of both logs of a plugin. Level 3 shows only fatal messages.
const LogLevel = "TF_CPP_MIN_LOG_LEVEL"

// Silence turns off the logging of plugins, unless the user set a log level. It must be called before the plugin is
// loaded. The plugin reads C's environment, so it is set with C's setenv.
func Silence() {
	name, value := C.CString(LogLevel), C.CString("3")
	C.setenv(name, value, 0)
	C.free(unsafe.Pointer(name))
	C.free(unsafe.Pointer(value))
}

// Open opens a library. It refuses what is no plugin, and a table that is too short or of another major version.
func Open(path string) (*Plugin, error) {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var reason *C.char
	var found C.bool
	api := C.pj_open(cpath, &reason, &found)
	switch {
	case reason != nil:
		return nil, &LoadError{path, takeText(reason)}
	case !bool(found):
		return nil, fmt.Errorf("plugin %s: a shared library, but no PJRT plugin (it has no GetPjrtApi); name another "+
			"with --plugin or run `xlarun plugin install`", path)
	case api == nil:
		return nil, fmt.Errorf("plugin %s: GetPjrtApi returned no table; name another with --plugin", path)
	}
	const want = tableHead + least*unsafe.Sizeof(uintptr(0))
	p := &Plugin{int(api.version.major_version), int(api.version.minor_version), api}
	switch {
	case api.struct_size > 1<<16 || uintptr(api.struct_size) < tableHead:
		return nil, fmt.Errorf("plugin %s: its PJRT table claims %d bytes, which is no table of this ABI; name "+
			"another with --plugin", path, api.struct_size)
	case p.Major != 0:
		return nil, fmt.Errorf("plugin %s: it speaks PJRT %d.%d, wanted major version 0; name another with --plugin "+
			"or run `xlarun plugin install`", path, p.Major, p.Minor)
	case uintptr(api.struct_size) < want:
		return nil, fmt.Errorf("plugin %s: it speaks PJRT 0.%d, whose table has %d bytes, too old: wanted at least %d "+
			"bytes; run `xlarun plugin install` for a newer one, or name another with --plugin", path, p.Minor,
			api.struct_size, want)
	}
	return p, nil
}

// Preload opens a library for those that are opened after it. It returns "", or what the loader says.
func Preload(path string) string {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	return takeText(C.pj_preload(cpath))
}

// takeText copies a text of C, and frees it. nil is "".
func takeText(p *C.char) string {
	defer C.free(unsafe.Pointer(p))
	return C.GoString(p)
}

// Initialize lets the plugin initialize itself. It is called once, before the first client.
func (p *Plugin) Initialize() error {
	return call(p, C.XP_PLUGIN_INITIALIZE, &C.xp_plugin_initialize_args{})
}

// Table returns the address of the plugin's table of functions, which lies in its library.
func (p *Plugin) Table() unsafe.Pointer { return unsafe.Pointer(p.api) }

// entry returns a function of the table, or nil if the table ends before it or has none there.
func (p *Plugin) entry(n C.int) unsafe.Pointer {
	at := tableHead + uintptr(n)*unsafe.Sizeof(uintptr(0))
	if uintptr(p.api.struct_size) < at+unsafe.Sizeof(uintptr(0)) {
		return nil
	}
	return *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(p.api), at))
}

// call calls an entry of the table with a structure of arguments, of which it sets the size. Pointers to Go's memory in
// it must be pinned.
func call[A any](p *Plugin, n C.int, args *A) error {
	function := p.entry(n)
	if function == nil {
		return &Error{Unimplemented, fmt.Sprintf("the plugin is too old: its table has no entry %d", n)}
	}
	return callAt(p, function, args)
}

// callAt is call for a function that is in no table.
func callAt[A any](p *Plugin, function unsafe.Pointer, args *A) error {
	*(*C.size_t)(unsafe.Pointer(args)) = C.size_t(unsafe.Sizeof(*args))
	return p.error(C.pj_call(function, unsafe.Pointer(args)))
}

// wait waits for an event, and destroys it.
func (p *Plugin) wait(event *C.xp_event) error {
	return p.error(C.pj_wait(p.entry(C.XP_EVENT_AWAIT), p.entry(C.XP_EVENT_DESTROY), event))
}

// error copies an error of the plugin, and destroys it. nil stays nil.
func (p *Plugin) error(e *C.xp_error) error {
	if e == nil {
		return nil
	}
	message := &C.xp_text_args{struct_size: C.sizeof_xp_text_args, of: unsafe.Pointer(e)}
	C.pj_call(p.entry(C.XP_ERROR_MESSAGE), unsafe.Pointer(message))
	code := &C.xp_error_code_args{struct_size: C.sizeof_xp_error_code_args, error: e}
	if C.pj_call(p.entry(C.XP_ERROR_CODE), unsafe.Pointer(code)) != nil {
		code.code = unknown
	}
	err := &Error{int(code.code), strings.TrimSpace(text(message.text, message.text_size))}
	destroy := &C.xp_object_args{struct_size: C.sizeof_xp_object_args, of: unsafe.Pointer(e)}
	C.pj_call(p.entry(C.XP_ERROR_DESTROY), unsafe.Pointer(destroy))
	return err
}

// alive counts the objects that are not yet destroyed, by the entry that destroys them.
var alive [least]atomic.Int64

// Objects are numbers of the plugins' objects.
type Objects struct{ Clients, Buffers, Executables, Loaded, Topologies int64 }

// Alive counts the objects that are not yet closed. It is for tests.
func Alive() Objects {
	return Objects{alive[C.XP_CLIENT_DESTROY].Load(), alive[C.XP_BUFFER_DESTROY].Load(),
		alive[C.XP_EXECUTABLE_DESTROY].Load(), alive[C.XP_LOADED_DESTROY].Load(),
		alive[C.XP_TOPOLOGY_DESTROY].Load()}
}

// destroy calls the entry that destroys an object.
func (p *Plugin) destroy(n C.int, object unsafe.Pointer) error {
	err := call(p, n, &C.xp_object_args{of: object})
	if err == nil {
		alive[n].Add(-1)
	}
	return err
}

// text calls an entry that returns a text of an object.
func (p *Plugin) text(n C.int, of unsafe.Pointer) (string, error) {
	args := &C.xp_text_args{of: of}
	err := call(p, n, args)
	return text(args.text, args.text_size), err
}

// list calls an entry that returns the devices, or their descriptions, of an object.
func (p *Plugin) list(n C.int, of unsafe.Pointer) ([]unsafe.Pointer, error) {
	args := &C.xp_list_args{of: of}
	err := call(p, n, args)
	return slices.Clone(unsafe.Slice(args.list, args.size)), err
}

// platform returns the name and the version of the platform of a client or a topology.
func (p *Plugin) platform(name, version C.int, of unsafe.Pointer) (string, string, error) {
	n, err := p.text(name, of)
	if err != nil {
		return "", "", err
	}
	v, err := p.text(version, of)
	return n, v, err
}

// Attributes returns what the plugin says of itself, such as "stablehlo_current_version", an []int64.
func (p *Plugin) Attributes() (map[string]any, error) {
	args := &C.xp_plugin_attributes_args{}
	err := call(p, C.XP_PLUGIN_ATTRIBUTES, args)
	return values(args.attributes, args.num_attributes), err
}

// values copies named values of the plugin.
func values(first *C.xp_named_value, n C.size_t) map[string]any {
	all := map[string]any{}
	for _, v := range unsafe.Slice(first, n) {
		name, value := text(v.name, v.name_size), unsafe.Pointer(&v.value)
		switch v._type {
		case C.XP_STRING:
			all[name] = text(*(**C.char)(value), v.value_size)
		case C.XP_INT64:
			all[name] = *(*int64)(value)
		case C.XP_INT64_LIST:
			all[name] = slices.Clone(unsafe.Slice(*(**int64)(value), v.value_size))
		case C.XP_FLOAT:
			all[name] = *(*float32)(value)
		case C.XP_BOOL:
			all[name] = *(*bool)(value)
		}
	}
	return all
}

// namedValues is the reverse of values, in the order of the names. The memory is pinned.
func namedValues(pin *runtime.Pinner, options map[string]any) (*C.xp_named_value, C.size_t, error) {
	var all []C.xp_named_value
	for _, name := range slices.Sorted(maps.Keys(options)) {
		v := C.xp_named_value{struct_size: C.sizeof_xp_named_value, name: terminated(pin, name),
			name_size: C.size_t(len(name)), value_size: 1}
		value := unsafe.Pointer(&v.value)
		switch x := options[name].(type) {
		case string:
			v._type, v.value_size, *(**C.char)(value) = C.XP_STRING, C.size_t(len(x)), terminated(pin, x)
		case int:
			v._type, *(*int64)(value) = C.XP_INT64, int64(x)
		case int64:
			v._type, *(*int64)(value) = C.XP_INT64, x
		case []int64:
			v._type, v.value_size, *(**int64)(value) = C.XP_INT64_LIST, C.size_t(len(x)), pinned(pin, x)
		case float32:
			v._type, *(*float32)(value) = C.XP_FLOAT, x
		case bool:
			v._type, *(*bool)(value) = C.XP_BOOL, x
		default:
			return nil, 0, fmt.Errorf("option %q is a %T, wanted a string, bool, int, int64, []int64 or float32", name,
				x)
		}
		all = append(all, v)
	}
	return pinned(pin, all), C.size_t(len(all)), nil
}

// pinned pins the memory of a slice. It returns nil for an empty one.
func pinned[T any](pin *runtime.Pinner, x []T) *T {
	if len(x) == 0 {
		return nil
	}
	pin.Pin(&x[0])
	return &x[0]
}

// chars is pinned for bytes.
func chars(pin *runtime.Pinner, x []byte) *C.char { return (*C.char)(unsafe.Pointer(pinned(pin, x))) }

// terminated copies a text, with the zero at its end that older plugins may look for, and pins it.
func terminated(pin *runtime.Pinner, x string) *C.char { return chars(pin, append([]byte(x), 0)) }

// text copies a text of the plugin.
func text(p *C.char, n C.size_t) string { return C.GoStringN(p, C.int(n)) }

// extension returns the link of a type in the plugin's chain that has at least so many bytes, or nil.
func (p *Plugin) extension(kind C.int, bytes C.size_t) unsafe.Pointer {
	for e := (*C.xf_extension)(p.api.extension_start); e != nil; e = e.next {
		if e._type == kind && e.struct_size >= bytes {
			return unsafe.Pointer(e)
		}
	}
	return nil
}

// Register registers a kernel, an XLA FFI handler, for a platform: "Host" is the CPU. It returns false if the plugin
// takes none.
func (p *Plugin) Register(name, platform string, handler unsafe.Pointer) (bool, error) {
	ffi := (*C.xp_ffi_extension)(p.extension(C.XP_EXTENSION_FFI, C.sizeof_xp_ffi_extension))
	if ffi == nil || ffi.register_handler == nil {
		return false, nil
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	return true, callAt(p, unsafe.Pointer(ffi.register_handler), &C.xp_ffi_register_args{
		name: terminated(&pin, name), name_size: C.size_t(len(name)), handler: handler,
		platform: terminated(&pin, platform), platform_size: C.size_t(len(platform))})
}

// reader returns the link that reads serialized programs without a device, or nil.
func (p *Plugin) reader() *C.xp_tpu_executable_extension {
	return (*C.xp_tpu_executable_extension)(p.extension(C.XP_EXTENSION_TPU_EXECUTABLE,
		C.sizeof_xp_tpu_executable_extension))
}

// CanRead reports whether the plugin has ReadModule.
func (p *Plugin) CanRead() bool { r := p.reader(); return r != nil && r.hlo_module != nil }

// ReadModule returns the HloModuleProtoWithConfig in a serialized program.
func (p *Plugin) ReadModule(serialized []byte) ([]byte, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	args := &C.xp_tpu_read_args{serialized: chars(&pin, serialized), serialized_size: C.size_t(len(serialized))}
	if err := callAt(p, unsafe.Pointer(p.reader().hlo_module), args); err != nil {
		return nil, err
	}
	return copyAndDelete(args.text, args.text_size, args.deleter, args.object), nil
}

// copyAndDelete copies bytes that an object of the plugin owns, and deletes the object.
func copyAndDelete(bytes *C.char, n C.size_t, deleter *[0]byte, object unsafe.Pointer) []byte {
	out := slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(bytes)), n))
	if deleter != nil && object != nil {
		C.pj_call(unsafe.Pointer(deleter), object)
	}
	return out
}
