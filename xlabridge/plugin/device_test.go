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
