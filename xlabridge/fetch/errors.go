package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"syscall"
)

// Cause strips the operation and path that os puts before an error, for sentences that already name the file.
func Cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	// An index address may carry a password; url.Error would print the address.
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

// Absent makes the sentence err mean [ErrNotInstalled] without saying so again.
func Absent(err error) error { return absent{err} }

type absent struct{ error }

func (e absent) Unwrap() error        { return e.error }
func (e absent) Is(target error) bool { return target == ErrNotInstalled }

// WriteError is a failure to write on this machine, as the code that wrote met it; [Store.Writing] words it.
type WriteError struct{ Err error }

func (e WriteError) Error() string { return e.Err.Error() }

// Unwrap returns what was met.
func (e WriteError) Unwrap() error { return e.Err }

// LocalError is a defect of this machine (no space, no permission), worded for the user; another way of download cannot
// mend it.
type LocalError struct{ Err error }

func (e LocalError) Error() string { return e.Err.Error() }

// Unwrap returns the sentence.
func (e LocalError) Unwrap() error { return e.Err }

// Writing words a failure to write below the store as one sentence. need is the room that the installation takes, in
// bytes, or 0 where it is not known.
func (s *Store) Writing(need int64, err error) error {
	err = Cause(err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		room := ""
		if need > 0 {
			room = fmt.Sprintf(" (it takes %s)", Megabytes(need))
		}
		return LocalError{fmt.Errorf("%s: no space left to install the %s in %s%s: free some, or set %s to a folder "+
			"on another disk: %w", s.Package, s.Noun, s.Dir, room, EnvCache, err)}
	}
	return LocalError{fmt.Errorf("%s: cannot write to the cache folder %s (%w): make it writable, or set %s to a "+
		"folder that is", s.Package, s.Dir, err, EnvCache)}
}

// final reports whether err ends the installation, rather than only one way of download.
func final(ctx context.Context, err error) bool {
	var local LocalError
	var write WriteError
	return ctx.Err() != nil || errors.As(err, &local) || errors.As(err, &write)
}

// Megabytes words a number of bytes.
func Megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }
