// Package files reads and writes whole files.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Read reads a regular file of at most so many bytes. Its errors go after the file's name, which they lack.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, errors.New("it is no regular file")
	}
	if err == nil && info.Size() > most {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), most)
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("it cannot be read (%w)", wrong.Err)
	}
	return b, err
}

// Part begins the name of a file while it is written.
const Part = ".xlarun-part-"

// Write writes the file at a path. A failure leaves the old file.
func Write(to string, from io.Reader) error {
	part, err := os.CreateTemp(filepath.Dir(to), Part)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, from)
	if err == nil {
		err = part.Chmod(0o644)
	}
	if err == nil {
		err = part.Sync()
	}
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}
