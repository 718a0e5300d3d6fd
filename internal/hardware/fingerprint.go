package hardware

import (
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Fingerprint identifies the kind of machine that programs are compiled for: system, architecture and CPU, for whose
// instructions XLA compiles. It does not depend on the number of cores.
var Fingerprint = sync.OnceValue(func() string {
	return runtime.GOOS + "/" + runtime.GOARCH + "\n" + cpuKind()
})

// cpuKind returns the kernel's description of the first processor, without the fields that change over time or between
// sockets. It reads only the start of the file: on a machine with many cores, the rest takes the kernel milliseconds.
func cpuKind() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	head := make([]byte, 16<<10)
	n, _ := io.ReadFull(f, head)
	first, _, _ := strings.Cut(string(head[:n]), "\n\n")
	var kept []string
	for line := range strings.Lines(first) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.TrimSpace(name) {
		case "vendor_id", "cpu family", "model", "stepping", "flags",
			"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features":
			if ok {
				kept = append(kept, strings.TrimSpace(value))
			}
		}
	}
	return strings.Join(kept, "\n")
}
