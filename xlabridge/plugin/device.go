package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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
	// AMD's driver makes one file for all GPUs.
	"rocm": {"AMD GPU", []string{"/dev/kfd"}},
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

// Driver is the version of NVIDIA's driver.
type Driver struct {
	Version string // "535.104.05"; "" if it is not known
	Major   int    // 535
}

// driverFile is where the driver's kernel module says its version. WSL has no such file.
const driverFile = "/proc/driver/nvidia/version"

// versionOfDriver matches the version in the first line of driverFile: "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 535.104.05  Sat Aug 19 01:15:15 UTC 2023", or of the open module "… Open Kernel Module for x86_64  570.86.15  …".
var versionOfDriver = regexp.MustCompile(`NVRM version: .*?\s((\d{3,})\.\d+(?:\.\d+)?)\s`)

// driverBelow returns the version of NVIDIA's driver on a machine with its files below root.
func driverBelow(root string) Driver {
	text, err := os.ReadFile(filepath.Join(root, driverFile))
	if err != nil {
		return Driver{}
	}
	m := versionOfDriver.FindStringSubmatch(string(text))
	if m == nil {
		return Driver{}
	}
	major, err := strconv.Atoi(m[2])
	if err != nil {
		return Driver{}
	}
	return Driver{m[1], major}
}

// DriverReady returns an error if NVIDIA's driver is too old for all pinned plugins of cuda.
func DriverReady() error {
	s, err := openStore()
	if err != nil {
		return err
	}
	return s.driverReady()
}

func (s *store) driverReady() error {
	d := s.driver()
	pin, _, err := s.wheels("cuda")
	if err != nil || pin == nil || d.Major == 0 || d.Major >= pin.Driver {
		return err
	}
	return fmt.Errorf("backend cuda: the NVIDIA driver %s is too old: CUDA %d, which the plugin %s is built for, "+
		"needs version %d or newer: install a newer driver, or use --backend cpu", d.Version, pin.Release, pin.Label(),
		pin.Driver)
}

type deviceError struct{ error }

func (deviceError) Is(target error) bool { return target == ErrNoDevice }
