package runfolder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"xlarun/internal/files"
)

// Local is a folder as a Store.
type Local string

func (d Local) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Get implements Store.
func (d Local) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

// TryPut returns an error if nothing can be put there. It leaves nothing, nor makes the folder.
func (d Local) TryPut() error {
	dir := filepath.Clean(string(d))
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	part, err := os.CreateTemp(dir, files.Part)
	if err != nil {
		return fmt.Errorf("nothing can be written in %s (%w)", dir, err.(*fs.PathError).Err)
	}
	return errors.Join(part.Close(), os.Remove(part.Name()))
}

// partLife is the time after which a file that begins with files.Part is what a killed process left.
const partLife = time.Hour

// Put implements Store.
func (d Local) Put(ctx context.Context, name string, from io.Reader, _ int64) error {
	to := d.path(name)
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	left, _ := filepath.Glob(filepath.Join(dir, files.Part+"*"))
	for _, part := range left {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > partLife {
			_ = os.Remove(part)
		}
	}
	if err := files.Write(to, untilEnd{ctx, from}); err != nil {
		return err
	}
	return osDisk{}.SyncDir(dir)
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
