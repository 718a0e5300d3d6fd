package xlabridge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
)

// fileFingerprint identifies the build of a plugin by its size, its first page and 127 pages spread evenly up to the
// last one. So it need not read hundreds of megabytes: another build moves code, which changes nearly all pages. The
// file's date and path are not part of it.
func fileFingerprint(path string) (string, error) {
	const page, samples = 4096, 128
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", info.Size())
	var buf [page]byte
	for i := range int64(samples) {
		at := max(0, info.Size()-page) * i / (samples - 1)
		n, err := f.ReadAt(buf[:], at)
		if err != nil && err != io.EOF {
			return "", err
		}
		h.Write(buf[:n])
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// hostFingerprint identifies the kind of CPU, because XLA compiles for the host's instructions.
var hostFingerprint = sync.OnceValue(func() string {
	return runtime.GOOS + "/" + runtime.GOARCH + "\n" + cpuKind()
})

// HostFingerprint identifies the kind of machine that programs are compiled for: system, architecture and CPU. It does
// not depend on the number of cores.
func HostFingerprint() string { return hostFingerprint() }

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
