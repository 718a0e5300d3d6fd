package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// Sink is the file that an artefact is downloaded into. It is hashed as it is written, and takes no more bytes than are
// pinned.
type Sink struct {
	a    *Artefact
	f    *os.File
	h    hash.Hash
	n    int64
	done func(n int64)
}

// errTooLong: more bytes came than the pin allows.
var errTooLong = errors.New("more bytes came than are pinned")

// NewSink makes the file path, which must not exist, for an artefact of which Size and SHA256 count. done hears of the
// bytes that are there.
func NewSink(path string, a *Artefact, done func(n int64)) (*Sink, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Sink{a: a, f: f, h: sha256.New(), done: done}, nil
}

func (s *Sink) Write(p []byte) (int, error) {
	if s.n+int64(len(p)) > s.a.Size {
		return 0, errTooLong
	}
	s.h.Write(p)
	n, err := s.f.Write(p)
	s.n += int64(n)
	if err != nil {
		return n, WriteError{err}
	}
	s.done(s.n)
	return n, nil
}

// reset empties the sink, for the next attempt.
func (s *Sink) reset() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return WriteError{err}
	}
	if err := s.f.Truncate(0); err != nil {
		return WriteError{err}
	}
	s.h.Reset()
	s.n = 0
	return nil
}

// Finish checks what was written.
func (s *Sink) Finish() error {
	if s.n < s.a.Size {
		return fmt.Errorf("it ended after %d of %d bytes", s.n, s.a.Size)
	}
	if sum := hex.EncodeToString(s.h.Sum(nil)); sum != strings.ToLower(s.a.SHA256) {
		return fmt.Errorf("what came has sha256 %s, pinned is %s", sum, s.a.SHA256)
	}
	return nil
}

// Sync makes the file durable.
func (s *Sink) Sync() error {
	if err := s.f.Sync(); err != nil {
		return WriteError{err}
	}
	return nil
}

// Close closes the file.
func (s *Sink) Close() { _ = s.f.Close() }

// CopyFrom fills the sink from r until ctx ends.
func (s *Sink) CopyFrom(ctx context.Context, r io.Reader) error {
	_, err := io.CopyBuffer(WriterFunc(s.Write), Reader(ctx, r), make([]byte, 256<<10))
	return err
}

// CopyFile fills the sink from a file on this machine.
func (s *Sink) CopyFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return s.CopyFrom(ctx, f)
}
