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

// findPlugin returns the backend's plugin, and installs it if necessary and allowed. If the machine lacks the backend's
// device, it returns an error before any download.
func findPlugin(ctx context.Context, o Options) (plugin.Found, error) {
	ready := func() error { return deviceReady(o.Backend) }
	if o.Topology != nil {
		ready = nil
	}
	return plugin.Find(ctx, plugin.Request{
		Backend:  o.Backend,
		Path:     o.PluginPath,
		Offline:  o.Offline,
		Ahead:    o.Topology != nil,
		Ready:    ready,
		Progress: o.Progress,
		Notice:   o.Notice,
	})
}

// Preload loads an installed plugin in the background. A later Open uses it, or waits until it is loaded. Preload
// installs nothing, and leaves errors to Open.
func Preload(o Options) {
	o.Offline = true
	go func() {
		found, err := findPlugin(context.Background(), o)
		if err == nil {
			_, _ = openLibrary(context.Background(), found, o.LibraryDirs)
		}
	}()
}

// deviceReady returns an error if the backend has no device or its driver is missing.
func deviceReady(backend string) error {
	if err := plugin.Device(backend); err != nil {
		return err
	}
	if backend == "cuda" {
		return driverLoads("libcuda.so.1")
	}
	return nil
}

// driverLoads opens the library of the NVIDIA driver, as the plugin will.
func driverLoads(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	if text := C.xb_preload(name); text != nil {
		return fmt.Errorf("backend cuda: there is an NVIDIA GPU, but its driver's library cannot be loaded (%s): "+
			"install the driver, give the container its libraries, or use --backend cpu", C.GoString(text))
	}
	return nil
}

// EnvCacheMax is the environment variable that limits the size of the cache of compiled programs and plans. Its value
// is a size such as 500M or 2GiB, or "none".
const EnvCacheMax = "XLARUN_CACHE_MAX"

// cacheLimit returns the limit in bytes; 0 means none.
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

// DefaultCacheDir is the default folder of compiled programs: "programs" in fetch.CacheDir.
func DefaultCacheDir() (string, error) {
	base, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "programs"), nil
}
