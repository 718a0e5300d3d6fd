package fetch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Trusted returns an error if a user other than root and the current one owns the file or can change it. The files of a
// plugin are code, and its folder may be shared.
func Trusted(info fs.FileInfo) error {
	if uid, ok := owner(info); ok && uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d", uid)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("it can be changed by other users (mode %04o)", mode)
	}
	return nil
}

// ReadRegular reads a regular file of at most limit bytes. It refuses other files without waiting for the writer of a
// pipe.
func ReadRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no regular file", path)
	}
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than the %d that are allowed", path, info.Size(), limit)
	}
	text, err := io.ReadAll(f)
	return text, info, err
}
