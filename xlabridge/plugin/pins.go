package plugin

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	thirdparty "xlarun/third_party"
	"xlarun/xlabridge/fetch"
)

// wheel is a pinned wheel. third_party/plugins.toml documents the fields.
type wheel struct {
	fetch.Artifact
	Backend       string   `toml:"backend"`
	OS            string   `toml:"os"`
	Arch          string   `toml:"arch"`
	Release       int      `toml:"release"`
	Driver        int      `toml:"driver"`
	Library       string   `toml:"library"`
	LibrarySHA256 string   `toml:"library_sha256"`
	Files         []string `toml:"files"`
	Preload       []string `toml:"preload"`
	Optional      bool     `toml:"optional"`
	Compile       bool     `toml:"compile"`
}

// wants reports whether the entry name of the wheel is to be unpacked.
func (w *wheel) wants(name string) bool {
	if w.Library != "" && name == w.Library {
		return true
	}
	for _, pattern := range w.Files {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

type pinSet []wheel

var loadPins = sync.OnceValues(func() (pinSet, error) { return parsePins(thirdparty.PluginPins) })

func parsePins(text []byte) (pinSet, error) {
	var file struct {
		Wheel pinSet `toml:"wheel"`
	}
	dec := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("plugin: the pins in third_party/plugins.toml cannot be read: %w", err)
	}
	for i := range file.Wheel {
		if err := file.Wheel[i].check(); err != nil {
			return nil, fmt.Errorf("plugin: third_party/plugins.toml, wheel %d (%s): %w", i, file.Wheel[i].Name, err)
		}
	}
	return file.Wheel, nil
}

func (w *wheel) check() error {
	if _, err := checkBackend(w.Backend); err != nil || w.Backend == "" {
		return fmt.Errorf("backend %q is not known", w.Backend)
	}
	if w.OS == "" || w.Arch == "" || w.Name == "" || w.Version == "" || w.File == "" {
		return errors.New("os, arch, name, version and file are all needed")
	}
	if strings.ContainsAny(w.Name+w.Version+w.File, "/\\") {
		return errors.New("name, version and file hold no slash")
	}
	if sum, err := hex.DecodeString(w.SHA256); err != nil || len(sum) != 32 {
		return fmt.Errorf("sha256 %q is not 64 hex digits", w.SHA256)
	}
	if w.Size <= 0 || w.Unpacked <= 0 {
		return errors.New("size and unpacked are above 0")
	}
	if w.Release < 0 || w.Driver < 0 || w.Driver > 0 && w.Library == "" {
		return errors.New("release and driver are above 0, and driver is a plugin's")
	}
	if w.Library == "" && len(w.Files) == 0 {
		return errors.New("either library or files is needed")
	}
	for _, name := range append([]string{w.Library}, w.Files...) {
		if name != "" && !fs.ValidPath(name) {
			return fmt.Errorf("path %q leaves the wheel", name)
		}
	}
	return nil
}

// choice says which of several plugins of a backend is wanted.
type choice struct {
	driver  int // major version of the device's driver; 0: not known, so the first plugin is taken
	release int // of the vendor's libraries; 0: the first that the driver is new enough for
}

func (c choice) takes(w *wheel) bool {
	if c.release != 0 {
		return w.Release == c.release
	}
	return c.driver == 0 || w.Driver <= c.driver
}

// forPlatform returns the plugin wheel of a backend, nil if none is pinned, and its supporting wheels in the order of
// the file. If the choice takes no plugin, it is the last one: its libraries need the oldest driver.
func (p pinSet) forPlatform(backend, goos, goarch string, c choice) (plugin *wheel, support []*wheel) {
	var wheels []*wheel
	for i := range p {
		w := &p[i]
		if w.Backend != backend || w.OS != goos || w.Arch != goarch {
			continue
		}
		if wheels = append(wheels, w); w.Library != "" && (plugin == nil || !c.takes(plugin)) {
			plugin = w
		}
	}
	if plugin == nil {
		return nil, nil
	}
	for _, w := range wheels {
		if w.Library == "" && w.Release == plugin.Release {
			support = append(support, w)
		}
	}
	return plugin, support
}

// releases returns the releases of the vendor's libraries that a backend has a plugin for, in the order of the file.
func (p pinSet) releases(backend, goos, goarch string) []string {
	var all []string
	for i := range p {
		if w := &p[i]; w.Backend == backend && w.OS == goos && w.Arch == goarch && w.Library != "" {
			all = append(all, strconv.Itoa(w.Release))
		}
	}
	return all
}

// byLibrary returns the wheel whose shared object has the checksum sum, or nil.
func (p pinSet) byLibrary(sum string) *wheel {
	for i := range p {
		if p[i].Library != "" && strings.EqualFold(p[i].LibrarySHA256, sum) {
			return &p[i]
		}
	}
	return nil
}
