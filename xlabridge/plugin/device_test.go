package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDevice(t *testing.T) {
	for _, c := range []struct {
		number        int
		what          string
		backend, file string // below the root of a machine
		visible       bool
	}{
		{1, "a CPU is always there", "cpu", "", true},
		{2, "no GPU", "cuda", "", false},
		{3, "a GPU's control device", "cuda", "dev/nvidiactl", true},
		{4, "only the second GPU is given to a container", "cuda", "dev/nvidia1", true},
		{5, "the driver", "cuda", "proc/driver/nvidia/version", true},
		{6, "WSL", "cuda", "dev/dxg", true},
		{7, "something of that vendor, no GPU", "cuda", "dev/nvidia-modeset", false},
		{8, "no TPU", "tpu", "", false},
		{9, "a TPU", "tpu", "dev/accel0", true},
		{10, "a TPU behind vfio", "tpu", "dev/vfio/3", true},
		{11, "vfio without a device", "tpu", "dev/vfio/vfio", false},
		{12, "a GPU is no TPU", "tpu", "dev/nvidia0", false},
		{13, "no AMD GPU", "rocm", "dev/nvidia0", false},
		{14, "an AMD GPU", "rocm", "dev/kfd", true},
	} {
		root := t.TempDir()
		if c.file != "" {
			put(t, "", root, filepath.FromSlash(c.file))
		}
		err := deviceBelow(root, c.backend)
		if c.visible {
			require.NoError(t, err, "%d: %s", c.number, c.what)
			continue
		}
		require.ErrorIs(t, err, ErrNoDevice, "%d: %s", c.number, c.what)
		require.ErrorContains(t, err, "use --backend cpu", "%d: %s", c.number, c.what)
	}
}

// The driver's version chooses the plugin, and one that is too old for all is refused by a sentence.
func TestDriver(t *testing.T) {
	const tail = "  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 12.3.0\n"
	for _, c := range []struct {
		text, version string
		release       int
		refused       string
	}{
		{"", "", 13, ""},
		{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06" + tail, "580.65.06", 13, ""},
		{"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (d@b)" + tail,
			"570.86.15", 12, ""},
		{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05" + tail, "535.104.05", 12, ""},
		{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.182.03" + tail, "470.182.03", 12,
			"backend cuda: the NVIDIA driver 470.182.03 is too old: CUDA 12, which the plugin jax-cuda12-pjrt " +
				"0.12.0.1 " +
				"is built for, needs version 525 or newer: install a newer driver, or use --backend cpu"},
		{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  1000.1" + tail, "1000.1", 13, ""},
		{"nothing that is known\n", "", 13, ""},
		{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  99999999999999999999.1 x\n", "", 13, ""},
	} {
		root := t.TempDir()
		if c.text != "" {
			put(t, c.text, root, "proc", "driver", "nvidia", "version")
		}
		pins, err := loadPins()
		require.NoError(t, err)
		s := testStore(t, pins, nil)
		s.goos, s.goarch, s.driver = "linux", "amd64", func() Driver { return driverBelow(root) }
		require.Equal(t, c.version, s.driver().Version, "%s", c.text)
		pin, support, err := s.wheels("cuda")
		require.NoError(t, err)
		require.Equal(t, c.release, pin.Release, "%s", c.text)
		for _, w := range support {
			require.Equal(t, c.release, w.Release, "one process does not mix two releases")
		}
		if err := s.driverReady(); c.refused == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.refused)
		}
	}
}

// XLARUN_CUDA chooses the release, for a machine whose driver says nothing of the one that will compute.
func TestReleaseByVariable(t *testing.T) {
	pins, err := loadPins()
	require.NoError(t, err)
	for _, c := range []struct {
		value   string
		release int
		wrong   string
	}{
		{"", 13, ""}, {"12", 12, ""}, {"13", 13, ""},
		{"11", 0,
			`plugin: XLARUN_CUDA got "11", wants a release of CUDA that a plugin is pinned for, which are 13 and ` +
				"12: set it to one of them, or unset it"},
		{"new", 0, `plugin: XLARUN_CUDA got "new", wants`},
		{"0", 0, `plugin: XLARUN_CUDA got "0", wants`},
	} {
		s := testStore(t, pins, map[string]string{"XLARUN_CUDA": c.value})
		s.goos, s.goarch = "linux", "amd64"
		pin, _, err := s.wheels("cuda")
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong)
			_, err = s.list(background)
			require.ErrorContains(t, err, c.wrong, "the list says it too")
			_, err = s.find(background, Request{Backend: "cuda", Path: put(t, "", t.TempDir(), "p.so")})
			require.ErrorContains(t, err, c.wrong, "and so does a plugin of no known release")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.release, pin.Release, "%q", c.value)
	}
}

// What the machine lacks is said before anything is fetched, but not of a plugin that the user named.
func TestReadyIsAskedFirst(t *testing.T) {
	s, fetched := cudaWorld(t)
	sorry := errors.New("not today")
	_, err := s.find(background, Request{Backend: "cuda", Ready: func() error { return sorry }})
	require.ErrorIs(t, err, sorry)
	require.Empty(t, *fetched)
	_, err = os.Stat(s.Dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = s.find(background, Request{Backend: "cuda", Path: put(t, "", t.TempDir(), "p.so"),
		Ready: func() error { return sorry }})
	require.NoError(t, err)
	_, err = s.find(background, Request{Backend: "cuda", Ready: func() error { return nil }})
	require.NoError(t, err)
	require.Equal(t, []string{"plugin"}, *fetched)
}
