package plugin

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"xlarun/xlabridge/fetch"
)

// store is the folder of installed plugins. Its fields describe the machine, so that tests can replace them.
type store struct {
	fetch.Store  // <cache>/plugins
	pins         pinSet
	goos, goarch string
	getenv       func(string) string
	client       *fetch.Client
	sources      func() []fetch.Source
	visible      func(backend string) bool // reports whether the machine has the backend's device
	systemCUDA   func(*store) (libraries []string, dataDir string, ok bool)
}

func openStore() (*store, error) {
	pins, err := loadPins()
	if err != nil {
		return nil, err
	}
	dir, err := fetch.CacheDir()
	if err != nil {
		return nil, err
	}
	s := &store{
		Store:      storeAt(filepath.Join(dir, "plugins")),
		pins:       pins,
		goos:       runtime.GOOS,
		goarch:     runtime.GOARCH,
		getenv:     os.Getenv,
		client:     fetch.NewClient(),
		visible:    func(backend string) bool { return Device(backend) == nil },
		systemCUDA: (*store).cudaOnSystem,
	}
	s.sources = s.defaultSources
	return s, nil
}

func storeAt(dir string) fetch.Store {
	return fetch.Store{Dir: dir, Package: "plugin", Noun: "plugin"}
}

// site returns the folder of a plugin and its supporting wheels. Each file keeps its path in its wheel: the plugin and
// NVIDIA's libraries find each other by relative paths.
func (s *store) site(plugin *wheel) string {
	return filepath.Join(s.Dir, strings.Join([]string{plugin.Name, plugin.Version, plugin.OS, plugin.Arch}, "-"))
}
