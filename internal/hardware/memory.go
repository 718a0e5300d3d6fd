// Package hardware tells what this machine is: its processor, and its memory as far as the process may use it.
package hardware

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is the use of memory by the process, in bytes.
type Memory struct {
	// InUse is the resident memory, and Peak the most that it has been.
	InUse, Peak int64
	// Limit is the memory of the machine or of the control group.
	Limit int64
}

// OfProcess returns the memory of this process. Numbers that the kernel does not report are 0.
func OfProcess() (m Memory, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return m, nil // not Linux
	}
	whole, err := os.ReadFile("/proc/meminfo")
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
		{whole, "MemTotal:", &m.Limit},
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
	return 0, fmt.Errorf("the kernel's figures have no line %s", name)
}
