package plan

import "xlarun/xlabridge"

// Machine is what a plan has to know of the devices.
type Machine struct {
	Devices     int   // that programs can run on; 0: not known yet
	Cores       int   // that tiles could play on at the same time, however many devices there are; 0: 1
	Free        int64 // bytes that are free on all of them together; 0: not known
	Accelerator bool  // devices that want many members at a time, and not cores
	CPU         bool  // devices are cores
}

// MachineOf is what a backend runs on, as far as its first n devices (0: all) go.
func MachineOf(b xlabridge.Backend, n int) Machine {
	m := machineOfKind(b.Backend())
	m.Devices, m.Free = b.NumDevices(), FreeOn(b, n)
	return m
}

// Expected is the machine that a backend of a kind ("cpu", "cuda", …) will have, as far as that can be told before it
// is opened: n is the number of devices that it will be opened with, 0 where that is not known.
func Expected(kind string, n int) Machine {
	m := machineOfKind(kind)
	m.Devices = n
	if m.CPU || kind == reference {
		m.Free = FreeMemory()
	}
	return m
}

const reference = "reference"

func machineOfKind(kind string) Machine {
	m := Machine{CPU: kind == "cpu", Accelerator: kind == "cuda" || kind == "tpu"}
	if m.CPU {
		m.Cores = Cores()
	}
	return m
}
