package session

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
)

// held is the run's state after a round, with the kind's further files of it.
type held struct {
	runfolder.Checkpoint
	lent    bool          // it is the state itself, which the next round uses up, and no copy on the host
	holding time.Duration // that the copy took
}

// snapshot returns the state for the run.
func (h *held) snapshot() run.Snapshot { return run.Snapshot{Step: h.Step, Arrays: h.Arrays} }

// keeping copies the state to the host, and writes it to the disk, when each is due. If a file cannot be written, the
// run says so and goes on: the next checkpoint may succeed. At the end of the run it is an error.
func (s *session) keeping(ctx context.Context) (state, error) {
	if s.Folder == nil {
		return s.timing, nil
	}
	err := s.keep(ctx)
	if unwritten, ok := errors.AsType[*runfolder.WriteError](err); ok {
		err = s.tell(func(o Observer) {
			o.Notice(fmt.Sprintf("%v; the run goes on from %s %d and will try again", unwritten, s.Kind.Unit,
				s.last.Step))
		})
	}
	return s.timing, err
}

func (s *session) keep(ctx context.Context) error {
	now := time.Now()
	due := s.checkpointAt.IsZero() || s.Cadence.due(s.last.Step, s.checkpointed, now.Sub(s.checkpointAt))
	if due || now.Sub(s.heldAt) > max(snapshotEvery, holdShare*s.holding) {
		if err := s.hold(ctx); err != nil {
			return err
		}
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
	if p := s.player(); s.evaluator == nil && p != nil { // it is compiled first, and the state does not wait
		if err := s.checkpoint(); err != nil {
			return err
		}
		if ready, err := s.prepareBeside(p); !ready || err != nil {
			return err
		}
		return s.judge(false, 0)
	}
	// before the checkpoint: after a kill, the best member is never older than the state
	if err := s.judge(false, 0); err != nil {
		return err
	}
	return s.checkpoint()
}

// hold copies the state to the host, and the kind's further files with it: an interrupt writes both. A large state is
// lent instead. It goes on when ctx ends: then this is the state that is saved.
func (s *session) hold(ctx context.Context) error {
	if s.Folder == nil && s.player() == nil && s.can.Reevaluate == nil {
		return nil
	}
	r, can := s.run, s.can
	ctx = context.WithoutCancel(ctx)
	h, err := wait(s, func() (h *held, err error) {
		start := time.Now()
		h = &held{}
		var snapshot run.Snapshot
		if snapshot, h.lent, err = snapshotOf(ctx, r, can); err != nil {
			return nil, err
		}
		h.holding = time.Since(start)
		h.Checkpoint = runfolder.Checkpoint{Step: snapshot.Step, Arrays: snapshot.Arrays}
		return h, nil
	})
	if err != nil {
		return err
	}
	done := strconv.FormatBool(s.last.Done)
	if s.last.Stalled && !s.last.Done {
		done = stalled
	}
	h.Kind, h.Format, h.Config = s.Kind.Name, s.Kind.Version, s.text
	h.Info = map[string]string{InfoVersion: s.Version, InfoDone: done, infoRound: strconv.FormatInt(s.round, 10),
		infoWork: strconv.FormatFloat(s.totalWork, 'g', -1, 64)}
	if s.held == nil && s.saved == "" { // what makes the files may compile for seconds: an interrupt saves the state
		s.held = h
	}
	start := time.Now()
	files, err := wait(s, func() ([]run.File, error) { return s.furtherFiles(can, h.snapshot(), false) })
	if err != nil {
		return err
	}
	s.held, s.heldAt, s.holding, s.filing = h, time.Now(), h.holding, time.Since(start)
	s.files = merged(s.files, files)
	if !h.lent && bytesOf(h.Arrays) >= largeState {
		runtime.GC()
	}
	return nil
}

// checkpoint puts the held state on the disk. It may wait for a disk that is full.
func (s *session) checkpoint() error {
	h := s.held
	if h == nil {
		return nil
	}
	path, err := wait(s, func() (string, error) { return s.Folder.SaveCheckpoint(h.Checkpoint) })
	if err == nil && h.lent {
		s.saved, s.savedStep = path, h.Step
	}
	return err
}

// snapshotOf returns a run's state, and whether it is lent: the state itself, and no copy.
func snapshotOf(ctx context.Context, r run.Run, can *run.Capabilities) (snapshot run.Snapshot, lent bool, err error) {
	if can.InPlace != nil {
		snapshot, err = can.InPlace()
		if err != nil || bytesOf(snapshot.Arrays) >= lentState {
			return snapshot, true, err
		}
	}
	snapshot, err = r.Snapshot(ctx)
	return snapshot, false, err
}

// bytesOf returns the size of a state.
func bytesOf(arrays map[string]*graph.Array) (n int) {
	for _, a := range arrays {
		n += a.Shape().Bytes()
	}
	return n
}

// handBack forgets a lent state before a round uses it up.
func (s *session) handBack() {
	if s.held == nil || !s.held.lent {
		return
	}
	s.held = nil
	s.best = s.best.withoutParams()
	for i, m := range s.hall {
		s.hall[i] = m.withoutParams()
	}
}

// keepMembers copies the members of a lent state to the host, for the outcome.
func (s *session) keepMembers() error {
	if s.held == nil || !s.held.lent || s.best == nil {
		return nil
	}
	members := append([]*Member{s.best}, s.hall...)
	members, err := wait(s, func() ([]*Member, error) {
		copied := make([]*Member, len(members))
		for i, m := range members {
			var err error
			if copied[i], err = m.onHost(); err != nil {
				return nil, err
			}
		}
		return copied, nil
	})
	if err != nil {
		return err
	}
	s.best, s.hall = members[0], members[1:]
	return nil
}
