// Package fetch holds what all that is fetched from outside shares, whatever registry knows it: the cache folder and
// its lock, downloads that go on where they broke, and checks by size and sha256. The packages below it know the
// registries: plugin that of Python's wheels, data that of npm's packages.
package fetch

import "errors"

// ErrNotInstalled is wrapped by the errors of the packages below where an artefact is neither there nor to be had:
// offline, no way of download worked, or no pin for this platform.
var ErrNotInstalled = errors.New("not installed")

// Artefact is one pinned file of a registry. The checksum decides whether what came is taken, whatever way it came.
type Artefact struct {
	Name    string `toml:"name"` // of the distribution or package
	Version string `toml:"version"`
	File    string `toml:"file"`   // the exact file of it
	SHA256  string `toml:"sha256"` // of the file, in hex
	Size    int64  `toml:"size"`   // of the file, in bytes
	Licence string `toml:"licence"`
	// Unpacked is what is taken out of the file, in bytes.
	Unpacked int64 `toml:"unpacked"`
}

// Label is the artefact as errors and notices name it.
func (a *Artefact) Label() string { return a.Name + " " + a.Version }
