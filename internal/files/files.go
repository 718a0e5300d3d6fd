// Package files reads files that users name.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
