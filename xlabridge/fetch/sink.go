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

// Sink is the file that an artifact is downloaded into. It accepts at most the pinned number of bytes.
type Sink struct {
	a        *Artifact
	f        *os.File
	h        hash.Hash
	n        int64 // bytes written since the last reset
	reported int64
	progress func(done int64)
}

var errTooLong = errors.New("more bytes came than are pinned")

func newSink(path string, a *Artifact, progress func(done int64)) (*Sink, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Sink{a: a, f: f, h: sha256.New(), progress: progress}, nil
}

func (s *Sink) close() { _ = s.f.Close() }

func (s *Sink) Write(p []byte) (int, error) {
	if s.n+int64(len(p)) > s.a.Size {
		return 0, errTooLong
	}
	n, err := s.f.Write(p)
	s.h.Write(p[:n])
	s.n += int64(n)
	s.report(s.n)
	return n, err
}

// report passes n bytes on to progress, except when a new attempt has not yet reached the bytes of an earlier one.
func (s *Sink) report(n int64) {
	if s.progress != nil && n > s.reported {
		s.reported = n
		s.progress(n)
	}
}

// reset empties the sink for the next attempt.
func (s *Sink) reset() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s.h.Reset()
	s.n = 0
	return s.f.Truncate(0)
}

// check compares the bytes written with the pinned size and sha256.
func (s *Sink) check() error {
	if s.n < s.a.Size {
		return fmt.Errorf("it ended after %d of %d bytes", s.n, s.a.Size)
	}
	if sum := hex.EncodeToString(s.h.Sum(nil)); sum != strings.ToLower(s.a.SHA256) {
		return fmt.Errorf("what came has sha256 %s, pinned is %s", sum, s.a.SHA256)
	}
	return nil
}

// CopyFrom copies r into the sink. It stops when ctx ends.
func (s *Sink) CopyFrom(ctx context.Context, r io.Reader) error {
	_, err := io.CopyBuffer(s, Reader(ctx, r), make([]byte, 256<<10))
	return err
}
