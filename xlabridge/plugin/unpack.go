package plugin

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"xlarun/xlabridge/fetch"
)

var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|(sdk_)?third_party_notices)`)

func isLicense(name string) bool {
	return strings.Contains(name, ".dist-info/licenses/") || licenseName.MatchString(path.Base(name))
}

// unpack writes the wanted files of w and the license texts from the wheel file into the folder out. files describes
// the wanted files. licenses lists the paths of the license texts.
func unpack(ctx context.Context, file string, w *wheel, out string) (files []unpackedFile, licenses []string,
	err error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be opened: %w", fetch.Cause(err))
	}
	defer func() { _ = z.Close() }()
	library := ""
	for _, entry := range z.File {
		wanted := w.wants(entry.Name)
		if entry.FileInfo().IsDir() || !wanted && !isLicense(entry.Name) {
			continue
		}
		f, err := unpackFile(ctx, entry, out)
		switch {
		case err != nil:
			return nil, nil, err
		case wanted:
			files = append(files, f)
		default:
			licenses = append(licenses, f.Path)
		}
		if f.Path == w.Library {
			library = f.SHA256
		}
	}
	switch {
	case w.Library == "" && len(files) == 0:
		return nil, nil, fmt.Errorf("holds none of %s: the pin in third_party/plugins.toml is wrong",
			strings.Join(w.Files, ", "))
	case w.Library != "" && library == "":
		return nil, nil, fmt.Errorf("holds no %s: the pin in third_party/plugins.toml is wrong", w.Library)
	case w.LibrarySHA256 != "" && library != w.LibrarySHA256:
		return nil, nil, fmt.Errorf("holds a %s of sha256 %s, pinned is %s", w.Library, library, w.LibrarySHA256)
	}
	return files, licenses, nil
}

// unpackFile writes an entry of a wheel below out.
func unpackFile(ctx context.Context, entry *zip.File, out string) (unpackedFile, error) {
	local := filepath.FromSlash(entry.Name)
	if !filepath.IsLocal(local) || !entry.Mode().IsRegular() {
		return unpackedFile{}, fmt.Errorf("has an entry %q that is no regular file in its folder", entry.Name)
	}
	r, err := entry.Open()
	if err != nil {
		return unpackedFile{}, fmt.Errorf("cannot be unpacked at %s: %w", entry.Name, err)
	}
	defer func() { _ = r.Close() }()
	target := filepath.Join(out, local)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return unpackedFile{}, err
	}
	mode := os.FileMode(0o644)
	if path.Base(path.Dir(entry.Name)) == "bin" {
		mode = 0o755
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return unpackedFile{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(h, f), fetch.Reader(ctx, r), make([]byte, 1<<20))
	if err != nil {
		return unpackedFile{}, fmt.Errorf("is corrupt at %s: %w", entry.Name, err)
	}
	if err := f.Sync(); err != nil {
		return unpackedFile{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return unpackedFile{}, err
	}
	return unpackedFile{Path: entry.Name, Size: n, ModTime: info.ModTime().UnixNano(),
		SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
