package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"xlarun/internal/hardware"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// close writes what the run leaves in memory, and closes everything. cause is the error of work. What is not on the
// disk when over ends is given up.
func (s *session) close(ctx, over context.Context, cause error) (*Outcome, error) {
	o, err := s.finish(ctx, over, cause)
	if !s.release(over) && !o.Abandoned {
		late := *o // the observer has the other one
		late.Abandoned = true
		o = &late
	}
	return o, err
}

func (s *session) finish(ctx, over context.Context, cause error) (*Outcome, error) {
	s.measurePeak(over)
	stop := ctx.Err() != nil || errors.As(cause, new(InterruptedError))
	if cause == ErrInterrupted {
		cause = nil
	}
	var o *Outcome
	var text, at, state string
	var err error
	switch {
	case s.rounds > 0:
		if s.Folder != nil {
			state, err = s.lastFiles(over, stop)
		}
		o = s.outcome(stop || cause != nil)
		text = fmt.Sprintf("interrupted after %s %d", s.Kind.Unit, s.last.Step)
		if state == "" {
			state = s.saved // an earlier one
		}
		if state != "" {
			at = fmt.Sprintf("; the state of %s %d is in %s", s.Kind.Unit, s.savedStep, state)
		}
	case s.resume == nil:
		text = "interrupted before the first " + s.Kind.Round + " was done; nothing was written"
		o = &Outcome{}
		if s.Folder != nil {
			_ = s.withGrace(over, func() error { s.Folder.Abandon(); return nil })
		}
	default: // nothing was left to do, or it did not get as far as a round
		text = fmt.Sprintf("interrupted before a further %s was done", s.Kind.Round)
		at = fmt.Sprintf("; the run in %s goes on from %s %d", s.Folder.Dir(), s.Kind.Unit, s.resume.Step)
		o = &Outcome{}
		if !stop && cause == nil {
			o = s.outcome(false)
		}
		err = s.closeFolder(over, stop, nil)
	}
	if text += at; at != "" && errors.As(cause, new(*run.StopError)) {
		cause = fmt.Errorf("%w%s: go on by --resume %s", cause, at, s.Folder.Dir())
	}
	o.Abandoned = len(s.left) > 0
	err = errors.Join(err, s.within(over, errUnread, func() error { return s.Observer.Close(o) }))
	if stop {
		return o, InterruptedError{sentence{errors.New(text), err, cause}.error()}
	}
	return o, interruptible(ctx, sentence{cause, err}.error())
}

// lastFiles writes the held state, the mean and the profile, and closes the folder. It returns the path of the state.
func (s *session) lastFiles(over context.Context, stop bool) (path string, err error) {
	if h := s.held; h != nil {
		var saved string // not path: a save that is given up may still write to it
		err = s.withGrace(over, func() (err error) {
			saved, err = s.Folder.SaveCheckpoint(h.Checkpoint)
			return err
		})
		if err == nil {
			path, s.savedStep = saved, h.Step
		}
	}
	if files := s.files; len(files) > 0 {
		err = errors.Join(err, s.withGrace(over, func() error { return s.putFiles(files) }))
	}
	if h := s.held; h != nil && s.meanAt != h.Step && s.player() != nil { // its members were not evaluated
		members := s.can.Members
		err = errors.Join(err, s.withGrace(over, func() error { return s.writeFinal(h.snapshot(), members) }))
	}
	err = errors.Join(err, s.withGrace(over, func() error {
		profile, err := s.profileJSON()
		if err != nil {
			return err
		}
		return s.Folder.WriteJSON("profile.json", profile)
	}))
	return path, errors.Join(err, s.closeFolder(over, stop, err))
}

// closeFolder closes the logs and the folder, and says what was lost. before is the error of the files before it.
func (s *session) closeFolder(over context.Context, stop bool, before error) (err error) {
	if s.logger != nil {
		err = s.logger.CloseBefore(s.afterGrace(over, lastCall))
	}
	if !stop && s.Pictures != nil && s.rounds > 0 {
		computed := time.Duration((s.first + s.steady) * float64(time.Second))
		_ = s.withGrace(over, func() error {
			var metrics []string
			for _, r := range s.Job.Board() {
				if r.Curve != "" {
					metrics = append(metrics, r.Curve)
				}
			}
			for _, picture := range s.Pictures(s.Folder.Dir(), metrics, computed) {
				_ = s.Folder.Write(picture.Name, picture.Data) // a run does not fail for lack of a picture
			}
			return nil
		})
	}
	err = errors.Join(err, s.withGrace(over, s.Folder.Lost))
	closing := s.Folder.CloseBefore(s.afterGrace(over, lastCall))
	if errors.Is(errors.Join(before, err), errUnanswered) {
		closing = nil // it is said already
	}
	return errors.Join(err, closing)
}

// afterGrace returns a context that ends a part of the grace after ctx has ended.
func (s *session) afterGrace(ctx context.Context, part func(grace time.Duration) time.Duration) context.Context {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	grace := s.Grace
	context.AfterFunc(ctx, func() { time.AfterFunc(part(grace()), cancel) })
	return later
}

// lastCall is the part of a grace that a call gets after the time for it is over.
func lastCall(grace time.Duration) time.Duration { return min(grace/32, longestCall) }

var (
	// The call may end after it was given up, so nobody knows what is on the disk.
	errUnanswered = errors.New("the disk did not answer in the time that an interrupt has: what was being written " +
		"may be missing, or whole")
	errUnread = errors.New("the outcome is not read: its lines may be missing")
	errBusy   = errors.New("a device does not answer")
)

// withGrace is within for the disk.
func (s *session) withGrace(over context.Context, f func() error) error {
	return s.within(over, errUnanswered, f)
}

// within calls f, and gives it up with an error a lastCall after the end of over. f writes no field of the
// session.
func (s *session) within(over context.Context, late error, f func() error) error {
	returned := make(chan struct{})
	return runfolder.Before(s.afterGrace(over, lastCall), func() error {
		defer close(returned)
		return f()
	}, func() error {
		s.left = append(s.left, returned)
		return late
	})
}

// release closes everything, after the calls that have not returned: they use it. It reports whether that is done.
func (s *session) release(over context.Context) bool {
	left := s.left
	closeAll := func() error {
		for _, returned := range left {
			<-returned
		}
		s.beside.close()
		if s.evaluator != nil {
			_ = s.evaluator.Close()
		}
		if s.run != nil {
			_ = s.run.Close()
		}
		if s.backend != nil {
			_ = s.backend.Close()
		}
		return nil
	}
	if len(left) > 0 {
		go func() { _ = closeAll() }()
		return false
	}
	return s.within(over, errBusy, closeAll) == nil
}

// measurePeak reads the largest memory that the run used.
func (s *session) measurePeak(over context.Context) {
	if m, err := hardware.OfProcess(); err == nil {
		s.peak = m.Peak
	}
	c, ok := s.backend.(*xlabridge.Client)
	if !ok || c.Platform() == "cpu" {
		return
	}
	var m xlabridge.DeviceMemory
	err := s.within(over, errBusy, func() (err error) {
		m, err = c.Memory(0)
		return err
	})
	if err == nil {
		s.peak = m.Peak
	}
}
