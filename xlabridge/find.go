package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/plugin"
)

// findPlugin looks the backend's plugin up, and installs it if need be and allowed. Where the backend's device is not
// on this machine it says so before it downloads anything.
func findPlugin(ctx context.Context, o Options) (plugin.Found, error) {
	return plugin.Find(ctx, plugin.Request{
		Backend:  o.Backend,
		Path:     o.PluginPath,
		Offline:  o.Offline,
		Ready:    func() error { return deviceReady(o.Backend) },
		Progress: o.Progress,
		Notice:   o.Notice,
	})
}

// Preload begins to load a plugin that is installed, in the background: an Open that follows finds it loaded, or waits
// for the rest. Nothing is installed, and what fails here is left for Open to say.
func Preload(o Options) {
	o.Offline = true
	go func() {
		found, err := findPlugin(context.Background(), o)
		if err == nil {
			_, _ = openLibrary(context.Background(), found, o.LibraryDirs)
		}
	}()
}

// deviceReady says what a backend lacks to have any device.
func deviceReady(backend string) error {
	if err := plugin.Device(backend); err != nil {
		return err
	}
	if backend == "cuda" {
		return driverLoads("libcuda.so.1")
	}
	return nil
}

// driverLoads opens the library that an NVIDIA driver brings, as the plugin will.
func driverLoads(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	if text := C.xb_preload(name); text != nil {
		return fmt.Errorf("backend cuda: there is an NVIDIA GPU, but its driver's library cannot be loaded (%s): "+
			"install the driver, give the container its libraries, or use --backend cpu", C.GoString(text))
	}
	return nil
}

// EnvCacheMax is the variable that says how much the cache of compiled programs and plans may take: a size such as 500M
// or 2GiB, or none for no limit.
const EnvCacheMax = "XLARUN_CACHE_MAX"

// cacheLimit is that limit in bytes, 0 for none.
func cacheLimit() (int64, error) {
	text := os.Getenv(EnvCacheMax)
	switch text {
	case "":
		return cache.DefaultLimit, nil
	case "none":
		return 0, nil
	}
	limit, err := cache.ParseSize(text)
	if err != nil || limit == 0 {
		return 0, fmt.Errorf("%s got %q, wants a size such as 500M or 2G, or none for no limit", EnvCacheMax, text)
	}
	return limit, nil
}

// DefaultCacheDir is the folder of compiled programs where Options name none: programs in the
// folder that plugins are installed under too (fetch.CacheDir).
func DefaultCacheDir() (string, error) {
	base, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "programs"), nil
}
