package studies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"xlarun/studies/rdb"
)

// resumeBytes is the free space in bytes at which a paused study goes on.
const resumeBytes = 1 << 20

// pause waits, after an error, while the disk is full or the server of the database does not answer. paused is true if
// it had to wait, which it says once. It returns an error if the study cannot go on: another process runs it, or it was
// deleted.
func (c *Coordinator) pause(ctx context.Context) (paused bool, _ error) {
	path, _ := rdb.Path(c.Spec.Storage) // it was opened
	over := ""
	for every := 20 * time.Millisecond; ; every = min(2*every, 500*time.Millisecond) {
		why := ""
		err := c.db.Ping(ctx)
		if errors.Is(err, rdb.ErrTaken) {
			return paused, fmt.Errorf("%w %s in %s by now: it goes on there", rdb.ErrTaken, c.Spec.Name, c.Spec.Where())
		}
		if errors.Is(err, rdb.ErrGone) {
			return paused, fmt.Errorf("%w: trials that ended since are lost; the same command begins anew, or goes "+
				"on from a copy that is put there", err)
		}
		if err == nil && c.study != nil {
			if gone := c.db.Exists(c.study.ID()); errors.Is(gone, rdb.ErrDeleted) {
				return paused, c.deleted()
			}
		}
		if free, where := freeSpace(path, c.workdir.dir); free < resumeBytes {
			over = "there is room again: the study goes on"
			why = fmt.Sprintf("no space left at %s, of which %d bytes are free: the study pauses until there are %d",
				where, free, resumeBytes)
		} else if err != nil && path == "" {
			over = "the server answers again: the study goes on"
			why = fmt.Sprintf("%v: the study pauses until it answers", err)
		}
		if why == "" {
			if paused {
				c.notice("%s", over)
			}
			return paused, nil
		}
		if !paused {
			c.notice("%s", why)
			paused = true
		}
		if err := wait(ctx, every); err != nil {
			return true, err
		}
	}
}

// deleted returns the error of a study that was deleted while it ran.
func (c *Coordinator) deleted() error {
	return fmt.Errorf("%s in %s: %w while it ran, and its trials with it: the same command begins anew", c.Spec.Name,
		c.Spec.Where(), rdb.ErrDeleted)
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// freeSpace returns the least free space in bytes at the paths, and where it is.
func freeSpace(paths ...string) (free int64, where string) {
	free = 1 << 62
	for _, path := range paths {
		var s unix.Statfs_t
		if unix.Statfs(path, &s) != nil {
			continue
		}
		if n := int64(s.Bavail) * int64(s.Bsize); n < free {
			free, where = n, path
		}
	}
	return free, where
}
