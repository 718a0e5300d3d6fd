package xlabridge

import (
	"context"
	"path/filepath"

	"xlarun/third_party/fetch"
	"xlarun/third_party/fetch/plugin"
)

// findPlugin looks the backend's plugin up, and installs it if need be and allowed.
func findPlugin(ctx context.Context, o Options) (plugin.Found, error) {
	return plugin.Find(ctx, plugin.Request{
		Backend:  o.Backend,
		Path:     o.PluginPath,
		Offline:  o.Offline,
		Progress: o.Progress,
		Notice:   o.Notice,
	})
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
