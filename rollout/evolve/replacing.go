package evolve

import (
	"errors"
	"maps"
	"sync"

	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// replacing is a run that replaces its evolution by another one, with the layout of the first. Its snapshots say to
// which evolution they belong.
type replacing struct {
	*Evolution // the current one
	backend    xlabridge.Backend
	first      Config // with the chosen layout
	snapshotExtra

	mu sync.Mutex
	// evolutions has the newest evolution of each key. All except the current one are closed; they only read snapshots.
	evolutions map[string]*Evolution
}

// snapshotExtra is what a run adds to the snapshots of its evolutions.
type snapshotExtra struct {
	prefix string // begins the names of the arrays that it adds
	arrays func() map[string]*graph.Array
	key    func(run.Snapshot) (string, error) // of the evolution that a snapshot belongs to
	// wrong returns the error of a snapshot with a key that no evolution of the run has had.
	wrong func(key string) error
}

// init begins the run with an evolution. first is the config of the run, c that of the evolution.
func (r *replacing) init(b xlabridge.Backend, first, c Config, key string, extra snapshotExtra) error {
	r.backend, r.first, r.snapshotExtra, r.evolutions = b, first.clone(), extra, map[string]*Evolution{}
	if err := r.put(c, key, nil); err != nil {
		return err
	}
	r.first.keepLayout(r.Evolution)
	return nil
}

// put makes an evolution, at its first state, the current one. It takes over the exam of the one before.
func (r *replacing) put(c Config, key string, exam *episode.ActingJudge) error {
	e, err := newEvolution(r.backend, c, exam)
	if err != nil {
		return err
	}
	e.outer = r.prefix
	r.mu.Lock()
	r.Evolution, r.evolutions[key] = e, e
	r.mu.Unlock()
	return nil
}

// replace replaces the current evolution by another one, at its first state. It frees the old one first, since both may
// not fit in memory.
func (r *replacing) replace(c Config, key string) error {
	exam, failed := r.exam, r.failedExam
	r.exam = nil // Close leaves it to the next one
	if err := r.Evolution.Close(); err != nil {
		if exam != nil {
			err = errors.Join(err, exam.Close())
		}
		return err
	}
	if err := r.put(c, key, exam); err != nil {
		return err
	}
	r.failedExam = failed
	return nil
}

func (r *replacing) current() *Evolution { return r.Evolution }

// Snapshot returns the evolution's snapshot with what the run adds.
func (r *replacing) Snapshot() (run.Snapshot, error) { return r.with(r.Evolution.Snapshot()) }

// InPlace returns the same, with the state where it is.
func (r *replacing) InPlace() (run.Snapshot, error) { return r.with(r.Evolution.InPlace()) }

func (r *replacing) with(s run.Snapshot, err error) (run.Snapshot, error) {
	if err == nil {
		maps.Copy(s.Arrays, r.snapshotExtra.arrays())
	}
	return s, err
}

// Candidates returns the candidates of a snapshot of any evolution that this run has had.
func (r *replacing) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	e, err := r.of(s)
	if err != nil {
		return nil, err
	}
	return e.Candidates(s)
}

// Fame returns the hall of fame of a snapshot of any evolution that this run has had.
func (r *replacing) Fame(s run.Snapshot) ([]run.Famed, error) {
	e, err := r.of(s)
	if err != nil {
		return nil, err
	}
	return e.Fame(s)
}

// of returns the evolution that a snapshot belongs to.
func (r *replacing) of(s run.Snapshot) (*Evolution, error) {
	key, err := r.snapshotExtra.key(s)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.evolutions[key]; e != nil {
		return e, nil
	}
	return nil, r.wrong(key)
}
