package session

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
)

// keep copies the state to the host, and writes it to the disk, when each is due. If a file cannot be written, the run
// says so and goes on: the next checkpoint may succeed. At the end of the run it is an error.
func (s *session) keep() error {
	if s.Folder == nil {
		return nil
	}
	err := s.keepState()
	unwritten, ok := errors.AsType[*runfolder.WriteError](err)
	if !ok {
		return err
	}
	s.Observer.Notice(fmt.Sprintf("%v; the run goes on from %s %d and will try again", unwritten, s.Kind.Unit,
		s.last.Step))
	return nil
}

func (s *session) keepState() error {
	now := time.Now()
	due := s.checkpointAt.IsZero() || s.Cadence.due(s.last.Step, s.checkpointed, now.Sub(s.checkpointAt))
	if due || now.Sub(s.heldAt) > max(snapshotEvery, holdShare*s.holding) {
		if err := s.hold(); err != nil {
			return err
		}
		s.heldAt = time.Now()
	}
	if !due {
		return nil
	}
	s.checkpointAt, s.checkpointed = now, s.last.Step
	// Before the checkpoint: after a kill, the kind's files are never older than the state. A run that is resumed after
	// its last step cannot write all of them again.
	if err := s.writeFiles(); err != nil {
		return err
	}
	if s.evaluator == nil && s.player() != nil { // it is compiled first, and the state does not wait
		if err := s.checkpoint(); err != nil {
			return err
		}
		return s.result(false, 0)
	}
	// before the checkpoint: after a kill, the best member is never older than the state
	if err := s.result(false, 0); err != nil {
		return err
	}
	return s.checkpoint()
}

// hold copies the state to the host, and the kind's further files with it: an interrupt writes both. A large state is
// lent instead.
func (s *session) hold() error {
	if s.Folder == nil && s.player() == nil {
		return nil
	}
	start := time.Now()
	snapshot, lent, err := s.snapshot()
	if err != nil {
		return err
	}
	s.holding = time.Since(start)
	files, err := s.furtherFiles(snapshot, false)
	if err != nil {
		return err
	}
	done := strconv.FormatBool(s.last.Done)
	if s.last.Stalled && !s.last.Done {
		done = stalled
	}
	held := &runfolder.Checkpoint{Step: snapshot.Step, Kind: s.Kind.Name, Format: s.Kind.Version, Config: s.text,
		Arrays: snapshot.Arrays, Info: map[string]string{InfoVersion: s.Version, InfoDone: done,
			infoRound: strconv.FormatInt(s.round, 10), infoWork: strconv.FormatFloat(s.totalWork, 'g', -1, 64)}}
	s.update(func(x *state) { x.held, x.lent, x.files = held, lent, merged(x.files, files) })
	if !lent && bytesOf(snapshot.Arrays) >= largeState {
		runtime.GC()
	}
	return nil
}

// checkpoint puts the held state on the disk. It may wait for a disk that is full, so the lock is not held.
func (s *session) checkpoint() error {
	var ended bool
	s.update(func(x *state) { ended = x.ended })
	if s.held == nil || s.Folder == nil || ended {
		return nil
	}
	path, err := s.Folder.SaveCheckpoint(*s.held)
	if err == nil && s.lent {
		s.update(func(x *state) { x.saved, x.savedStep = path, x.held.Step })
	}
	return err
}

// snapshot returns the run's state, and whether it is lent: the state itself, and no copy.
func (s *session) snapshot() (snapshot run.Snapshot, lent bool, err error) {
	if s.can.InPlace != nil {
		snapshot, err = s.can.InPlace()
		if err != nil || bytesOf(snapshot.Arrays) >= lentState {
			return snapshot, true, err
		}
	}
	snapshot, err = s.run.Snapshot()
	return snapshot, false, err
}

// bytesOf returns the size of a state.
func bytesOf(arrays map[string]*graph.Array) (n int) {
	for _, a := range arrays {
		n += a.Shape().Bytes()
	}
	return n
}

// handBack forgets a lent state before a round uses it up. It waits for the end of the run, if that has come: then it
// is being written.
func (s *session) handBack() {
	if s.lent {
		s.update(func(x *state) {
			x.held, x.lent = nil, false
			x.best = x.best.withoutParams()
			for i, m := range x.hall {
				x.hall[i] = m.withoutParams()
			}
		})
	}
}

// keepMembers copies the members of a lent state to the host, for the outcome.
func (s *session) keepMembers() error {
	if !s.lent || s.best == nil {
		return nil
	}
	best, err := s.best.onHost()
	if err != nil {
		return err
	}
	hall := make([]*Member, len(s.hall))
	for i, m := range s.hall {
		if hall[i], err = m.onHost(); err != nil {
			return err
		}
	}
	s.update(func(x *state) { x.best, x.hall = best, hall })
	return nil
}
