package console

import (
	"os"
	"path/filepath"

	"xlarun/xlabridge/fetch"
)

// Cause returns an error without the operation and the path, for sentences that name the file.
func Cause(err error) error { return fetch.Cause(err) }

// Exists reports whether the path exists. A dangling link exists.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// WriteFile writes the file at a path. A failure leaves the old file.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
