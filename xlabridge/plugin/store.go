package plugin

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"xlarun/xlabridge/fetch"
)

// store is the plugin folder with what its rules depend on, so that tests can put a machine of their own in its place.
type store struct {
	fetch.Store  // in <cache>/plugins
	pins         pinSet
	goos, goarch string
	getenv       func(string) string
	waits        []time.Duration // between attempts at a download; nil: the client's
	ways         func() []fetch.Way
	visible      func(backend string) bool // its device
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
		visible:    func(backend string) bool { return deviceVisible("/", backend) },
		systemCUDA: (*store).cudaOnSystem,
	}
	s.ways = s.defaultWays
	return s, nil
}

func storeAt(dir string) fetch.Store {
	return fetch.Store{Dir: dir, Package: "plugin", Noun: "plugin"}
}

// site is the folder that a plugin and its supporting wheels are unpacked into,
// each file at the place that it has in its wheel: the plugin and NVIDIA's
// libraries find each other by relative paths.
func (s *store) site(plugin *wheel) string {
	return filepath.Join(s.Dir, strings.Join([]string{plugin.Name, plugin.Version, plugin.OS, plugin.Arch}, "-"))
}
