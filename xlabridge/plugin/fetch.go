package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// way is one way to come by a wheel.
type way struct {
	// name stands in notices and errors.
	name string
	// has, where not nil, tells whether the way is worth trying for w.
	has func(w *wheel) bool
	// get writes the file of w into dst, which checks it.
	get func(ctx context.Context, w *wheel, dst *sink) error
}

// defaultWays lists the ways of download in the order in which they are tried.
func (s *store) defaultWays() []way {
	conf, err := readPipConfig(s.getenv, os.ReadFile)
	client, clientErr := conf.client()
	if err == nil {
		err = clientErr
	}
	// What is wrong with pip's settings is said by each way that needs them.
	by := func(get func(ctx context.Context, w *wheel, dst *sink) error) func(context.Context, *wheel, *sink) error {
		return func(ctx context.Context, w *wheel, dst *sink) error {
			if err != nil {
				return err
			}
			return get(ctx, w, dst)
		}
	}
	ways := []way{{
		name: "pip's find-links",
		has:  func(w *wheel) bool { return inFindLinks(conf.findLinks, w) != "" },
		get: func(ctx context.Context, w *wheel, dst *sink) error {
			return fromFile(ctx, inFindLinks(conf.findLinks, w), dst)
		},
	}}
	if !conf.noIndex {
		for _, index := range conf.indexes {
			ways = append(ways, way{
				name: "the package index of pip's configuration",
				get: by(func(ctx context.Context, w *wheel, dst *sink) error {
					return fromIndex(ctx, client, index, w, dst)
				}),
			})
		}
		ways = append(ways, way{
			name: "the public package index",
			get: by(func(ctx context.Context, w *wheel, dst *sink) error {
				return fromPublicIndex(ctx, client, w, dst)
			}),
		})
	}
	return append(ways, way{name: "python3 -m pip download", get: fromPip})
}

// fetch brings the wheel to the file path, checked, by the first way that works.
// The error lists what each way said.
func (s *store) fetch(ctx context.Context, w *wheel, path string, p *progress, notice func(string)) error {
	dst, err := newSink(path, w, p.at)
	if err != nil {
		return writeError{err}
	}
	defer dst.close()
	var said []error
	for _, way := range s.ways() {
		if way.has != nil && !way.has(w) {
			continue
		}
		if notice != nil {
			notice(fmt.Sprintf("getting %s (%s) by %s", w.label(), megabytes(w.Size), way.name))
		}
		err := dst.reset()
		if err == nil {
			err = way.get(ctx, w, dst)
		}
		if err == nil {
			err = dst.finish()
		}
		switch {
		case err == nil:
			return nil
		case final(ctx, err):
			return err
		default:
			said = append(said, fmt.Errorf("%s: %w", way.name, cause(err)))
		}
	}
	if len(said) == 0 {
		return errors.New("there is no way to download it")
	}
	return errors.New(joinErrors(said))
}

func joinErrors(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// sink is the file that a wheel is downloaded into. It is hashed as it is
// written, and takes no more bytes than are pinned.
type sink struct {
	w    *wheel
	f    *os.File
	h    hash.Hash
	n    int64
	done func(n int64)
}

// errTooLong: more bytes came than the pin allows.
var errTooLong = errors.New("more bytes came than are pinned")

func newSink(path string, w *wheel, done func(int64)) (*sink, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &sink{w: w, f: f, h: sha256.New(), done: done}, nil
}

func (s *sink) Write(p []byte) (int, error) {
	if s.n+int64(len(p)) > s.w.Size {
		return 0, errTooLong
	}
	s.h.Write(p)
	n, err := s.f.Write(p)
	s.n += int64(n)
	if err != nil {
		return n, writeError{err}
	}
	s.done(s.n)
	return n, nil
}

// reset empties the sink, for the next attempt.
func (s *sink) reset() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return writeError{err}
	}
	if err := s.f.Truncate(0); err != nil {
		return writeError{err}
	}
	s.h.Reset()
	s.n = 0
	return nil
}

// finish checks what was written.
func (s *sink) finish() error {
	if s.n < s.w.Size {
		return fmt.Errorf("it ended after %d of %d bytes", s.n, s.w.Size)
	}
	if sum := hex.EncodeToString(s.h.Sum(nil)); sum != strings.ToLower(s.w.SHA256) {
		return fmt.Errorf("what came has sha256 %s, pinned is %s", sum, s.w.SHA256)
	}
	return nil
}

func (s *sink) close() { _ = s.f.Close() }

// copyFrom fills the sink from r.
func (s *sink) copyFrom(ctx context.Context, r io.Reader) error {
	_, err := io.CopyBuffer(writerFunc(s.Write), onlyReader{ctx, r}, make([]byte, 256<<10))
	return err
}

// inFindLinks is the path of the wheel in the first folder that holds it, or "".
func inFindLinks(links []string, w *wheel) string {
	for _, link := range links {
		path := filepath.Join(strings.TrimPrefix(link, "file://"), w.File)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// brought takes over the file that a program was to download, once it has ended: with what error, and what it said.
func brought(ctx context.Context, err error, output, file string, dst *sink) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("it says: %s", lastLine(output, err))
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("it brought no %s", filepath.Base(file))
	}
	return fromFile(ctx, file, dst)
}

// fromFile copies a wheel that lies on this machine.
func fromFile(ctx context.Context, path string, dst *sink) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return dst.copyFrom(ctx, f)
}
