package studies

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"xlarun/studies/rdb"
)

// enough are bytes with which a study goes on that had paused.
const enough = 1 << 20

// pause waits, after something went wrong, for room on the disk, where there is none: paused is true. It says so once.
func (c *Coordinator) pause(ctx context.Context) (paused bool, _ error) {
	path, _ := rdb.Path(c.Spec.Storage) // it was opened
	for {
		free, where := room(path, c.place.dir)
		if free >= enough {
			if paused {
				c.notice("there is room again: the study goes on")
			}
			return paused, nil
		}
		if !paused {
			c.notice("no space left at %s, of which %d bytes are free: the study pauses until there are %d", where, free, enough)
			paused = true
		}
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return true, err
		}
	}
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
