package plugin

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// addCUDALibraries adds the CUDA libraries of a plugin in site, at their paths in the supporting wheels, or else the
// system's. It adds none without a GPU: they would take gigabytes of memory for nothing.
func (s *store) addCUDALibraries(found *Found, site string, plugin *wheel, support []*wheel) {
	if !s.visible("cuda") {
		return
	}
	var libraries []string
	for _, w := range support {
		for _, name := range w.Preload {
			path := filepath.Join(site, filepath.FromSlash(name))
			if _, err := os.Stat(path); err == nil {
				libraries = append(libraries, path)
			}
		}
	}
	dataDir := toolsIn(site)
	if len(libraries) == 0 {
		if onSystem, dir, ok := s.systemCUDA(s, plugin, support); ok {
			libraries, dataDir = onSystem, dir
		}
	}
	found.setLibraries(libraries, dataDir)
}

// addCUDATools adds the folder of ptxas and libdevice in site, if it is there.
func (s *store) addCUDATools(found *Found, site string) {
	if found.CUDADataDir == "" {
		found.CUDADataDir = toolsIn(site)
	}
}

// toolsIn returns the folder of ptxas and libdevice in site, or "". The wheels of CUDA 13 have one folder for all,
// those of CUDA 12 one each.
func toolsIn(site string) string {
	for _, name := range []string{"cu13", "cuda_nvcc"} {
		if dir := filepath.Join(site, "nvidia", name); hasLibdevice(dir) {
			return dir
		}
	}
	return ""
}

func (f *Found) setLibraries(libraries []string, dataDir string) {
	f.Libraries, f.LibraryDirs, f.CUDADataDir = libraries, nil, dataDir
	for _, path := range libraries {
		if dir := filepath.Dir(path); !slices.Contains(f.LibraryDirs, dir) {
			f.LibraryDirs = append(f.LibraryDirs, dir)
		}
	}
}

func hasLibdevice(cudaDir string) bool {
	_, err := os.Stat(filepath.Join(cudaDir, "nvvm", "libdevice", "libdevice.10.bc"))
	return err == nil
}

// cudaOnSystem returns the CUDA libraries of a plugin, which may be nil, in the folders of the system's loader and of
// NVIDIA's installer. ok is false if one is missing: one process must not mix the libraries of two CUDA releases.
func (s *store) cudaOnSystem(plugin *wheel, support []*wheel) (libraries []string, dataDir string, ok bool) {
	if plugin == nil {
		return nil, "", false
	}
	var roots []string
	for _, root := range []string{s.getenv("CUDA_HOME"), s.getenv("CUDA_PATH"), "/usr/local/cuda",
		fmt.Sprintf("/usr/local/cuda-%d", plugin.Release)} {
		if root != "" {
			roots = append(roots, root)
			if dataDir == "" && hasLibdevice(root) {
				dataDir = root
			}
		}
	}
	if dataDir == "" {
		return nil, "", false
	}
	dirs := filepath.SplitList(s.getenv("LD_LIBRARY_PATH"))
	dirs = append(dirs, loaderDirs("/etc/ld.so.conf", 0)...)
	triple := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[s.goarch]
	dirs = append(dirs, "/lib/"+triple, "/usr/lib/"+triple, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	for _, root := range roots {
		dirs = append(dirs, filepath.Join(root, "lib64"))
	}
	for _, w := range support {
		for _, name := range w.Preload {
			path := inDirs(dirs, filepath.Base(name))
			if path != "" {
				libraries = append(libraries, path)
			} else if !w.Optional {
				return nil, "", false
			}
		}
	}
	return libraries, dataDir, true
}

func inDirs(dirs []string, base string) string {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, base)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// loaderDirs returns the folders in an ld.so.conf file and in the files that it includes, up to a small depth.
func loaderDirs(file string, depth int) []string {
	f, err := os.Open(file)
	if err != nil || depth > 4 {
		return nil
	}
	defer func() { _ = f.Close() }()
	var dirs []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "include":
			for _, pattern := range fields[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(file), pattern)
				}
				more, _ := filepath.Glob(pattern)
				for _, name := range more {
					dirs = append(dirs, loaderDirs(name, depth+1)...)
				}
			}
		default:
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}
