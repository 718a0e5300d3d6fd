package xlabridge

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ProgramMemory is the memory that a program needs on one device, in bytes, as computed by the compiler.
type ProgramMemory struct {
	// Code is the size of the machine code; some plugins report 0.
	Code int64 `json:"code"`
	// Arguments and Outputs are the sizes of the arguments and the results.
	Arguments int64 `json:"arguments"`
	Outputs   int64 `json:"outputs"`
	// Aliases is the size of the results that reuse donated arguments.
	Aliases int64 `json:"aliases"`
	// Temporaries is the size of all intermediate values.
	Temporaries int64 `json:"temporaries"`
	// Peak is the largest use at any time; 0 means not known.
	Peak int64 `json:"peak"`
}

// Total is the memory that must be free to run the program.
func (m ProgramMemory) Total() int64 {
	return m.Code + m.Arguments + m.Outputs - m.Aliases + m.Temporaries
}

// DeviceMemory is the use of a device's memory, in bytes.
type DeviceMemory struct {
	// InUse is the current use, Peak the largest since the start of the client, or on CPU of the process.
	InUse int64 `json:"in_use"`
	Peak  int64 `json:"peak"`
	// Limit is the available memory; 0 means not known.
	Limit int64 `json:"limit"`
	// Process reports that the numbers are of the whole process. On CPU, the devices share memory that the plugin does
	// not count.
	Process bool `json:"process"`
}

// ProcessMemory returns the process's resident memory and its peak. The limit is the memory of the machine or of the
// control group. Numbers that the kernel does not report are 0.
func ProcessMemory() (DeviceMemory, error) {
	m := DeviceMemory{Process: true}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return m, nil // not Linux
	}
	machine, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, err
	}
	for _, want := range []struct {
		text  []byte
		name  string
		value *int64
	}{
		{status, "VmRSS:", &m.InUse},
		{status, "VmHWM:", &m.Peak},
		{machine, "MemTotal:", &m.Limit},
	} {
		if *want.value, err = kilobytes(string(want.text), want.name); err != nil {
			return m, err
		}
	}
	m.Limit = min(m.Limit, memoryLimit("/"))
	return m, nil
}

// kilobytes returns the number in a line "name  123 kB", in bytes.
func kilobytes(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name && fields[2] == "kB" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("xlabridge: the kernel's figures have no line %s", name)
}
