package console

import (
	"bytes"
	"os"

	"xlarun/internal/files"
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
	return files.Write(path, bytes.NewReader(data))
}
