//go:build cgo

package xlabridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
	"xlarun/xlabridge/plugin"
)

// library is an opened plugin file. It is never closed.
type library struct {
	path        string // absolute, symbolic links resolved
	plugin      *pjrt.Plugin
	fingerprint string
	kernels     bool           // kernels.Registered are registered
	pooled      bool           // its large allocations use the pool
	cpuTable    unsafe.Pointer // the table of a CPU's plugin; nil for others
	stuck       bool           // its loading was abandoned and still runs

	options optionCache
}

// libraries holds the opened plugins.
var libraries struct {
	sync.Mutex
	all []*library
}

// openLibrary opens the plugin file, or returns the library that is already open at that path.
func openLibrary(ctx context.Context, found plugin.Found, preload []string) (*library, error) {
	path := found.Path
	real, err := pluginFile(path)
	if err != nil {
		return nil, err
	}
	libraries.Lock()
	defer libraries.Unlock()
	for _, l := range libraries.all {
		if l.path == real && l.stuck {
			return nil, stuck(found.Backend, path)
		}
		if l.path == real {
			return l, nil
		}
	}
	l, text, err := quietly(ctx, found.Backend, func() (*library, error) { return load(found, real, preload) }, nil)
	if errors.Is(err, errStuck) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		libraries.all = append(libraries.all, &library{path: real, stuck: true})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, withChatter(stuck(found.Backend, path), text)
	}
	if err != nil {
		return nil, withChatter(err, text)
	}
	libraries.all = append(libraries.all, l)
	return l, nil
}

// pluginFile resolves the path and returns an error if it is clearly not a plugin.
func pluginFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("no plugin file was named; set Options.PluginPath (--plugin PATH) or run `xlarun " +
			"plugin install`")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("plugin %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("plugin %s: there is no such file; name another with --plugin or run `xlarun plugin "+
			"install`", path)
	case err != nil:
		return "", fmt.Errorf("plugin %s: %w", path, err)
	case info.IsDir():
		return "", fmt.Errorf("plugin %s: this is a folder, wanted the shared library in it (a .so file)", path)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("plugin %s: %w", path, err)
	}
	return real, nil
}

// load is openLibrary for a file that is not yet open.
func load(found plugin.Found, path string, folders []string) (*library, error) {
	pjrt.Silence()
	preload(found.Libraries)
	preloadAll(folders)
	p, err := pjrt.Open(path)
	if e, ok := errors.AsType[*pjrt.LoadError](err); ok && found.Backend == "rocm" {
		if missing, ok := strings.CutSuffix(e.Reason, ": cannot open shared object file: No such file or "+
			"directory"); ok {
			return nil, fmt.Errorf("plugin %s: it is linked to the libraries of ROCm 7, and %s is not there: install "+
				"ROCm 7, whose libraries are in /opt/rocm/lib, or use --backend cpu", path, missing)
		}
	}
	if err != nil {
		return nil, err
	}
	l := &library{path: path, plugin: p, fingerprint: found.SHA256}
	if l.fingerprint == "" {
		if l.fingerprint, err = fileFingerprint(path); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", path, err)
		}
	}
	if found.Backend == "cpu" {
		l.cpuTable = p.Table()
		l.pooled = hostmemory.OpenPool(l.cpuTable)
	}
	if err := l.registerKernels(); err != nil {
		return nil, err
	}
	if err := p.Initialize(); err != nil {
		return nil, fmt.Errorf("plugin %s: it refused to start: %s", path, err)
	}
	return l, nil
}

// preloadAll opens all shared libraries in the folders, for plugins that load their vendor's libraries by name. The
// libraries depend on each other in an unknown order, so it repeats until no more libraries open. The plugin reports
// libraries that are still missing.
func preloadAll(folders []string) {
	var files []string
	for _, folder := range folders {
		found, _ := filepath.Glob(filepath.Join(folder, "*.so*"))
		files = append(files, found...)
	}
	for len(files) > 0 {
		left := preload(files)
		if len(left) == len(files) {
			return
		}
		files = left
	}
}

// preload opens shared libraries in order and returns those that cannot be opened.
func preload(files []string) (left []string) {
	for _, file := range files {
		if pjrt.Preload(file) != "" {
			left = append(left, file)
		}
	}
	return left
}
