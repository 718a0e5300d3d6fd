package xlabridge

/*
#include "shim.h"
*/
import "C"

import "fmt"

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
