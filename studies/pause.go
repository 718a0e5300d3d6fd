package studies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"xlarun/studies/rdb"
)

// enough are bytes with which a study goes on that had paused.
const enough = 1 << 20

// pause waits, after something went wrong, while there is no room on the disk or the database's server does not answer: paused is true. It says so
// once. A study that another process has taken over meanwhile is none of this one's any more.
func (c *Coordinator) pause(ctx context.Context) (paused bool, _ error) {
	path, _ := rdb.Path(c.Spec.Storage) // it was opened
	over := ""
	for {
		why := ""
		err := c.db.Reach(ctx)
		if errors.Is(err, rdb.ErrTaken) {
			return paused, fmt.Errorf("%w %s in %s by now: it goes on there", rdb.ErrTaken, c.Spec.Name, c.Spec.Where())
		}
		if errors.Is(err, rdb.ErrGone) {
			return paused, fmt.Errorf("%w: trials that ended since are lost; the same command begins anew, or goes on from a copy that is put there", err)
		}
		if err == nil && c.study != nil {
			if gone := c.db.There(c.study.ID()); errors.Is(gone, rdb.ErrDeleted) {
				return paused, c.deleted()
			}
		}
		if free, where := room(path, c.place.dir); free < enough {
			over = "there is room again: the study goes on"
			why = fmt.Sprintf("no space left at %s, of which %d bytes are free: the study pauses until there are %d", where, free, enough)
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
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return true, err
		}
	}
}

// deleted is the end of a study that somebody has deleted.
func (c *Coordinator) deleted() error {
	return fmt.Errorf("%s in %s: %w while it ran, and its trials with it: the same command begins anew", c.Spec.Name, c.Spec.Where(), rdb.ErrDeleted)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// room is the least that is free at the paths.
func room(paths ...string) (free int64, where string) {
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
