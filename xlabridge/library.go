package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"

	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/plugin"
)

// least is the number of table entries that go-xla and this package need. A plugin with a shorter table cannot be used.
const least = C.XP_EXECUTABLE_MEMORY_STATS + 1

// padded is the number of entries in the copy of the table. go-xla uses a newer header and reads entries up to its end,
// so the copy must be longer than that header. A missing entry is NULL.
const padded = 256

// library is an opened plugin file. It is never closed, because XLA crashes after dlclose.
type library struct {
	path        string // absolute, symbolic links resolved
	slot        C.int
	plugin      *pjrt.Plugin
	fingerprint string
	major       int
	minor       int
	kernels     bool           // the kernels of RegisterKernel are registered
	pooled      bool           // its large allocations use the pool
	inside      unsafe.Pointer // an address in a CPU's plugin; nil for others
	stuck       bool           // its loading was abandoned and still runs

	options optionCache

	mu    sync.Mutex
	store *cache.Cache // cache for programs that other code in the process compiles; nil means none
}

// libraries holds the opened plugins by slot. Plugins are never unloaded.
var libraries struct {
	sync.Mutex
	bySlot [C.XB_SLOTS]*library
	count  int
}

// openLibrary opens the plugin file, or returns the library that is already open at that path. It checks the ABI,
// copies and changes the table, and registers the copy with go-xla under the file's absolute path. So
// pjrt.GetPlugin(path) returns the copy to all code in the process.
func openLibrary(ctx context.Context, found plugin.Found, preload []string) (*library, error) {
	path := found.Path
	real, err := pluginFile(path)
	if err != nil {
		return nil, err
	}
	libraries.Lock()
	defer libraries.Unlock()
	for _, l := range libraries.bySlot[:libraries.count] {
		if l.path == real && l.stuck {
			return nil, stuck(found.Backend, path)
		}
		if l.path == real {
			return l, nil
		}
	}
	if libraries.count == len(libraries.bySlot) {
		return nil, fmt.Errorf("plugin %s: %d different plugins are open in this process already, the most there can "+
			"be; start another process", path, libraries.count)
	}
	slot := libraries.count
	l := &library{path: real, slot: C.int(slot), fingerprint: found.SHA256}
	// Store it before go-xla has it: other code may then compile with it immediately.
	libraries.bySlot[slot] = l
	text, err := quietly(ctx, found.Backend, func() error { return l.load(found, preload) })
	if errors.Is(err, errStuck) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// Its thread still uses this slot, so no other library may have it.
		l.stuck = true
		libraries.count++
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, withChatter(stuck(found.Backend, path), text)
	}
	if err != nil {
		return nil, withChatter(err, text)
	}
	libraries.count++
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
func (l *library) load(found plugin.Found, folders []string) error {
	setLogLevel()
	preload(found.Libraries)
	preloadAll(folders)
	cpath := C.CString(l.path)
	defer C.free(unsafe.Pointer(cpath))
	var api *C.xp_api
	var stage C.int
	if text := C.xb_open(cpath, &api, &stage); text != nil {
		switch stage {
		case 1:
			if missing, ok := strings.CutSuffix(C.GoString(text), ": cannot open shared object file: No such file or "+
				"directory"); ok && found.Backend == "rocm" {
				return fmt.Errorf("plugin %s: it is linked to the libraries of ROCm 7, and %s is not there: install "+
					"ROCm 7, whose libraries are in /opt/rocm/lib, or use --backend cpu", l.path, missing)
			}
			return fmt.Errorf("plugin %s: not a shared library that can be loaded (%s); name another with --plugin "+
				"or run `xlarun plugin install`", l.path, C.GoString(text))
		case 2:
			return fmt.Errorf("plugin %s: a shared library, but no PJRT plugin (it has no GetPjrtApi); name another "+
				"with --plugin or run `xlarun plugin install`", l.path)
		}
		return fmt.Errorf("plugin %s: %s; name another with --plugin", l.path, C.GoString(text))
	}
	if err := l.checkABI(api); err != nil {
		return err
	}
	if l.fingerprint == "" {
		var err error
		if l.fingerprint, err = fileFingerprint(l.path); err != nil {
			return fmt.Errorf("plugin %s: %w", l.path, err)
		}
	}
	if found.Backend == "cpu" {
		l.inside = unsafe.Pointer(api)
		l.pooled = openPool(l.inside)
	}
	table := C.xb_interpose(l.slot, api, padded)
	if table == nil {
		return fmt.Errorf("plugin %s: no memory for its function table", l.path)
	}
	if err := l.registerKernels(api); err != nil {
		return err
	}
	if err := pjrt.RegisterPreloadedPlugin(l.path, uintptr(unsafe.Pointer(table))); err != nil {
		return fmt.Errorf("plugin %s: it refused to start: %s", l.path, pluginText(err))
	}
	var err error
	l.plugin, err = pjrt.GetPlugin(l.path)
	return err
}

// checkABI returns an error for tables that go-xla or this package would misread.
func (l *library) checkABI(api *C.xp_api) error {
	const tableHead = C.size_t(unsafe.Sizeof(C.xp_api{}))
	const want = tableHead + least*C.size_t(unsafe.Sizeof(uintptr(0)))
	l.major, l.minor = int(api.version.major_version), int(api.version.minor_version)
	switch {
	case api.struct_size > 1<<16 || api.struct_size < tableHead:
		return fmt.Errorf("plugin %s: its PJRT table claims %d bytes, which is no table of this ABI; name another "+
			"with --plugin", l.path, api.struct_size)
	case l.major != 0:
		return fmt.Errorf("plugin %s: it speaks PJRT %d.%d, wanted major version 0; name another with --plugin or "+
			"run `xlarun plugin install`", l.path, l.major, l.minor)
	case api.struct_size < want:
		return fmt.Errorf("plugin %s: it speaks PJRT 0.%d, whose table has %d bytes, too old: wanted at least %d "+
			"bytes; run `xlarun plugin install` for a newer one, or name another with --plugin", l.path, l.minor,
			api.struct_size, want)
	}
	return nil
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
		cfile := C.CString(file)
		if C.xb_preload(cfile) != nil {
			left = append(left, file)
		}
		C.free(unsafe.Pointer(cfile))
	}
	return left
}

// setStore sets the cache for programs that other code in the process compiles.
func (l *library) setStore(c *cache.Cache) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.store = c
}

func (l *library) getStore() *cache.Cache {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store
}
