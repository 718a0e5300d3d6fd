// Package plugin finds the PJRT plugin of a backend. If there is none, it installs the pinned plugin into the user's
// cache folder.
//
// It looks for a plugin in this order:
//
//  1. the path that the caller gives (--plugin),
//  2. PJRT_PLUGIN_LIBRARY_PATH, a list of plugin files and of folders with plugin files,
//  3. the Python packages beside the executable (pythonPackages), for the shared object with the pinned checksum,
//  4. the cache folder ([fetch.CacheDir]),
//  5. the pinned Python wheel, which is downloaded, checked and unpacked.
//
// The pins (name, version, file, sha256) are in third_party/plugins.toml. The checksum decides whether a download is
// accepted. The package does not load plugins, so it does not check that a file is one.
package plugin

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Backends are the names that [Request.Backend] takes.
var Backends = []string{"cpu", "cuda", "rocm", "tpu"}

// Source is where a plugin was found.
type Source string

// The sources in the order in which [Find] tries them.
const (
	SourceFlag      Source = "flag"      // Request.Path
	SourceEnv       Source = "env"       // PJRT_PLUGIN_LIBRARY_PATH
	SourcePython    Source = "python"    // a Python package beside the executable
	SourceCache     Source = "cache"     // installed by an earlier call
	SourceInstalled Source = "installed" // downloaded by this call
)

// EnvPath is the environment variable that lists plugin files and folders, separated as in PATH.
const EnvPath = "PJRT_PLUGIN_LIBRARY_PATH"

// Request describes the plugin that is wanted.
type Request struct {
	// Backend is one of Backends; "" means "cpu".
	Backend string
	// Path, if not empty, is the plugin file or its folder. No other place is searched then.
	Path string
	// Offline forbids downloads.
	Offline bool
	// Ahead asks for what compiling for devices needs that are not there. For CUDA these are ptxas and libdevice.
	Ahead bool
	// Ready, if not nil, is called before the cache is searched, unless the user named a plugin. Find returns its
	// error. [Device] is such a check.
	Ready func() error
	// Progress, if not nil, is called during a download with the bytes fetched so far and the bytes to fetch in
	// all. Calls come from any goroutine, one at a time. done never falls, even if a download starts again.
	Progress func(done, total int64)
	// Notice, if not nil, is called with a line of text when something slow begins: a download from a source, or
	// waiting for another process.
	Notice func(line string)
}

// Found is a plugin on this machine.
type Found struct {
	Backend string
	// Path is the absolute path of the shared object.
	Path   string
	Source Source
	// SHA256 is the checksum of the shared object, in hex. It is part of the compile cache's key.
	SHA256 string
	// Name and Version name the pinned distribution. Both are empty for a file that matches no pin.
	Name, Version string
	// Libraries are absolute paths of shared objects to load (RTLD_NOW|RTLD_GLOBAL) before the plugin, in this
	// order. Only CUDA needs any, and only on a machine with a GPU.
	Libraries []string
	// LibraryDirs are the folders of Libraries, each once.
	LibraryDirs []string
	// CUDADataDir is the folder of bin/ptxas and nvvm/libdevice. If it is empty, the plugin searches for them.
	CUDADataDir string
}

// Find returns the plugin for req, and installs the pinned one if necessary. The error is one sentence with advice. It
// matches [fetch.ErrNotInstalled] if no plugin is available, and ctx's error if ctx ended first.
func Find(ctx context.Context, req Request) (Found, error) {
	s, err := openStore()
	if err != nil {
		return Found{}, err
	}
	return s.find(ctx, req)
}

// Install installs the pinned plugin of backend, the tools to compile for devices that are not there, and the libraries
// that it needs on this machine. With libraries it installs the vendor's libraries even if the device is not there: for
// a folder that another machine, which has no network, reads. progress may be nil.
func Install(ctx context.Context, backend string, libraries bool, progress func(done, total int64)) (Found, error) {
	s, err := openStore()
	if err != nil {
		return Found{}, err
	}
	if libraries {
		s.visible = func(string) bool { return true }
		s.systemCUDA = func(*store, *wheel, []*wheel) ([]string, string, bool) { return nil, "", false }
	}
	return s.install(ctx, Request{Backend: backend, Ahead: true, Progress: progress})
}

func (s *store) find(ctx context.Context, req Request) (Found, error) {
	backend, err := checkBackend(req.Backend)
	if err != nil {
		return Found{}, err
	}
	req.Backend = backend
	if req.Path != "" {
		return s.named(ctx, req, req.Path, SourceFlag)
	}
	if list := s.getenv(EnvPath); list != "" {
		path, err := searchList(list, backend)
		if err != nil {
			return Found{}, err
		}
		if path != "" {
			return s.named(ctx, req, path, SourceEnv)
		}
	}
	if req.Ready != nil {
		if err := req.Ready(); err != nil {
			return Found{}, err
		}
	}
	return s.install(ctx, req)
}

// named describes a plugin that the user named by flag or environment variable.
func (s *store) named(ctx context.Context, req Request, path string, source Source) (Found, error) {
	backend := req.Backend
	file, err := pluginFile(path, backend, source)
	if err != nil {
		return Found{}, err
	}
	sum, err := s.checksum(ctx, file)
	if err != nil {
		return Found{}, fmt.Errorf("plugin: cannot read %s: %w", file, err)
	}
	found := Found{Backend: backend, Path: file, Source: source, SHA256: sum}
	pin := s.pins.byLibrary(sum)
	if pin != nil {
		found.Name, found.Version = pin.Name, pin.Version
	}
	if backend == "cuda" {
		pin, support, err := s.wheelsOf(pin, backend)
		if err != nil {
			return Found{}, err
		}
		// An installed wheel has site/jax_plugins/xla_cuda13/plugin.so and site/nvidia/*/lib.
		site := filepath.Dir(filepath.Dir(filepath.Dir(file)))
		s.addCUDALibraries(&found, site, pin, support)
		if req.Ahead {
			s.addCUDATools(&found, site)
		}
	}
	return found, nil
}

func checkBackend(name string) (string, error) {
	if name == "" {
		return Backends[0], nil
	}
	if slices.Contains(Backends, name) {
		return name, nil
	}
	return "", fmt.Errorf("plugin: backend %q is none of %s: choose one of them, or --backend reference, "+
		"which needs no plugin", name, strings.Join(Backends, ", "))
}
