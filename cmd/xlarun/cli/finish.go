package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/plots"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// finish ends the run. cause is what work ended with. asked says that somebody asked for the end; then work may still
// be inside a call, and nothing on the devices may be touched. Whatever is not on the disk at the end of over is given
// up.
func (s *session) finish(cause error, asked bool, over context.Context) error {
	s.mu.Lock() // work, if it is still inside a call, changes nothing more
	defer s.mu.Unlock()
	s.ended = true
	s.measurePeak()
	stop := asked || errors.As(cause, new(console.InterruptedError))
	if cause == console.ErrInterrupted {
		cause = nil
	}
	if s.rounds == 0 {
		return s.finishEarly(cause, stop, over)
	}
	var state string
	var err error
	if s.folder != nil {
		state, err = s.leave(over, stop)
	}
	s.report.Close(s.summary(stop || cause != nil)...)
	if s.json {
		err = errors.Join(err, s.PrintJSON(s.resultLine()))
	}
	if !stop {
		return sentence{cause, err}.error()
	}
	text := fmt.Sprintf("interrupted after %s %d", s.Unit, s.last.Step)
	if state != "" {
		text += fmt.Sprintf("; the state of %s %d is in %s", s.Unit, s.held.Step, state)
	}
	return console.InterruptedError{Err: sentence{errors.New(text), err, cause}.error()}
}

// sentence is errors that are said in one, each once.
type sentence []error

func (s sentence) error() error {
	var words []string
	var rest sentence
	for _, err := range s {
		if err == nil {
			continue
		}
		for _, line := range strings.Split(err.Error(), "\n") { // of errors.Join
			if !slices.Contains(words, line) {
				words = append(words, line)
			}
		}
		rest = append(rest, err)
	}
	if len(rest) == 0 {
		return nil
	}
	return sentenceError{strings.Join(words, "; "), rest}
}

type sentenceError struct {
	text string
	of   sentence
}

func (e sentenceError) Error() string   { return e.text }
func (e sentenceError) Unwrap() []error { return e.of }

// finishEarly ends a run of which no round was done: one that was stopped before, or that has nothing left to do.
func (s *session) finishEarly(cause error, stop bool, over context.Context) (err error) {
	words := "interrupted before the first " + s.Round + " was done; nothing was written"
	var summary []string
	if s.resumed == nil {
		if s.folder != nil {
			_ = within(over, func() error { s.folder.Abandon(); return nil })
		}
	} else {
		words = fmt.Sprintf("interrupted before a further %s was done; the run in %s goes on from %s %d", s.Round,
			s.folder.Dir(), s.Unit, s.resumed.Step)
		if !stop && cause == nil {
			summary = s.summary(false)
		}
		err = s.close(over, stop)
	}
	s.report.Close(summary...)
	if s.json && summary != nil {
		err = errors.Join(err, s.PrintJSON(s.resultLine()))
	}
	if stop {
		return console.InterruptedError{Err: sentence{errors.New(words), err, cause}.error()}
	}
	return sentence{cause, err}.error()
}

// leave writes the folder's last files.
func (s *session) leave(over context.Context, stop bool) (state string, err error) {
	if s.held != nil {
		var saved string // of its own: afterwards it may still be written to
		err = within(over, func() (err error) {
			saved, err = s.folder.SaveCheckpoint(*s.held)
			return err
		})
		if err == nil {
			state = saved
		}
	}
	if s.held != nil && s.centreAt != s.held.Step { // nothing was judged since: the centre at least
		err = errors.Join(err, within(over, func() error { return s.writeCentre(s.held) }))
	}
	err = errors.Join(err, within(over, s.writeProfile))
	return state, errors.Join(err, s.close(over, stop))
}

// close closes the logs and the folder, and says what was lost.
func (s *session) close(over context.Context, stop bool) (err error) {
	if s.logger != nil {
		err = s.logger.CloseBefore(after(over, lastGrace))
	}
	if !stop {
		s.drawCurves()
	}
	err = errors.Join(err, within(over, s.folder.Lost))
	return errors.Join(err, s.folder.CloseBefore(after(over, lastGrace)))
}

// curvesAfter is how long a run has computed, at least, whose learning curves are drawn at its end: drawing takes a
// tenth of a second, by which a short run would end later. It is a variable for tests.
var curvesAfter = 5 * time.Second

// drawCurves leaves a picture of the learning curves in the folder. A run does not fail for want of one.
func (s *session) drawCurves() {
	if s.first+s.steady < curvesAfter.Seconds() || s.rounds == 0 {
		return
	}
	defer func() { _ = recover() }() // of the drawing library
	var metrics []string
	for _, r := range s.Board() {
		if r.Curve != "" {
			metrics = append(metrics, r.Curve)
		}
	}
	if picture, err := plots.Curves(s.folder.Dir(), metrics); err == nil {
		_ = s.folder.Write("curves.png", picture)
	}
}

// after is a context that ends a time after another has ended: so long may what is still to be done take.
func after(ctx context.Context, grace time.Duration) context.Context {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return later
}

// within calls f and gives up a little after the end of over, where the disk does not answer.
func within(over context.Context, f func() error) error {
	return runfolder.Before(after(over, lastGrace), f, func() error {
		return errors.New("the disk does not answer: what was being written is not there")
	})
}

// measurePeak takes the most memory down that the run used.
func (s *session) measurePeak() {
	if m, err := xlabridge.ProcessMemory(); err == nil {
		s.peak = m.Peak
	}
	if c, ok := s.backend.(*xlabridge.Client); ok && c.Platform() != "cpu" {
		if m, err := c.Memory(0); err == nil {
			s.peak = m.Peak
		}
	}
}

// interruptible is the end of a run that failed to end as it should since it was interrupted then.
func (s *session) interruptible(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.As(err, new(console.InterruptedError)) {
		return err
	}
	return console.InterruptedError{Err: fmt.Errorf("interrupted at the end: %w", err)}
}

// release gives the devices back once work has returned: a program may run one command after another.
func (s *session) release() {
	if s.judge != nil {
		_ = s.judge.Close()
	}
	if s.run != nil {
		_ = s.run.Close()
	}
	if s.backend != nil {
		_ = s.backend.Close()
	}
}
