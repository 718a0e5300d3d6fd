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

// manifest describes an unpacked wheel. It is written last: without it, the wheel is not installed.
type manifest struct {
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Wheel       string         `json:"wheel"`
	WheelSHA256 string         `json:"wheel_sha256"`
	Files       []unpackedFile `json:"files"`
}

// unpackedFile describes a file when it was checked. If its size and time are unchanged, it is not read again: a start
// would otherwise read hundreds of megabytes.
type unpackedFile struct {
	Path    string `json:"path"` // below the site, with slashes
	Size    int64  `json:"size"` // bytes
	ModTime int64  `json:"mtime_ns"`
	SHA256  string `json:"sha256"`
}

// manifestsName is the folder of a site's manifests; manifestLimit is their largest size in bytes.
const (
	manifestsName = "manifests"
	manifestLimit = 1 << 20
)

func manifestPath(site string, w *wheel) string {
	return filepath.Join(site, manifestsName, w.Name+".json")
}

// errAbsent means that a wheel has no manifest in the site.
var errAbsent = errors.New("not installed")

// verify returns the manifest of w in site if all files are unchanged since they were unpacked. It reads a file whose
// time has changed, and compares the checksum. If another user owns or can change a file, verify accepts only a plugin
// with a pinned checksum, and reads it each time. An error other than errAbsent says what is damaged.
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
		// The files are whole but have new times. In a read-only cache they are read again at each start.
		_ = fetch.WriteJSON(manifestPath(site, w), &m)
	}
	return &m, nil
}

// verifyPinned is verify for files that other users can change. It trusts no record in the cache.
func verifyPinned(ctx context.Context, site string, w *wheel, distrust error) (*manifest, error) {
	if w.Library == "" || w.LibrarySHA256 == "" || len(w.Files) > 0 {
		return nil, fmt.Errorf("it is not trusted, since %w", distrust)
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

// sha256Of returns the checksum of a file of the manifest, or "".
func (m *manifest) sha256Of(path string) string {
	for _, f := range m.Files {
		if f.Path == path {
			return f.SHA256
		}
	}
	return ""
}
