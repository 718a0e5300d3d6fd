package plugin

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"xlarun/third_party/fetch"
)

// licenceLimit bounds the licence texts of one wheel, in bytes.
const licenceLimit = 8 << 20

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|(sdk_)?third_party_notices)`)

func isLicence(name string) bool {
	return strings.Contains(name, ".dist-info/licenses/") || licenceName.MatchString(path.Base(name))
}

// unpack writes what w is wanted for, and the licence texts, from the wheel file
// into the folder out, which it makes. files describes the former, the plugin's
// shared object last; extra names the latter. It refuses names that lead out of
// the folder, anything but regular files, and more bytes than are pinned.
func unpack(ctx context.Context, file string, w *wheel, out string) (files []unpackedFile, extra []string, err error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be opened: %w", fetch.Cause(err))
	}
	defer func() { _ = z.Close() }()
	left, licenceLeft := w.Unpacked, int64(licenceLimit)
	var library *zip.File
	for _, entry := range z.File {
		switch {
		case entry.FileInfo().IsDir():
		case w.Library != "" && entry.Name == w.Library:
			library = entry
		case w.wants(entry.Name):
			f, err := unpackFile(ctx, entry, out, &left)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, f)
		case isLicence(entry.Name):
			f, err := unpackFile(ctx, entry, out, &licenceLeft)
			if err != nil {
				return nil, nil, err
			}
			extra = append(extra, f.Path)
		}
	}
	if w.Library == "" {
		if len(files) == 0 {
			return nil, nil, fmt.Errorf("holds none of %s: the pin in third_party/plugins.toml is wrong", strings.Join(w.Files, ", "))
		}
		return files, extra, nil
	}
	if library == nil {
		return nil, nil, fmt.Errorf("holds no %s: the pin in third_party/plugins.toml is wrong", w.Library)
	}
	f, err := unpackFile(ctx, library, out, &left)
	if err != nil {
		return nil, nil, err
	}
	if w.LibrarySHA256 != "" && f.SHA256 != w.LibrarySHA256 {
		return nil, nil, fmt.Errorf("holds a %s of sha256 %s, pinned is %s", w.Library, f.SHA256, w.LibrarySHA256)
	}
	return append(files, f), extra, nil
}

// unpackFile writes one entry below out and takes its size off *left.
func unpackFile(ctx context.Context, entry *zip.File, out string, left *int64) (unpackedFile, error) {
	local := filepath.FromSlash(entry.Name)
	if !filepath.IsLocal(local) || path.Clean(entry.Name) != entry.Name {
		return unpackedFile{}, fmt.Errorf("has an entry %q that leads out of its folder", entry.Name)
	}
	if !entry.Mode().IsRegular() {
		return unpackedFile{}, fmt.Errorf("has an entry %q that is no regular file", entry.Name)
	}
	tooLarge := fmt.Errorf("unpacks to more bytes than are pinned, at %s", entry.Name)
	if entry.UncompressedSize64 > uint64(*left) {
		return unpackedFile{}, tooLarge
	}
	r, err := entry.Open()
	if err != nil {
		return unpackedFile{}, fmt.Errorf("cannot be unpacked at %s: %w", entry.Name, err)
	}
	defer func() { _ = r.Close() }()

	target := filepath.Join(out, local)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return unpackedFile{}, fetch.WriteError{Err: err}
	}
	mode := os.FileMode(0o644)
	if path.Base(path.Dir(entry.Name)) == "bin" {
		mode = 0o755
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return unpackedFile{}, fmt.Errorf("has the entry %s twice", entry.Name)
	}
	if err != nil {
		return unpackedFile{}, fetch.WriteError{Err: err}
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	// One byte more than allowed, so that an entry that lies about its size is
	// seen.
	src := io.LimitReader(fetch.Reader(ctx, r), *left+1)
	var werr error
	n, err := io.CopyBuffer(fetch.WriterFunc(func(p []byte) (int, error) {
		h.Write(p)
		var n int
		n, werr = f.Write(p)
		return n, werr
	}), src, make([]byte, 1<<20))
	switch {
	case ctx.Err() != nil:
		return unpackedFile{}, ctx.Err()
	case werr != nil:
		return unpackedFile{}, fetch.WriteError{Err: werr}
	case err != nil:
		return unpackedFile{}, fmt.Errorf("is corrupt at %s: %w", entry.Name, err)
	case n > *left:
		return unpackedFile{}, tooLarge
	}
	*left -= n
	if err := f.Sync(); err != nil {
		return unpackedFile{}, fetch.WriteError{Err: err}
	}
	info, err := f.Stat()
	if err != nil {
		return unpackedFile{}, fetch.WriteError{Err: err}
	}
	return unpackedFile{Path: entry.Name, Size: n, ModTime: info.ModTime().UnixNano(), SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
