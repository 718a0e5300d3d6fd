package plan

import (
	"slices"

	"xlarun/internal/hardware"
	"xlarun/xlabridge"
)

// Machine describes the devices, for plans.
type Machine struct {
	Devices     int   // 0: unknown
	Cores       int   // that can run tiles at the same time, whatever the number of devices; 0: 1
	Free        int64 // free bytes of all devices together; 0: unknown
	Accelerator bool  // devices that need many members at a time
	CPU         bool  // devices are cores
}

// MachineOf returns the machine of a backend's first n devices (0: all).
func MachineOf(b xlabridge.Backend, n int) Machine {
	m := OfKind(b.Backend())
	m.Devices, m.Free = b.NumDevices(), FreeOn(b, n)
	return m
}

// Expected returns what is known of the machine before a backend of a kind ("cpu", "cuda", …) is opened with n devices
// (0: unknown).
func Expected(kind string, n int) Machine {
	m := OfKind(kind)
	m.Devices = n
	if m.CPU || kind == reference {
		m.Free = hardware.FreeMemory()
	}
	return m
}

const reference = "reference"

// accelerators are the kinds of backends whose devices need many members at a time.
var accelerators = []string{"cuda", "rocm", "tpu"}

// OfKind returns what the kind of a backend tells of its machine: all but its devices and what is free, which takes a
// millisecond to find out.
func OfKind(kind string) Machine {
	m := Machine{CPU: kind == "cpu", Accelerator: slices.Contains(accelerators, kind)}
	if m.CPU {
		m.Cores = Cores()
	}
	return m
}
