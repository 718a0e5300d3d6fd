//go:build cgo

package xlabridge

import (
	"fmt"

	"xlarun/internal/hardware"
	"xlarun/xlabridge/internal/pjrt"
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
	if e.memory != nil {
		return *e.memory, nil
	}
	m, err := memoryOf(e.inner)
	if err != nil {
		err = fmt.Errorf("xlabridge: memory of program %s: %w", e.name, err)
	}
	return m, err
}

// memoryOf asks the plugin for the memory of a program.
func memoryOf(p *pjrt.Program) (ProgramMemory, error) {
	m, err := p.Memory()
	return ProgramMemory(m), err
}

// Memory returns the memory use of a device, or on CPU of the process.
func (c *Client) Memory(device int) (DeviceMemory, error) {
	if device < 0 || device >= c.NumDevices() {
		return DeviceMemory{}, fmt.Errorf("xlabridge: memory of device %d, but there are %d (numbered from 0)", device,
			c.NumDevices())
	}
	if c.Platform() == "cpu" {
		m, err := hardware.OfProcess()
		return DeviceMemory{InUse: m.InUse, Peak: m.Peak, Limit: m.Limit, Process: true}, err
	}
	if c.topology != nil {
		return DeviceMemory{Limit: int64(topologyMemory * float64(c.topology.Memory))}, nil
	}
	done, err := c.busy()
	if err != nil {
		return DeviceMemory{}, err
	}
	defer done()
	m, err := c.inner.Devices[device].Memory()
	if err != nil {
		return DeviceMemory{}, fmt.Errorf("xlabridge: memory of device %d: %w", device, err)
	}
	return DeviceMemory{InUse: m.InUse, Peak: m.Peak, Limit: m.Limit}, nil
}

// topologyMemory is the part of a topology's device memory that programs may use. It is the plugin's default for GPUs.
const topologyMemory = .75
