package studies

import "time"

// death is the end of a worker that had a trial and did not give it back.
type death struct {
	trial  int64
	at     time.Time
	silent bool // it fell silent: `at` is when it was heard last
}

const (
	// sameCauseWithin is the time within which deaths of several workers of this machine have one cause.
	sameCauseWithin = time.Second
	// excusedFactor is how many times as many workers as Spec.Attempts may die of something else, before the trial
	// fails too: all trials may be of the kind that kills workers.
	excusedFactor = 10
)

// sameCause reports whether the workers of two trials died at the same time, so that neither trial is the likely cause:
// their machine went down, or somebody ended all processes.
func (s *server) sameCause(a, b *death) bool {
	within := sameCauseWithin
	if a.silent || b.silent { // a worker is heard a few times in a lease's time
		within = s.ttl / 2
	}
	return a.trial != b.trial && a.at.Sub(b.at).Abs() < within
}

// recordDeath records the death of the worker that has a lease, once, unless it gave the trial back. It excuses trials
// that were blamed for a death at the same time. s.mu is held.
func (s *server) recordDeath(trial int64, l *lease, at time.Time, silent bool) {
	if l.Worker == "" || l.released || l.death != nil || l.freed {
		return
	}
	d := &death{trial, at, silent}
	l.death = d
	recent := s.deaths[:0]
	for _, x := range s.deaths {
		if s.now().Sub(x.at) < 2*s.ttl+sameCauseWithin {
			recent = append(recent, x)
		}
	}
	s.deaths = append(recent, d)
	for _, other := range s.leases {
		if other.blamed != nil && s.sameCause(other.blamed, d) {
			other.blamed = nil
			other.Attempts--
			other.Excused++
		}
	}
}

// excused reports whether the worker that had a lease died of something else than its trial: with workers of other
// trials, or with the coordinator. s.mu is held.
func (s *server) excused(l *lease) bool {
	if l.unheard {
		return true
	}
	if l.death == nil {
		return false
	}
	for _, d := range s.deaths {
		if s.sameCause(l.death, d) {
			return true
		}
	}
	return false
}
