package runfolder

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Local is a folder as a Store.
type Local string

func (d Local) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Get implements Store.
func (d Local) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

const (
	// partName begins the name of a file while it is written to a Local. Several processes may write to one.
	partName = ".xlarun-part-"
	// partLife is the time after which such a file is what a killed process left.
	partLife = time.Hour
)

// Put implements Store.
func (d Local) Put(ctx context.Context, name string, from io.Reader, _ int64) error {
	to := d.path(name)
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	left, _ := filepath.Glob(filepath.Join(dir, partName+"*"))
	for _, part := range left {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > partLife {
			_ = os.Remove(part)
		}
	}
	part, err := os.CreateTemp(dir, partName)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, untilEnd{ctx, from})
	if err == nil {
		err = errors.Join(part.Chmod(0o644), part.Sync())
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return osDisk{}.SyncDir(dir)
}

// markOnce is a folder whose files stay as they were written first, where its file system has links.
type markOnce struct{ Local }

// Put implements Store.
func (d markOnce) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	part := partName + rand.Text()
	if err := d.Local.Put(ctx, part, from, size); err != nil {
		return err
	}
	err := os.Link(d.path(part), d.path(name))
	if err == nil || errors.Is(err, fs.ErrExist) {
		return os.Remove(d.path(part))
	}
	return os.Rename(d.path(part), d.path(name))
}

// Remove implements Store.
func (d Local) Remove(_ context.Context, name string) error {
	if err := os.Remove(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// untilEnd reads until its context ends.
type untilEnd struct {
	context.Context
	from io.Reader
}

func (r untilEnd) Read(b []byte) (int, error) {
	if err := r.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(b)
}
