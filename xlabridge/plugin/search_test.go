package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackendOfName(t *testing.T) {
	for base, want := range map[string]string{
		"pjrt_c_api_cpu_plugin.so":  "cpu",
		"pjrt_c_api_cuda_plugin.so": "cuda",
		"pjrt_c_api_gpu_plugin.so":  "cuda",
		"pjrt_c_api_tpu_plugin.so":  "tpu",
		"pjrt-plugin-cpu.so":        "cpu",
		"pjrt_plugin_xla_cpu.so":    "cpu",
		"xla_cuda_plugin.so":        "cuda",
		"xla_cpu_pjrt.so":           "cpu",
		"libtpu.so":                 "tpu",
		"pjrt_c_api_rocm_plugin.so": "rocm",
		"libcudnn.so.9":             "",
		"my.so":                     "",
		"pjrt_c_api_cpu_plugin.txt": "",
	} {
		require.Equal(t, want, backendOfName(base), base)
	}
}

// put writes a file with its folders and returns its path.
func put(t *testing.T, text string, names ...string) string {
	t.Helper()
	path := filepath.Join(names...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The order is the given path, the environment, the cache.
func TestFindOrder(t *testing.T) {
	dir := t.TempDir()
	cpu := put(t, "one", dir, "a", "pjrt_c_api_cpu_plugin.so")
	cuda := put(t, "two", dir, "a", "xla_cuda_plugin.so")
	odd := put(t, "three", dir, "b", "my.so")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	list := func(paths ...string) string { return strings.Join(paths, string(os.PathListSeparator)) }
	for _, c := range []struct {
		name, backend, path, env string
		want                     string // path; "" means the cache
		source                   Source
	}{
		{"flag wins", "cpu", odd, cpu, odd, SourceFlag},
		{"flag names a folder", "cuda", filepath.Join(dir, "a"), "", cuda, SourceFlag},
		{"environment names a file", "cpu", "", cpu, cpu, SourceEnv},
		{"environment names a folder", "cpu", "", filepath.Join(dir, "a"), cpu, SourceEnv},
		{"environment names several", "cuda", "", list("", filepath.Join(dir, "empty"), filepath.Join(dir, "none"), cpu,
			cuda), cuda, SourceEnv},
		{"a file of any name", "cpu", "", odd, odd, SourceEnv},
		{"another backend's file", "cpu", "", cuda, "", SourceInstalled},
		{"nothing there", "cpu", "", filepath.Join(dir, "empty"), "", SourceInstalled},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := ix.env()
			env[EnvPath] = c.env
			s := testStore(t, pinSet{pinFor(body)}, env)
			found, err := s.find(background, Request{Backend: c.backend, Path: c.path})
			require.NoError(t, err)
			require.Equal(t, c.source, found.Source)
			if c.want == "" {
				require.Equal(t, listed(t, s)[0].Path, found.Path)
				return
			}
			require.Equal(t, c.want, found.Path)
			text, err := os.ReadFile(c.want)
			require.NoError(t, err)
			require.Equal(t, sumOf(text), found.SHA256)
			require.Empty(t, found.Name)
		})
	}
}

func TestFindBadPath(t *testing.T) {
	dir := t.TempDir()
	s := testStore(t, nil, nil)
	for _, c := range []struct{ name, path, env, want string }{
		{"no file", filepath.Join(dir, "no.so"), "", "plugin: --plugin names " + dir + "/no.so, which cannot be " +
			"opened (no such file or directory): give the path of a PJRT plugin's .so file"},
		{"folder without one", dir, "", "which holds no cpu plugin (such as pjrt_c_api_cpu_plugin.so)"},
		{"device", os.DevNull, "", "is no regular file"},
		{"no file in the environment", "", filepath.Join(dir, "no.so"), "plugin: PJRT_PLUGIN_LIBRARY_PATH names " +
			dir + "/no.so, which cannot be opened (no such file or directory): correct or unset it"},
		{"device in the environment", "", os.DevNull, "PJRT_PLUGIN_LIBRARY_PATH names /dev/null, which is no " +
			"regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.getenv = func(string) string { return c.env }
			_, err := s.find(background, Request{Path: c.path})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A named plugin is read once, and again only after it changed.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	path := put(t, "plugin", dir, "p.so")
	s := testStore(t, nil, nil)
	sum, err := s.checksum(background, path)
	require.NoError(t, err)
	require.Equal(t, sumOf([]byte("plugin")), sum)

	// A record that says otherwise is believed: the file was not read.
	records, err := filepath.Glob(filepath.Join(s.Dir, "known", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 1)
	text, err := os.ReadFile(records[0])
	require.NoError(t, err)
	marked := strings.Repeat("ab", 32)
	require.NoError(t, os.WriteFile(records[0], []byte(strings.Replace(string(text), sum, marked, 1)), 0o600))
	again, err := s.checksum(background, path)
	require.NoError(t, err)
	require.Equal(t, marked, again)

	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(path, later, later))
	again, err = s.checksum(background, path)
	require.NoError(t, err)
	require.Equal(t, sum, again)

	// Another file under the same name, of the same size and time.
	other := put(t, "nigulp", dir, "other.so")
	require.NoError(t, os.Chtimes(other, later, later))
	require.NoError(t, os.Rename(other, path))
	again, err = s.checksum(background, path)
	require.NoError(t, err)
	require.Equal(t, sumOf([]byte("nigulp")), again)

	// A broken record, and a store that cannot be written, cost time only.
	require.NoError(t, os.WriteFile(records[0], []byte("{"), 0o600))
	_, err = s.checksum(background, path)
	require.NoError(t, err)
	file := put(t, "", dir, "file")
	again, err = storeIn(filepath.Join(file, "plugins"), nil, nil).checksum(background, path)
	require.NoError(t, err)
	require.Equal(t, sumOf([]byte("nigulp")), again)
}

// The plugin of a pinned wheel is known by its checksum wherever it lies.
func TestGivenPluginIsRecognised(t *testing.T) {
	pin := pinFor([]byte("x"))
	pin.LibrarySHA256 = sumOf([]byte("plugin"))
	s := testStore(t, pinSet{pin}, nil)
	found, err := s.find(background, Request{Path: put(t, "plugin", t.TempDir(), "p.so")})
	require.NoError(t, err)
	require.Equal(t, "Fake.pjrt", found.Name)
	require.Equal(t, "1.2", found.Version)
}
