package plugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrNoDevice matches the error of [Device].
var ErrNoDevice = errors.New("no device")

// devices lists, for each backend, the files that the driver of its devices makes, as patterns.
var devices = map[string]struct {
	kind     string
	patterns []string
}{
	// The driver's control device, each GPU's device, the driver's version, and WSL's device.
	"cuda": {"NVIDIA GPU", []string{"/dev/nvidiactl", "/dev/nvidia[0-9]*", "/proc/driver/nvidia/version", "/dev/dxg"}},
	"tpu":  {"TPU", []string{"/dev/accel[0-9]*", "/dev/vfio/[0-9]*"}},
}

// Device returns an error if the machine lacks the device that a backend needs. It looks for the driver's files and
// opens none.
func Device(backend string) error { return deviceBelow("/", backend) }

// deviceBelow is Device with the machine's files below root.
func deviceBelow(root, backend string) error {
	device, ok := devices[backend]
	if !ok {
		return nil // a CPU is always there
	}
	for _, pattern := range device.patterns {
		if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) > 0 {
			return nil
		}
	}
	return deviceError{fmt.Errorf("backend %s: there is no %s on this machine (none of %s): use --backend cpu, or "+
		"make the device visible to this process", backend, device.kind, strings.Join(device.patterns, ", "))}
}

type deviceError struct{ error }

func (deviceError) Is(target error) bool { return target == ErrNoDevice }
