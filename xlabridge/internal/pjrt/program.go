package pjrt

/*
#include "pjrt.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Program is a compiled program.
type Program struct {
	Replicas int // devices that run it together
	Outputs  int // results on each device

	plugin     *Plugin
	loaded     *C.xp_loaded // nil for a program of a topology
	executable *C.xp_executable
}

// program returns the plugin's structure of a StableHLO module.
func program(pin *runtime.Pinner, code []byte) *C.xp_program {
	const format = "mlir"
	p := &C.xp_program{struct_size: C.sizeof_xp_program, code: chars(pin, code), code_size: C.size_t(len(code)),
		format: terminated(pin, format), format_size: C.size_t(len(format))}
	pin.Pin(p)
	return p
}

// Compile compiles a StableHLO module, as text or bytecode, for so many replicas. options are a CompileOptionsProto.
func (c *Client) Compile(code, options []byte, replicas int) (*Program, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	args := &C.xp_compile_args{client: c.raw, program: program(&pin, code), compile_options: chars(&pin, options),
		compile_options_size: C.size_t(len(options))}
	if err := call(c.Plugin, C.XP_CLIENT_COMPILE, args); err != nil {
		return nil, err
	}
	return c.wrap(args.executable, replicas)
}

// Load loads a serialized program.
func (c *Client) Load(serialized []byte, replicas int) (*Program, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	args := &C.xp_deserialize_args{client: c.raw, bytes: chars(&pin, serialized),
		bytes_size: C.size_t(len(serialized))}
	if err := call(c.Plugin, C.XP_DESERIALIZE_AND_LOAD, args); err != nil {
		return nil, err
	}
	return c.wrap(args.loaded, replicas)
}

// wrap returns a loaded program.
func (c *Client) wrap(loaded *C.xp_loaded, replicas int) (*Program, error) {
	p := &Program{Replicas: replicas, plugin: c.Plugin, loaded: loaded}
	alive[C.XP_LOADED_DESTROY].Add(1)
	args := &C.xp_loaded_executable_args{loaded: loaded}
	if err := call(c.Plugin, C.XP_LOADED_EXECUTABLE, args); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.executable = args.executable
	alive[C.XP_EXECUTABLE_DESTROY].Add(1)
	return p.readOutputs()
}

// SerializeLoaded is Serialize for a loaded program that is another's.
func (c *Client) SerializeLoaded(loaded unsafe.Pointer) ([]byte, error) {
	args := &C.xp_loaded_executable_args{loaded: (*C.xp_loaded)(loaded)}
	if err := call(c.Plugin, C.XP_LOADED_EXECUTABLE, args); err != nil {
		return nil, err
	}
	p := &Program{plugin: c.Plugin, executable: args.executable}
	alive[C.XP_EXECUTABLE_DESTROY].Add(1)
	defer func() { _ = p.Close() }()
	return p.Serialize()
}

// Unwrap closes all but the plugin's loaded program, which is the caller's then.
func (p *Program) Unwrap() (loaded unsafe.Pointer) {
	loaded, p.loaded = unsafe.Pointer(p.loaded), nil
	alive[C.XP_LOADED_DESTROY].Add(-1)
	_ = p.Close()
	return loaded
}

// readOutputs sets the number of results.
func (p *Program) readOutputs() (*Program, error) {
	args := &C.xp_num_outputs_args{executable: p.executable}
	if err := call(p.plugin, C.XP_EXECUTABLE_NUM_OUTPUTS, args); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Outputs = int(args.num_outputs)
	return p, nil
}

// Serialize returns the program as bytes for Load.
func (p *Program) Serialize() ([]byte, error) { return p.bytes(C.XP_EXECUTABLE_SERIALIZE) }

// Options returns the CompileOptionsProto that the program was compiled with, with all of the plugin's defaults.
func (p *Program) Options() ([]byte, error) { return p.bytes(C.XP_EXECUTABLE_COMPILE_OPTIONS) }

func (p *Program) bytes(n C.int) ([]byte, error) {
	args := &C.xp_serialize_args{executable: p.executable}
	if err := call(p.plugin, n, args); err != nil {
		return nil, err
	}
	return copyAndDelete(args.bytes, args.bytes_size, args.deleter, args.object), nil
}

// ProgramMemory is what a program needs on a device, in bytes.
type ProgramMemory struct{ Code, Arguments, Outputs, Aliases, Temporaries, Peak int64 }

// Memory returns what the compiler computed.
func (p *Program) Memory() (ProgramMemory, error) {
	args := &C.xp_executable_memory_args{executable: p.executable}
	err := call(p.plugin, C.XP_EXECUTABLE_MEMORY_STATS, args)
	return ProgramMemory{int64(args.generated_code), int64(args.arguments), int64(args.outputs), int64(args.aliases),
		int64(args.temporaries), int64(args.peak)}, err
}

// Cost returns the compiler's counts of the work, by its names.
func (p *Program) Cost() (map[string]float64, error) {
	args := &C.xp_cost_args{executable: p.executable}
	if err := call(p.plugin, C.XP_EXECUTABLE_COST, args); err != nil {
		return nil, err
	}
	cost := map[string]float64{}
	for name, n := range values(args.properties, args.num_properties) {
		switch n := n.(type) {
		case float32:
			cost[name] = float64(n)
		case int64:
			cost[name] = float64(n)
		}
	}
	return cost, nil
}

// Optimized returns the program after the compiler's passes, in the format "hlo", "hlo_with_config" or "mlir".
func (p *Program) Optimized() (format string, code []byte, err error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	out := &C.xp_program{struct_size: C.sizeof_xp_program}
	pin.Pin(out)
	args := &C.xp_optimized_args{executable: p.executable, program: out}
	if err = call(p.plugin, C.XP_EXECUTABLE_OPTIMIZED, args); err == nil && out.code_size > 0 { // it was the size only
		code = make([]byte, out.code_size)
		out.code = chars(&pin, code)
		err = call(p.plugin, C.XP_EXECUTABLE_OPTIMIZED, args)
	}
	if err != nil {
		return "", nil, err
	}
	return text(out.format, out.format_size), code, nil
}

// Close destroys the program.
func (p *Program) Close() error {
	var errs [2]error
	if p.executable != nil {
		errs[0] = p.plugin.destroy(C.XP_EXECUTABLE_DESTROY, unsafe.Pointer(p.executable))
	}
	if p.loaded != nil {
		errs[1] = p.plugin.destroy(C.XP_LOADED_DESTROY, unsafe.Pointer(p.loaded))
	}
	return errors.Join(errs[:]...)
}

// Execute runs the program and waits for all of its devices. args are flat, [replica][argument]; donate says of each
// argument of a replica whether it is given away. device is that of the arguments of a program with one replica. The
// results are flat, [replica][output].
func (p *Program) Execute(device *Device, args []*Buffer, donate []bool) ([]*Buffer, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	devices, perDevice, outputs := p.Replicas, len(args)/p.Replicas, p.Replicas*p.Outputs
	// All addresses are in one array: the lists of arguments and results of each device, then those and the events.
	ins := 2 * devices
	outs := ins + len(args)
	events := outs + outputs
	all := make([]unsafe.Pointer, events+devices)
	pin.Pin(&all[0])
	for d := range devices {
		all[d] = unsafe.Pointer(&all[ins+d*perDevice])
		all[devices+d] = unsafe.Pointer(&all[outs+d*p.Outputs])
	}
	for i, b := range args {
		all[ins+i] = unsafe.Pointer(b.raw)
	}
	kept := make([]C.int64_t, 0, perDevice)
	for i := range perDevice {
		if !donate[i] {
			kept = append(kept, C.int64_t(i))
		}
	}
	var run struct {
		args    C.xp_execute_args
		options C.xp_execute_options
	}
	pin.Pin(&run)
	run.options = C.xp_execute_options{struct_size: C.sizeof_xp_execute_options, kept: pinned(&pin, kept),
		num_kept: C.size_t(len(kept))}
	run.args = C.xp_execute_args{loaded: p.loaded, options: &run.options, num_devices: C.size_t(devices),
		num_args:  C.size_t(perDevice),
		arguments: (***C.xp_buffer)(unsafe.Pointer(&all[0])), outputs: (***C.xp_buffer)(unsafe.Pointer(&all[devices])),
		complete: (**C.xp_event)(unsafe.Pointer(&all[events]))}
	if devices == 1 {
		run.args.device = device.raw
	}
	if err := call(p.plugin, C.XP_LOADED_EXECUTE, &run.args); err != nil {
		return nil, err
	}
	var failed error
	for _, event := range all[events:] {
		if err := p.plugin.wait((*C.xp_event)(event)); failed == nil {
			failed = err
		}
	}
	alive[C.XP_BUFFER_DESTROY].Add(int64(outputs))
	results := make([]*Buffer, outputs)
	for i := range results {
		results[i] = &Buffer{p.plugin, (*C.xp_buffer)(all[outs+i])}
	}
	if failed != nil {
		for _, b := range results {
			_ = b.Close()
		}
		return nil, failed
	}
	return results, nil
}
