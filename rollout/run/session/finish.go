package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"xlarun/internal/hardware"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// finish ends the run. cause is the error of work. asked means that somebody asked for the end: then work may still be
// inside a call, and nothing on the devices may be touched. What is not on the disk when over ends is given up.
func (s *session) finish(cause error, asked bool, over context.Context) (*Outcome, error) {
	s.mu.Lock() // work, if it is still inside a call, changes nothing more
	defer s.mu.Unlock()
	s.ended = true
	s.measurePeak()
	stop := asked || errors.As(cause, new(InterruptedError))
	if cause == ErrInterrupted {
		cause = nil
	}
	if s.rounds == 0 {
		return s.finishEarly(cause, stop, over)
	}
	var state string
	var err error
	if s.Folder != nil {
		state, err = s.lastFiles(over, stop)
	}
	o := s.outcome(stop || cause != nil)
	err = errors.Join(err, s.Observer.Close(o))
	if !stop {
		return o, sentence{cause, err}.error()
	}
	text := fmt.Sprintf("interrupted after %s %d", s.Kind.Unit, s.last.Step)
	if state == "" {
		state = s.saved // an earlier one
	}
	if state != "" {
		text += fmt.Sprintf("; the state of %s %d is in %s", s.Kind.Unit, s.savedStep, state)
	}
	return o, InterruptedError{sentence{errors.New(text), err, cause}.error()}
}

// finishEarly ends a run of which no round was done: it was stopped before, it failed, or it has nothing left to do.
func (s *session) finishEarly(cause error, stop bool, over context.Context) (o *Outcome, err error) {
	text := "interrupted before the first " + s.Kind.Round + " was done; nothing was written"
	o = &Outcome{}
	if s.Resume == nil {
		if s.Folder != nil {
			_ = s.withGrace(over, func() error { s.Folder.Abandon(); return nil })
		}
	} else {
		text = fmt.Sprintf("interrupted before a further %s was done; the run in %s goes on from %s %d", s.Kind.Round,
			s.Folder.Dir(), s.Kind.Unit, s.Resume.Step)
		if !stop && cause == nil {
			o = s.outcome(false)
		}
		err = s.closeFolder(over, stop)
	}
	err = errors.Join(err, s.Observer.Close(o))
	if stop {
		return o, InterruptedError{sentence{errors.New(text), err, cause}.error()}
	}
	return o, sentence{cause, err}.error()
}

// lastFiles writes the held state, the mean and the profile, and closes the folder. It returns the path of the state.
func (s *session) lastFiles(over context.Context, stop bool) (path string, err error) {
	if s.held != nil {
		var saved string // not path: a save that is given up may still write to it
		err = s.withGrace(over, func() (err error) {
			saved, err = s.Folder.SaveCheckpoint(*s.held)
			return err
		})
		if err == nil {
			path, s.savedStep = saved, s.held.Step
		}
	}
	if len(s.files) > 0 {
		err = errors.Join(err, s.withGrace(over, s.putFiles))
	}
	if s.held != nil && s.meanAt != s.held.Step { // the members of this state were not evaluated
		err = errors.Join(err, s.withGrace(over, func() error { return s.writeFinal(s.held) }))
	}
	err = errors.Join(err, s.withGrace(over, s.writeProfile))
	return path, errors.Join(err, s.closeFolder(over, stop))
}

// closeFolder closes the logs and the folder, and says what was lost.
func (s *session) closeFolder(over context.Context, stop bool) (err error) {
	if s.logger != nil {
		err = s.logger.CloseBefore(afterGrace(over, s.lastGrace()))
	}
	if !stop && s.Pictures != nil && s.rounds > 0 {
		var metrics []string
		for _, r := range s.Job.Board() {
			if r.Curve != "" {
				metrics = append(metrics, r.Curve)
			}
		}
		computed := time.Duration((s.first + s.steady) * float64(time.Second))
		for _, picture := range s.Pictures(s.Folder.Dir(), metrics, computed) {
			_ = s.Folder.Write(picture.Name, picture.Data) // a run does not fail for lack of a picture
		}
	}
	err = errors.Join(err, s.withGrace(over, s.Folder.Lost))
	closing := s.Folder.CloseBefore(afterGrace(over, s.lastGrace()))
	if s.stuck.Load() { // err says so already
		closing = nil
	}
	return errors.Join(err, closing)
}

// afterGrace returns a context that ends a time after ctx has ended.
func afterGrace(ctx context.Context, grace time.Duration) context.Context {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return later
}

// withGrace calls f, and gives up lastGrace after the end of over if the disk does not answer.
func (s *session) withGrace(over context.Context, f func() error) error {
	return runfolder.Before(afterGrace(over, s.lastGrace()), f, func() error {
		s.stuck.Store(true)
		return errors.New("the disk does not answer: what was being written is not there")
	})
}

// measurePeak reads the largest memory that the run used.
func (s *session) measurePeak() {
	if m, err := hardware.OfProcess(); err == nil {
		s.peak = m.Peak
	}
	if c, ok := s.backend.(*xlabridge.Client); ok && c.Platform() != "cpu" {
		if m, err := c.Memory(0); err == nil {
			s.peak = m.Peak
		}
	}
}
