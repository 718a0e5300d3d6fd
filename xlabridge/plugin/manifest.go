package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"xlarun/xlabridge/fetch"
)

// manifest records one unpacked wheel. It is written last, so that files
// without one are not taken for an installation.
type manifest struct {
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Wheel       string         `json:"wheel"`
	WheelSHA256 string         `json:"wheel_sha256"`
	Files       []unpackedFile `json:"files"`
}

// unpackedFile is a file as it was when it was checked. While size and time
// stay the same the checksum is believed, so that a warm start does not read
// hundreds of megabytes.
type unpackedFile struct {
	Path    string `json:"path"` // below the site, with slashes
	Size    int64  `json:"size"` // bytes
	ModTime int64  `json:"mtime_ns"`
	SHA256  string `json:"sha256"`
}

// manifestsName is the folder of a site that holds its manifests, manifestLimit the most bytes of one.
const (
	manifestsName = "manifests"
	manifestLimit = 1 << 20
)

func manifestPath(site string, w *wheel) string {
	return filepath.Join(site, manifestsName, w.Name+".json")
}

// errAbsent: the wheel has no manifest in the site, as opposed to a damaged one.
var errAbsent = errors.New("not installed")

// verify returns the manifest of w in site if all its files are as they were
// unpacked; a file whose size or time differs is read and compared by checksum.
// Files that another user made or can change are code of that user's: of these
// only a plugin counts, and only if its checksum, taken now, is the pinned one.
// An error other than errAbsent says what is damaged.
func verify(ctx context.Context, site string, w *wheel) (*manifest, error) {
	text, info, err := fetch.ReadRegular(manifestPath(site, w), manifestLimit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, err
	}
	distrust := fetch.Trusted(info)
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if m.WheelSHA256 != w.SHA256 {
		return nil, errors.New("its manifest belongs to another wheel")
	}
	holdsLibrary := w.Library == ""
	touched := false
	for i := range m.Files {
		f := &m.Files[i]
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return nil, fmt.Errorf("its manifest names %q", f.Path)
		}
		holdsLibrary = holdsLibrary || f.Path == w.Library
		path := filepath.Join(site, filepath.FromSlash(f.Path))
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() != f.Size {
			return nil, fmt.Errorf("%s has changed", f.Path)
		}
		if distrust == nil {
			distrust = fetch.Trusted(info)
		}
		if info.ModTime().UnixNano() == f.ModTime {
			continue
		}
		sum, err := fetch.HashFile(ctx, path)
		if err != nil {
			return nil, err
		}
		if sum != f.SHA256 {
			return nil, fmt.Errorf("%s has changed", f.Path)
		}
		f.ModTime = info.ModTime().UnixNano()
		touched = true
	}
	if !holdsLibrary || len(m.Files) == 0 {
		return nil, errors.New("its manifest lacks files")
	}
	if distrust != nil {
		return verifyPinned(ctx, site, w, distrust)
	}
	if touched {
		// Copied or touched, but whole. A read-only cache only costs a rehash
		// at each start.
		_ = fetch.WriteJSON(manifestPath(site, w), &m)
	}
	return &m, nil
}

// verifyPinned is verify where nothing that was recorded can be believed.
func verifyPinned(ctx context.Context, site string, w *wheel, distrust error) (*manifest, error) {
	if w.Library == "" || w.LibrarySHA256 == "" || len(w.Files) > 0 {
		return nil, fmt.Errorf("it is not believed, since %w", distrust)
	}
	path := filepath.Join(site, filepath.FromSlash(w.Library))
	sum, err := fetch.HashFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(sum, w.LibrarySHA256) {
		return nil, fmt.Errorf("%s has changed, and %w", w.Library, distrust)
	}
	return &manifest{Name: w.Name, Version: w.Version, Wheel: w.File, WheelSHA256: w.SHA256, Files: []unpackedFile{
		{Path: w.Library, SHA256: sum}}}, nil
}

// sha256Of is the recorded checksum of a file of the manifest, or "".
func (m *manifest) sha256Of(path string) string {
	for _, f := range m.Files {
		if f.Path == path {
			return f.SHA256
		}
	}
	return ""
}
