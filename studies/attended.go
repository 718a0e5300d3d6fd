package studies

import (
	"os"
	"time"

	"xlarun/rollout/study"
	"xlarun/studies/rdb"
)

// Attended tells whether a process runs a study of ours, with its trials. Where it cannot be seen by the lock that such a process holds, as on another machine, it is taken to run one for two leases after anything
// was heard of it.
func Attended(d *rdb.DB, of *study.Study, trials []*study.FrozenTrial) (bool, error) {
	beside, err := rdb.Beside(d.String())
	if err != nil {
		return false, err
	}
	lock := Place{beside + ".work"}.coordinator(of.Name)
	if _, err := os.Stat(lock); err == nil { // to look is not to make it
		if locked(lock) {
			return true, nil
		}
		if path, err := rdb.Path(d.String()); err == nil && path != "" {
			return false, nil
		}
	}
	ttl := 2 * time.Minute
	if s, err := SpecOf(d, of.ID()); err == nil {
		if ttl, err = s.leaseTime(); err != nil {
			return false, err
		}
	}
	last, err := d.Heard(of.ID())
	if err != nil {
		return false, err
	}
	for _, t := range trials {
		for _, at := range []time.Time{t.Start, t.Complete} {
			if t.SystemAttrs[study.SeesAttr] != nil && at.After(last) {
				last = at
			}
		}
	}
	return time.Since(last) < 2*ttl, nil
}
