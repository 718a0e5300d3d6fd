package plugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrNoDevice is wrapped by the error of [Device].
var ErrNoDevice = errors.New("no device")

// devices are the files by which a backend's driver offers its devices, as patterns, and what they are called.
var devices = map[string]struct {
	kind     string
	patterns []string
}{
	// The driver's control device, each GPU's own, the driver itself, and what WSL offers.
	"cuda": {"NVIDIA GPU", []string{"/dev/nvidiactl", "/dev/nvidia[0-9]*", "/proc/driver/nvidia/version", "/dev/dxg"}},
	"tpu":  {"TPU", []string{"/dev/accel[0-9]*", "/dev/vfio/[0-9]*"}},
}

// deviceVisible tells whether the backend's driver offers a device below root ("/"); a CPU is always there.
func deviceVisible(root, backend string) bool {
	known, ok := devices[backend]
	if !ok {
		return true
	}
	for _, pattern := range known.patterns {
		if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}

// Device is an error, one sentence, where the machine does not have the device that a backend is for. It looks for what
// the device's driver offers and opens nothing.
func Device(backend string) error { return deviceBelow("/", backend) }

func deviceBelow(root, backend string) error {
	if deviceVisible(root, backend) {
		return nil
	}
	return deviceError{fmt.Errorf("backend %s: there is no %s on this machine (none of %s): use --backend cpu, or "+
		"make the device visible to this process",
		backend, devices[backend].kind, strings.Join(devices[backend].patterns, ", "))}
}

type deviceError struct{ error }

func (e deviceError) Unwrap() error        { return e.error }
func (e deviceError) Is(target error) bool { return target == ErrNoDevice }
