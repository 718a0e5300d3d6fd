package studies

import (
	"maps"
	"os"
	"slices"
	"time"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// IsRunning reports whether a process runs a study of this program. If its lock cannot be seen, because the process is
// on another machine, the study counts as running for two leases after its last heartbeat.
func IsRunning(d *rdb.DB, st *study.Study, trials []*study.FrozenTrial) (bool, error) {
	w, err := workdirOf(d.String())
	if err != nil {
		return false, err
	}
	lock := w.coordinator(st.Name)
	if _, err := os.Stat(lock); err == nil { // locked would make the file
		held, err := locked(lock)
		if held {
			return true, nil
		}
		if path, pathErr := rdb.Path(d.String()); err == nil && pathErr == nil && path != "" {
			return false, nil
		}
	}
	ttl := 2 * time.Minute
	if s, err := SpecOf(d, st.ID()); err == nil {
		if ttl, err = s.leaseTime(); err != nil {
			return false, err
		}
	}
	beats, err := d.Heartbeats(st.ID())
	if err != nil {
		return false, err
	}
	last := slices.MaxFunc(append(slices.Collect(maps.Values(beats)), time.Time{}), time.Time.Compare)
	for _, t := range trials {
		for _, seen := range []time.Time{t.Start, t.Complete} {
			if t.SystemAttrs[study.SeesAttr] != nil && seen.After(last) {
				last = seen
			}
		}
	}
	return time.Since(last) < 2*ttl, nil
}
