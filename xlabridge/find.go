//go:build cgo

package xlabridge

import (
	"context"
	"fmt"

	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
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
func (o Options) Preload() {
	hostmemory.Ballast() // before the config is checked, which traces
	o.Offline = true
	go func() {
		found, err := findPlugin(context.Background(), o)
		if err == nil {
			_, _ = openLibrary(context.Background(), found, o.LibraryDirs)
		}
	}()
}

// deviceReady returns an error if the backend has no device, or its driver is missing or too old.
func deviceReady(backend string) error {
	if err := plugin.Device(backend); err != nil {
		return err
	}
	if backend != "cuda" {
		return nil
	}
	if err := plugin.DriverReady(); err != nil {
		return err
	}
	return driverLoads("libcuda.so.1")
}

// driverLoads opens the library of the NVIDIA driver, as the plugin will.
func driverLoads(library string) error {
	if text := pjrt.Preload(library); text != "" {
		return fmt.Errorf("backend cuda: there is an NVIDIA GPU, but its driver's library cannot be loaded (%s): "+
			"install the driver, give the container its libraries, or use --backend cpu", text)
	}
	return nil
}
