package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"syscall"
)

// ErrNotInstalled matches the errors for an artifact that is not installed and cannot be downloaded: downloads are off,
// all sources fail, or the platform has no pin.
var ErrNotInstalled = errors.New("not installed")

// Absent makes err match [ErrNotInstalled] without changing its text.
func Absent(err error) error { return absent{err} }

type absent struct{ error }

func (e absent) Unwrap() error        { return e.error }
func (e absent) Is(target error) bool { return target == ErrNotInstalled }

// Cause strips the operation and path that package os puts before an error, for sentences that already name the file.
func Cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	// The text of a url.Error holds the address, which may hold a password.
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

// isLocal reports whether err is a failed operation on a file of this machine, which no other source can mend.
func isLocal(err error) bool {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	return errors.As(err, &pathErr) || errors.As(err, &linkErr)
}

// writeError words a failure to write below the store. need is the space that the installation takes, in bytes; 0 means
// unknown.
func (s *Store) writeError(need int64, err error) error {
	err = Cause(err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		takes := ""
		if need > 0 {
			takes = fmt.Sprintf(" (it takes %s)", Megabytes(need))
		}
		return fmt.Errorf("%s: no space left to install the %s in %s%s: free some, or set %s to a folder on another "+
			"disk: %w", s.Package, s.Noun, s.Dir, takes, EnvCache, err)
	}
	return fmt.Errorf("%s: cannot write to the cache folder %s (%w): make it writable, or set %s to a folder that is",
		s.Package, s.Dir, err, EnvCache)
}

// Megabytes formats a number of bytes.
func Megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }
