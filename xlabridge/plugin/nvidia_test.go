package plugin

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

// cudaWorld is a store whose CUDA plugin and supporting wheels are made up.
// fetched names what was downloaded.
func cudaWorld(t *testing.T) (s *store, fetched *[]string) {
	t.Helper()
	plugin := buildWheel(t, []entry{{name: "jax_plugins/xla_cuda13/xla_cuda_plugin.so", text: "plugin"}})
	runtime := buildWheel(t, []entry{
		{name: "nvidia/cu13/lib/libcudart.so.13", text: "cudart"},
		{name: "nvidia/cu13/lib/libcudart_static.a", text: "not wanted"},
		{name: "nvidia_runtime-1.dist-info/licenses/License.txt", text: "theirs"},
	})
	compiler := buildWheel(t, []entry{
		{name: "nvidia/cu13/bin/ptxas", text: "ptxas"},
		{name: "nvidia/cu13/nvvm/libdevice/libdevice.10.bc", text: "libdevice"},
	})
	cudnn := buildWheel(t, []entry{
		{name: "nvidia/cudnn/lib/libcudnn.so.9", text: "cudnn"},
		{name: "nvidia/cudnn/lib/libcudnn_ops.so.9", text: "ops"},
	})
	bodies := map[string][]byte{"plugin": plugin, "runtime": runtime, "compiler": compiler, "cudnn": cudnn}
	pin := func(name string, w wheel) wheel {
		w.Backend, w.OS, w.Arch, w.Name, w.Version, w.File = "cuda", "testos", "testarch", name, "1", name+".whl"
		w.SHA256, w.Size, w.Unpacked = sumOf(bodies[name]), int64(len(bodies[name])), 1<<10
		return w
	}
	pins := pinSet{
		pin("plugin", wheel{Library: "jax_plugins/xla_cuda13/xla_cuda_plugin.so"}),
		pin("runtime", wheel{Files: []string{"nvidia/cu13/lib/libcudart.so.*"}, Preload: []string{
			"nvidia/cu13/lib/libcudart.so.13"}}),
		pin("compiler", wheel{Files: []string{"nvidia/cu13/bin/ptxas", "nvidia/cu13/nvvm/libdevice/*"}}),
		pin("cudnn", wheel{Files: []string{"nvidia/cudnn/lib/*.so.9"}, Preload: []string{
			"nvidia/cudnn/lib/libcudnn.so.9"}}),
	}
	fetched = new([]string)
	s = testStore(t, pins, nil)
	s.sources = func() []fetch.Source {
		return []fetch.Source{{Name: "map", Get: func(_ context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
			*fetched = append(*fetched, a.Name)
			_, err := dst.Write(bodies[a.Name])
			return err
		}}}
	}
	return s, fetched
}

func TestCUDAWithoutGPU(t *testing.T) {
	s, fetched := cudaWorld(t)
	found, err := s.find(background, Request{Backend: "cuda"})
	require.NoError(t, err)
	require.Equal(t, []string{"plugin"}, *fetched)
	require.Empty(t, found.Libraries)
	require.Empty(t, found.CUDADataDir)
	require.False(t, listed(t, s)[0].SupportInstalled)
}

func TestCUDAWithGPU(t *testing.T) {
	s, fetched := cudaWorld(t)
	_, err := s.find(background, Request{Backend: "cuda"})
	require.NoError(t, err)
	s.visible = func(string) bool { return true }
	var done, total int64
	found, err := s.find(background, Request{Backend: "cuda", Progress: func(d, n int64) { done, total = d, n }})
	require.NoError(t, err)
	require.Equal(t, []string{"plugin", "runtime", "compiler", "cudnn"}, *fetched, "the plugin was there already")
	require.Equal(t, s.pins[1].Size+s.pins[2].Size+s.pins[3].Size, total)
	require.Equal(t, total, done)
	site := s.site(&s.pins[0])
	require.Equal(t, []string{
		filepath.Join(site, "nvidia/cu13/lib/libcudart.so.13"), filepath.Join(site, "nvidia/cudnn/lib/libcudnn.so.9"),
	}, found.Libraries)
	require.Equal(t, []string{filepath.Join(site, "nvidia/cu13/lib"), filepath.Join(site, "nvidia/cudnn/lib")},
		found.LibraryDirs)
	require.Equal(t, filepath.Join(site, "nvidia/cu13"), found.CUDADataDir)
	require.NotContains(t, filesBelow(t, site), "nvidia/cu13/lib/libcudart_static.a")
	require.Contains(t, filesBelow(t, site), "nvidia_runtime-1.dist-info/licenses/License.txt")

	again, err := s.find(background, Request{Backend: "cuda", Offline: true})
	require.NoError(t, err)
	require.Equal(t, SourceCache, again.Source)
	require.Equal(t, found.Libraries, again.Libraries)

	// The same files, named by the user.
	given, err := s.find(background, Request{Backend: "cuda", Path: found.Path})
	require.NoError(t, err)
	require.Equal(t, found.Libraries, given.Libraries)
	require.Equal(t, found.CUDADataDir, given.CUDADataDir)

	// One supporting wheel lost is one wheel fetched.
	*fetched = nil
	require.NoError(t, removeFile(found.Libraries[1]))
	_, err = s.find(background, Request{Backend: "cuda", Offline: true})
	require.ErrorContains(t, err, "cudnn 1, which the cuda backend runs on, is damaged")
	_, err = s.find(background, Request{Backend: "cuda"})
	require.NoError(t, err)
	require.Equal(t, []string{"cudnn"}, *fetched)
}

// A machine without a GPU installs NVIDIA's libraries for one that has no network.
func TestLibrariesWithoutGPU(t *testing.T) {
	s, fetched := cudaWorld(t)
	s.visible = func(string) bool { return true } // what Install does with libraries
	_, err := s.install(background, Request{Backend: "cuda", Ahead: true})
	require.NoError(t, err)
	require.Equal(t, []string{"plugin", "runtime", "compiler", "cudnn"}, *fetched)
	s.visible = func(string) bool { return false }
	require.True(t, listed(t, s)[0].SupportInstalled)
}

func TestCUDAOfTheSystem(t *testing.T) {
	s, fetched := cudaWorld(t)
	dir := t.TempDir()
	s.getenv = func(key string) string {
		return map[string]string{"CUDA_HOME": filepath.Join(dir, "cuda"), "LD_LIBRARY_PATH": filepath.Join(dir,
			"lib")}[key]
	}
	s.visible = func(string) bool { return true }
	s.systemCUDA = (*store).cudaOnSystem
	put(t, "libdevice", dir, "cuda", "nvvm", "libdevice", "libdevice.10.bc")
	cudart := put(t, "cudart", dir, "cuda", "lib64", "libcudart.so.13")
	cudnn := put(t, "cudnn", dir, "lib", "libcudnn.so.9")
	found, err := s.find(background, Request{Backend: "cuda"})
	require.NoError(t, err)
	require.Equal(t, []string{"plugin"}, *fetched, "the system has the rest")
	require.Equal(t, []string{cudart, cudnn}, found.Libraries)
	require.Equal(t, filepath.Join(dir, "cuda"), found.CUDADataDir)

	// A set that lacks one library counts for nothing.
	require.NoError(t, removeFile(cudart))
	s.pins[3].Optional = true
	found, err = s.find(background, Request{Backend: "cuda"})
	require.NoError(t, err)
	require.Equal(t, []string{"plugin", "runtime", "compiler", "cudnn"}, *fetched)
	require.NotContains(t, found.Libraries, cudnn)
}

// A pinned plugin that the user names has the libraries of its own release, whatever the driver chooses.
func TestLibrariesOfNamedPlugin(t *testing.T) {
	s, _ := cudaWorld(t)
	s.pins[0].LibrarySHA256, s.pins[0].Release, s.pins[0].Driver = sumOf([]byte("plugin")), 13, 580
	for i := range s.pins[1:] {
		s.pins[1+i].Release = 13
	}
	older, runtime := s.pins[0], s.pins[1]
	older.Release, older.Driver, older.LibrarySHA256 = 12, 525, sumOf([]byte("older"))
	runtime.Release, runtime.Preload = 12, []string{"nvidia/cuda_runtime/lib/libcudart.so.12"}
	s.pins = append(s.pins, older, runtime)
	s.visible = func(string) bool { return true }
	s.driver = func() Driver { return Driver{"580.65.06", 580} }
	s.systemCUDA = func(_ *store, plugin *wheel, _ []*wheel) ([]string, string, bool) {
		return []string{fmt.Sprintf("libcudart.so.%d of the system", plugin.Release)}, "", true
	}
	site := t.TempDir()
	named := put(t, "older", site, "jax_plugins", "xla_cuda12", "plugin.so")
	found, err := s.find(background, Request{Backend: "cuda", Path: named})
	require.NoError(t, err)
	require.Equal(t, []string{"libcudart.so.12 of the system"}, found.Libraries)
	cudart := put(t, "cudart", site, "nvidia", "cuda_runtime", "lib", "libcudart.so.12")
	found, err = s.find(background, Request{Backend: "cuda", Path: named})
	require.NoError(t, err)
	require.Equal(t, []string{cudart}, found.Libraries)
}

func TestLoaderDirs(t *testing.T) {
	dir := t.TempDir()
	put(t, "/one # comment\n\n# /no\ninclude conf.d/*.conf\n", dir, "ld.so.conf")
	put(t, "/two\n/three\n", dir, "conf.d", "a.conf")
	put(t, "include "+filepath.Join(dir, "ld.so.conf")+"\n", dir, "conf.d", "b.conf") // a circle
	dirs := loaderDirs(filepath.Join(dir, "ld.so.conf"), 0)
	require.Equal(t, []string{"/one", "/two", "/three"}, dirs[:3])
	require.Empty(t, loaderDirs(filepath.Join(dir, "none"), 0))
}
