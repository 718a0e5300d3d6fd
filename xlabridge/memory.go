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

// Memory returns the memory that the program needs on one device.
func (e *Executable) Memory() (ProgramMemory, error) {
	if err := e.use(); err != nil {
		return ProgramMemory{}, err
	}
	defer e.h.release()
	if e.ahead != nil {
		return e.ahead.Memory, nil
	}
	m, err := e.client.lib.memoryOf(e.raw)
	if err != nil {
		err = fmt.Errorf("xlabridge: memory of program %s: %w", e.name, err)
	}
	return m, err
}

// memoryOf asks the plugin for the memory of a program.
func (l *library) memoryOf(raw *C.xp_executable) (ProgramMemory, error) {
	var args C.xp_executable_memory_args
	if err := l.takeError(C.xb_executable_memory(l.slot, raw, &args)); err != nil {
		return ProgramMemory{}, err
	}
	return ProgramMemory{
		Code:        int64(args.generated_code),
		Arguments:   int64(args.arguments),
		Outputs:     int64(args.outputs),
		Aliases:     int64(args.aliases),
		Temporaries: int64(args.temporaries),
		Peak:        int64(args.peak),
	}, nil
}

// Cost returns the compiler's counts of the program's work, by the compiler's names ("flops", "bytes accessed",
// "transcendentals", ...). A loop's body is counted once. Plugins without counts (CPU) return an error that wraps a
// PluginError of code 12.
func (e *Executable) Cost() (map[string]float64, error) {
	if err := e.use(); err != nil {
		return nil, err
	}
	defer e.h.release()
	if e.ahead != nil {
		return e.ahead.Cost, nil
	}
	cost, err := e.client.lib.costOf(e.raw)
	if err != nil {
		err = fmt.Errorf("xlabridge: cost of program %s: %w", e.name, err)
	}
	return cost, err
}

// costOf asks the plugin for the work of a program.
func (l *library) costOf(raw *C.xp_executable) (map[string]float64, error) {
	var args C.xp_cost_args
	if err := l.takeError(C.xb_cost(l.slot, raw, &args)); err != nil {
		return nil, err
	}
	cost := map[string]float64{}
	for i := range unsafe.Slice(args.properties, int(args.num_properties)) {
		property := (*C.xp_named_value)(unsafe.Add(unsafe.Pointer(args.properties),
			i*int(unsafe.Sizeof(*args.properties))))
		name := C.GoStringN(property.name, C.int(property.name_size))
		switch property._type {
		case C.XP_FLOAT:
			cost[name] = float64(C.xb_value_float(property))
		case C.XP_INT64:
			cost[name] = float64(C.xb_value_int64(property))
		}
	}
	return cost, nil
}

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

// Memory returns the memory use of a device, or on CPU of the process.
func (c *Client) Memory(device int) (DeviceMemory, error) {
	if device < 0 || device >= c.NumDevices() {
		return DeviceMemory{}, fmt.Errorf("xlabridge: memory of device %d, but there are %d (numbered from 0)", device,
			c.NumDevices())
	}
	if c.Platform() == "cpu" {
		return ProcessMemory()
	}
	if c.topology != nil {
		return DeviceMemory{Limit: int64(topologyMemory * float64(c.topology.Memory))}, nil
	}
	done, err := c.busy()
	if err != nil {
		return DeviceMemory{}, err
	}
	defer done()
	var args C.xp_device_memory_args
	if err := c.lib.takeError(C.xb_device_memory(c.lib.slot, c.devices[device], &args)); err != nil {
		return DeviceMemory{}, fmt.Errorf("xlabridge: memory of device %d: %w", device, err)
	}
	m := DeviceMemory{InUse: int64(args.bytes_in_use)}
	if args.peak_bytes_in_use_is_set {
		m.Peak = int64(args.peak_bytes_in_use)
	}
	if args.bytes_limit_is_set {
		m.Limit = int64(args.bytes_limit)
	}
	return m, nil
}

// topologyMemory is the part of a topology's device memory that programs may use. It is the plugin's default for GPUs.
const topologyMemory = .75
