package console

import (
	"errors"
	"io/fs"
	"os"
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
