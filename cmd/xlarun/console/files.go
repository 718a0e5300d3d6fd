package console

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Cause is an error without the operation and the path, for sentences that name the file.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Exists tells whether there is anything at a path; a link counts, wherever it leads.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// WriteFile puts a file at a path, whole or not at all.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone where all went well
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
