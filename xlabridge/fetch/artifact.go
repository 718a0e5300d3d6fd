package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Artifact is one pinned file of a registry.
type Artifact struct {
	Name    string `toml:"name"` // of the distribution or package
	Version string `toml:"version"`
	File    string `toml:"file"`   // the file's name
	SHA256  string `toml:"sha256"` // of the file, in hex
	Size    int64  `toml:"size"`   // of the file, in bytes
	License string `toml:"license"`
	// Unpacked is the size of what is unpacked from the file, in bytes.
	Unpacked int64 `toml:"unpacked"`
}

// Label names the artifact in errors and notices.
func (a *Artifact) Label() string { return a.Name + " " + a.Version }

// Source is a place that an artifact can be downloaded from.
type Source struct {
	// Name stands in notices and errors.
	Name string
	// Get writes the file of a into dst.
	Get func(ctx context.Context, a *Artifact, dst *Sink) error
}

// Fetch downloads the artifact to the new file path from the first source that works, and checks it. The error lists
// what went wrong with each source. progress receives the number of bytes written so far, which never falls; notice
// receives a line for each source. Both may be nil.
func Fetch(ctx context.Context, a *Artifact, path string, sources []Source, progress func(done int64),
	notice func(string)) error {
	dst, err := newSink(path, a, progress)
	if err != nil {
		return err
	}
	defer dst.close()
	var failures []string
	for _, source := range sources {
		if notice != nil {
			notice(fmt.Sprintf("getting %s (%s) by %s", a.Label(), Megabytes(a.Size), source.Name))
		}
		err := dst.reset()
		if err == nil {
			err = source.Get(ctx, a, dst)
		}
		if err == nil {
			err = dst.check()
		}
		if err == nil || ctx.Err() != nil || isLocal(err) {
			return err
		}
		failures = append(failures, fmt.Sprintf("%s: %v", source.Name, Cause(err)))
	}
	if len(failures) == 0 {
		return errors.New("there is no way to download it")
	}
	return errors.New(strings.Join(failures, "; "))
}

// WriteFile copies r to the new file path, checks it against the artifact's size and sha256, and makes it durable.
func WriteFile(ctx context.Context, path string, a *Artifact, r io.Reader) error {
	dst, err := newSink(path, a, nil)
	if err != nil {
		return err
	}
	defer dst.close()
	if err := dst.CopyFrom(ctx, r); err != nil {
		return err
	}
	if err := dst.check(); err != nil {
		return err
	}
	return dst.f.Sync()
}
