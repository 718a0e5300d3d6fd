// Package plugin finds the PJRT plugin that a backend runs on, and installs
// the pinned one into the user's cache folder where there is none.
//
// A plugin is looked for, in this order:
//
//  1. at the path that the caller gives (--plugin),
//  2. along PJRT_PLUGIN_LIBRARY_PATH (plugin files, or folders that hold them),
//  3. in the cache folder ([fetch.CacheDir]),
//  4. in the pinned Python wheel, which is downloaded, checked and unpacked.
//
// The pins (name, version, file, sha256) live in third_party/plugins.toml. The
// checksum decides whether a download is taken, whatever way it came. The
// package opens no plugin: whether a file is one is for the loader to say.
package plugin

import (
	"context"
	"fmt"
	"path/filepath"
)

// Backends are the names that [Request.Backend] takes.
var Backends = []string{"cpu", "cuda", "tpu"}

// Source says where a plugin was found.
type Source string

// The places that [Find] looks at, in their order.
const (
	SourceFlag      Source = "flag"      // Request.Path
	SourceEnv       Source = "env"       // PJRT_PLUGIN_LIBRARY_PATH
	SourceCache     Source = "cache"     // installed by an earlier call
	SourceInstalled Source = "installed" // downloaded by this call
)

// EnvPath is the variable that names plugin files or folders, separated as in
// PATH.
const EnvPath = "PJRT_PLUGIN_LIBRARY_PATH"

// Request says which plugin is wanted and how.
type Request struct {
	// Backend is "cpu" (also meant by ""), "cuda" or "tpu".
	Backend string
	// Path, where not empty, is the plugin file, or a folder that holds it;
	// nothing else is looked at.
	Path string
	// Offline forbids downloads.
	Offline bool
	// Ready, where not nil, is asked before the cache is looked into and anything
	// is downloaded, unless the user named a plugin; its error is the call's.
	// [Device] is one such question.
	Ready func() error
	// Progress, where not nil, is called during a download with the bytes
	// fetched so far and the bytes to fetch in all, from the calling goroutine
	// or another one, never from two at once. done never falls; it stands
	// still while a failed way of download is followed by the next.
	Progress func(done, total int64)
	// Notice, where not nil, is called with a short line when something slow
	// begins: a download by the next way, or waiting for another process.
	Notice func(line string)
}

// Found is a plugin on this machine, ready to be opened.
type Found struct {
	// Backend is the backend asked for.
	Backend string
	// Path is the absolute path of the plugin's shared object.
	Path string
	// Source says where it came from.
	Source Source
	// SHA256 is the checksum of the shared object, in hex: the plugin's part
	// of a compile cache's key. It is not computed anew as long as the
	// file's size, time and inode stay as they were.
	SHA256 string
	// Name and Version are the pinned distribution's; both are empty for a
	// file that matches no pin.
	Name, Version string
	// Libraries are shared objects to load (RTLD_NOW|RTLD_GLOBAL) before the
	// plugin, in this order, absolute. Only CUDA has any, and only where a GPU
	// is visible.
	Libraries []string
	// LibraryDirs are the folders of Libraries, each once.
	LibraryDirs []string
	// CUDADataDir holds bin/ptxas and nvvm/libdevice, or is empty where the
	// plugin is left to find them itself.
	CUDADataDir string
}

// Find returns the plugin for req, installing the pinned one if need be. The
// error is one sentence that says what to do; it wraps [fetch.ErrNotInstalled] where
// no plugin could be had, and ctx's error where ctx ended first.
func Find(ctx context.Context, req Request) (Found, error) {
	s, err := openStore()
	if err != nil {
		return Found{}, err
	}
	return s.find(ctx, req)
}

// Install puts the pinned plugin of backend, and what it needs on this machine,
// into the cache folder unless it is there already. progress may be nil.
func Install(ctx context.Context, backend string, progress func(done, total int64)) (Found, error) {
	s, err := openStore()
	if err != nil {
		return Found{}, err
	}
	return s.install(ctx, Request{Backend: backend, Progress: progress})
}

func (s *store) find(ctx context.Context, req Request) (Found, error) {
	backend, err := checkBackend(req.Backend)
	if err != nil {
		return Found{}, err
	}
	req.Backend = backend
	if req.Path != "" {
		return s.given(ctx, backend, req.Path, SourceFlag)
	}
	if list := s.getenv(EnvPath); list != "" {
		path, err := searchList(list, backend)
		if err != nil {
			return Found{}, err
		}
		if path != "" {
			return s.given(ctx, backend, path, SourceEnv)
		}
	}
	if req.Ready != nil {
		if err := req.Ready(); err != nil {
			return Found{}, err
		}
	}
	return s.install(ctx, req)
}

// given describes a plugin that the user named, by flag or environment.
func (s *store) given(ctx context.Context, backend, path string, source Source) (Found, error) {
	file, err := pluginFile(path, backend, source)
	if err != nil {
		return Found{}, err
	}
	sum, err := s.identity(ctx, file)
	if err != nil {
		return Found{}, fmt.Errorf("plugin: cannot read %s: %w", file, err)
	}
	found := Found{Backend: backend, Path: file, Source: source, SHA256: sum}
	if w := s.pins.byLibrary(sum); w != nil {
		found.Name, found.Version = w.Name, w.Version
	}
	if backend == "cuda" {
		// The layout of an installed wheel: site/jax_plugins/xla_cuda13/plugin.so
		// beside site/nvidia/*/lib.
		site := filepath.Dir(filepath.Dir(filepath.Dir(file)))
		s.addCUDALibraries(&found, site)
	}
	return found, nil
}

func checkBackend(name string) (string, error) {
	if name == "" {
		return Backends[0], nil
	}
	for _, b := range Backends {
		if b == name {
			return b, nil
		}
	}
	return "", fmt.Errorf("plugin: backend %q is none of cpu, cuda, tpu: choose one of them, or --backend reference, "+
		"which needs no plugin", name)
}
