package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"xlarun/xlabridge/fetch"
)

// store is the folder of installed plugins. Its fields describe the machine, so that tests can replace them.
type store struct {
	fetch.Store  // <cache>/plugins
	pins         pinSet
	goos, goarch string
	getenv       func(string) string
	prefix       string // the folder above that of the executable
	client       *fetch.Client
	sources      func() []fetch.Source
	visible      func(backend string) bool // reports whether the machine has the backend's device
	driver       func() Driver             // NVIDIA's
	systemCUDA   func(s *store, plugin *wheel, support []*wheel) (libraries []string, dataDir string, ok bool)
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
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &store{
		Store:      storeAt(filepath.Join(dir, "plugins")),
		pins:       pins,
		goos:       runtime.GOOS,
		goarch:     runtime.GOARCH,
		getenv:     os.Getenv,
		prefix:     filepath.Dir(filepath.Dir(executable)),
		client:     fetch.NewClient(),
		visible:    func(backend string) bool { return Device(backend) == nil },
		driver:     func() Driver { return driverBelow("/") },
		systemCUDA: (*store).cudaOnSystem,
	}
	s.sources = s.defaultSources
	return s, nil
}

func storeAt(dir string) fetch.Store {
	return fetch.Store{Dir: dir, Package: "plugin", Noun: "plugin"}
}

// envCUDA is the environment variable that chooses the release of CUDA, whatever the driver is: a machine without a
// device compiles for one whose driver is older.
const envCUDA = "XLARUN_CUDA"

// wheels returns the plugin wheel of a backend for this machine, nil if none is pinned, and its supporting wheels.
func (s *store) wheels(backend string) (plugin *wheel, support []*wheel, err error) {
	var c choice
	if backend == "cuda" {
		c.driver = s.driver().Major
		if text := s.getenv(envCUDA); text != "" {
			c.release, _ = strconv.Atoi(text)
			plugin, _ = s.pins.forPlatform(backend, s.goos, s.goarch, c)
			if plugin != nil && plugin.Release != c.release {
				return nil, nil, fmt.Errorf("plugin: %s got %q, wants a release of CUDA that a plugin is pinned for, "+
					"which are %s: set it to one of them, or unset it", envCUDA, text,
					strings.Join(s.pins.releases(backend, s.goos, s.goarch), " and "))
			}
		}
	}
	plugin, support = s.pins.forPlatform(backend, s.goos, s.goarch, c)
	return plugin, support, nil
}

// wheelsOf returns the wheels that belong to a plugin, or the wheels of the machine if the plugin matches no pin.
func (s *store) wheelsOf(pin *wheel, backend string) (plugin *wheel, support []*wheel, err error) {
	if pin == nil || pin.Backend != backend {
		return s.wheels(backend)
	}
	plugin, support = s.pins.forPlatform(backend, pin.OS, pin.Arch, choice{release: pin.Release})
	return plugin, support, nil
}

// site returns the folder of a plugin and its supporting wheels. Each file keeps its path in its wheel: the plugin and
// NVIDIA's libraries find each other by relative paths.
func (s *store) site(plugin *wheel) string {
	return filepath.Join(s.Dir, strings.Join([]string{plugin.Name, plugin.Version, plugin.OS, plugin.Arch}, "-"))
}
