package xlabridge

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"xlarun/xlabridge/internal/pjrt"
)

// PluginError is an error that the plugin reported: Code is the canonical status code (3 invalid argument, 8 resource
// exhausted, 12 unimplemented, ...), Message the plugin's text, which may have several lines.
type PluginError = pjrt.Error

// OutOfMemoryError is the error of a program that the memory of a device is too small for.
type OutOfMemoryError struct {
	Backend, Program string
	// Need is what the program takes on a device, Have what the device has, in bytes; 0: not known.
	Need, Have int64
	Plugin     *PluginError
}

// Error says in one sentence what is needed.
func (e *OutOfMemoryError) Error() string {
	words, _, _ := strings.Cut(e.Plugin.Message, "\n")
	sizes := ""
	if e.Need > 0 && e.Have > 0 {
		sizes = fmt.Sprintf(": it needs %s on a device, and there are %s", gigabytes(e.Need), gigabytes(e.Have))
	}
	return fmt.Sprintf("backend %s: out of memory for program %s%s (the plugin says: %s)", e.Backend, e.Program, sizes,
		strings.TrimRight(words, ". "))
}

// Unwrap returns the plugin's error.
func (e *OutOfMemoryError) Unwrap() error { return e.Plugin }

func gigabytes(n int64) string { return fmt.Sprintf("%.3g GB", float64(n)/1e9) }

// outOfMemory returns the OutOfMemoryError of a program that the plugin did not compile or run. It returns nil for
// other errors.
func (c *Client) outOfMemory(program string, err error, e *Executable) error {
	words, ok := errors.AsType[*PluginError](err)
	if !ok || words.Code != pjrt.ResourceExhausted {
		return nil
	}
	out := &OutOfMemoryError{Backend: c.Backend(), Program: program, Plugin: words}
	if out.Need, out.Have = sizesOf(words.Message); out.Need > 0 {
		return out
	}
	if m, err := c.Memory(0); err == nil && !m.Process {
		out.Have = m.Limit
	}
	if e == nil {
		return out
	}
	if m, err := e.Memory(); err == nil {
		out.Need = m.Total()
	}
	return out
}

// spaceOfTPU matches what the compiler for TPUs says of a program that does not fit.
var spaceOfTPU = regexp.MustCompile(`Used ([\d.]+)([KMGT]?) of ([\d.]+)([KMGT]?) hbm`)

// sizesOf returns the bytes that a program needs and those of the device, from the plugin's words; 0: they do not say.
func sizesOf(message string) (need, have int64) {
	m := spaceOfTPU.FindStringSubmatch(message)
	if m == nil {
		return 0, 0
	}
	size := func(number, unit string) int64 {
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0
		}
		power := 0
		if unit != "" {
			power = 1 + strings.Index("KMGT", unit)
		}
		return int64(math.Ldexp(x, 10*power))
	}
	return size(m[1], m[2]), size(m[3], m[4])
}

// Words of plugins about a device that cannot be used, from XLA's sources (stream_executor/cuda,
// pjrt/gpu/gpu_helpers.cc, service/platform_util.cc), NVIDIA's driver API and libtpu.
var (
	wordsOfNoDevice = []string{"No visible GPU devices", "no supported devices found for platform",
		"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device", "No TPU platform available", "No TPU Platform available",
		"No TPU devices found"}
	wordsOfOldDriver = []string{"does not match DSO version", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
		"Possibly insufficient driver version", "CUDA driver version is insufficient",
		"CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}
	wordsOfFullDevice = []string{"CUDA_ERROR_OUT_OF_MEMORY", "HIP_ERROR_OutOfMemory", "out of memory"}
	wordsOfBusyDevice = []string{"The TPU is already in use"}
)

// deviceError returns one sentence for a client that the plugin did not make. reason is the plugin's error, and chatter
// what it wrote meanwhile.
func deviceError(backend, reason, chatter string) error {
	reason = strings.TrimRight(reason, ".; \n")
	lineWith := func(words []string) string {
		for _, w := range words {
			for line := range strings.Lines(reason + "\n" + chatter) {
				if strings.Contains(line, w) {
					return strings.TrimSpace(line)
				}
			}
		}
		return ""
	}
	if line := lineWith(wordsOfOldDriver); line != "" {
		return fmt.Errorf("backend %s: the device's driver is too old for the plugin, or another one than its library "+
			"(%s): install a newer driver, restart after its update, or use --backend cpu", backend, line)
	}
	if line := lineWith(wordsOfFullDevice); line != "" {
		less := ""
		if limitsMemory(backend) {
			less = ", or take less with --memory-fraction 0.3 or --preallocate=false"
		}
		return fmt.Errorf("backend %s: the device has too little free memory (%s): end other programs on it%s", backend,
			line, less)
	}
	if line := lineWith(wordsOfBusyDevice); line != "" {
		return fmt.Errorf("backend %s: another program uses the device (%s): end that program, or use --backend cpu",
			backend, line)
	}
	if line := lineWith(wordsOfNoDevice); line != "" {
		return fmt.Errorf("backend %s: the plugin finds no device (%s): make one visible to this process, or use "+
			"--backend cpu", backend, line)
	}
	return fmt.Errorf("backend %s: %s; use --backend cpu, or make the device visible to this process", backend, reason)
}
