package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/internal/hardware"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// A state does one part of a run, and returns the state after it; nil: what the run leaves is to be written.
type state func(ctx context.Context) (state, error)

// work runs from the data to the last round. A panic of the experiment, or of a part of it, is an error with its line.
func (s *session) work(ctx context.Context) (err error) {
	thrown := envs.Try(func() {
		for now := s.preparing; now != nil && err == nil; {
			now, err = now(ctx)
			if err == nil && s.run == nil && ctx.Err() != nil { // nothing is there to be saved
				err = ErrInterrupted
			}
		}
	})
	switch {
	case thrown != nil:
		return thrown
	case ended(ctx, err):
		return ErrInterrupted
	}
	return err
}

// preparing checks what lies outside of the settings, before anything that takes time.
func (s *session) preparing(ctx context.Context) (state, error) {
	resumed, job := s.resume != nil, s.Job
	err := s.do(func() error {
		run.KeepPolicyFile(s.Experiment)
		if job == nil {
			job = s.Kind.JobOf(s.Experiment)
		}
		if job.Prepare == nil {
			return nil
		}
		return job.Prepare(ctx, resumed, opening{s.Observer})
	})
	s.Job = job
	return s.fetching, err
}

// fetching downloads the data that the experiment needs.
func (s *session) fetching(ctx context.Context) (state, error) {
	if s.Job.Fetch == nil {
		return s.opening, nil
	}
	err := s.do(func() error { return s.Job.Fetch(ctx, opening{s.Observer}) })
	if err != nil && ctx.Err() != nil {
		err = ErrInterrupted
	}
	return s.opening, err
}

// opening opens the backend.
func (s *session) opening(ctx context.Context) (state, error) {
	b, err := wait(s, func() (xlabridge.Backend, error) { return s.Open(ctx, opening{s.Observer}) })
	if err != nil { // b may be a nil pointer in a Backend that is not nil
		return nil, err
	}
	s.backend = b
	return s.starting, nil
}

// starting compiles the run.
func (s *session) starting(ctx context.Context) (state, error) {
	phase := "tracing and compiling"
	if p := s.Job.Plan; p != nil && (p.Tune == plan.TuneQuick || p.Tune == plan.TuneFull) {
		phase = "measuring plans, then " + phase
	}
	b := s.backend
	s.Job.Version, s.Job.Phase, s.Job.Notice = s.Version, s.Observer.Phase, s.Observer.Notice
	var can *run.Capabilities
	r, err := wait(s, func() (run.Run, error) {
		s.Observer.Phase(phase)
		r, err := s.Job.Start(ctx, b)
		if err == nil {
			returnMemory(b)
			can = r.Describe()
		}
		return r, run.OutOfMemory(err, s.Experiment, s.Job)
	})
	if err != nil { // r may be a nil pointer in a run.Run that is not nil
		return nil, err
	}
	s.run, s.can = r, can
	return s.restoring, nil
}

// returnMemory lets go of what loading programs has left in memory.
func returnMemory(b xlabridge.Backend) {
	if c, ok := b.(*xlabridge.Client); ok {
		c.ReturnMemory()
	}
}

// restoring puts the checkpoint of a resumed run into it, and opens its logs.
func (s *session) restoring(ctx context.Context) (_ state, err error) {
	r, b := s.run, s.backend
	if from := s.resume; from != nil {
		err := s.do(func() error { return r.Restore(ctx, run.Snapshot{Step: from.Step, Arrays: from.Arrays}) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Folder.Dir(), err)
		}
	}
	resumed := s.resume != nil
	var profile run.Profile
	var text, remark string
	var cost graph.Cost
	var expected time.Duration
	err = s.do(func() (err error) {
		profile = r.Profile()
		if s.Config != nil { // a resumed run keeps the settings that were chosen at first
			var chosen settings.Values
			if !resumed {
				chosen = settings.Values{} // so that the run repeats to the byte, whatever is stored or free then
				maps.Copy(chosen, profile.Chosen)
			}
			if text, err = s.Config(chosen, false); err != nil {
				return err
			}
		}
		if s.Job.Remark != nil {
			remark = s.Job.Remark()
		}
		cost, expected = estimateRound(r, s.Kind, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.profile, s.text, s.expected = profile, text, expected
	if f, ok := b.(*NaNFinder); ok {
		f.follow(r)
	}
	notices := []string{profile.PlanNotice(), remark, s.announcement(cost)}
	err = s.tell(func(o Observer) {
		for _, line := range notices {
			if line != "" {
				o.Notice(line)
			}
		}
	})
	phase := "the first " + s.Kind.Round
	if s.resume != nil && err == nil {
		phase = fmt.Sprintf("going on after %s %d", s.Kind.Unit, s.resume.Step)
		err = s.resumeLogs()
	}
	if err == nil {
		err = s.tell(func(o Observer) { o.Phase(phase) })
	}
	return s.stepping, err
}

// resumeLogs opens the logs of a resumed run where the checkpoint left them.
func (s *session) resumeLogs() error {
	from := *s.resume
	from.Config = s.text
	if s.can.InPlace != nil && bytesOf(from.Arrays) >= lentState {
		from.Arrays = nil // the run has them
		s.resume = &from
	} else {
		s.held = &held{Checkpoint: from}
	}
	s.checkpointAt, s.checkpointed = time.Now(), from.Step
	s.round, s.totalWork = Done(&from)
	s.endedAt = s.Ends.reached(0, s.round, s.totalWork)
	s.last.Step, s.last.Done, s.last.Stalled = from.Step, from.Info[InfoDone] == "true", from.Info[InfoDone] == stalled
	if err := s.openLogs(from.Step); err != nil {
		return err
	}
	if err := s.lastRow(); err != nil {
		return err
	}
	if err := s.earlier(); err != nil {
		return err
	}
	reached, values := s.can.Reached, s.values
	if reached == nil || from.Info[InfoDone] != "" {
		return nil
	}
	// the goal is another one now
	done, err := wait(s, func() (bool, error) {
		return reached(func(name string) float64 {
			if x, ok := values[name]; ok {
				return x
			}
			return math.NaN()
		}), nil
	})
	s.last.Done = done
	return err
}

// Done returns how many rounds a run had done at a checkpoint, and their work. The work is 0 in a checkpoint of an
// earlier version.
func Done(c *runfolder.Checkpoint) (rounds int64, work float64) {
	rounds, _ = strconv.ParseInt(c.Info[infoRound], 10, 64)
	work, _ = strconv.ParseFloat(c.Info[infoWork], 64)
	return rounds, work
}

// lastRow takes the metrics of the last round from the log, for the outcome of a run that has nothing left to do.
func (s *session) lastRow() error {
	logger := s.logger
	text, err := wait(s, func() ([]byte, error) { return logger.LastRow(), nil })
	if err != nil {
		return err
	}
	if len(text) == 0 { // all rows were dropped
		return nil
	}
	row, err := runfolder.ReadRow(text)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Folder.Path("metrics.jsonl"), err)
	}
	for _, v := range row {
		if v.Name != s.Kind.Unit {
			s.values[v.Name] = v.Number
		}
	}
	return nil
}

// stepping computes a round, until the last one, until the run says that it is done, or until ctx ends.
func (s *session) stepping(ctx context.Context) (state, error) {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	if s.over() || ctx.Err() != nil {
		return s.finishing, nil
	}
	s.handBack()
	r, can, round, expected := s.run, s.can, fmt.Sprintf("%s %d", s.Kind.Round, s.round+1), s.expected
	started, now, ending, endedAt := time.Now(), time.Time{}, s.ending, ""
	began, rounds, work := s.began, s.round, s.totalWork
	m, err := wait(s, func() (run.Metrics, error) {
		var counter *run.PartCounter
		if can.Parts != nil {
			counter = can.Parts()
		}
		m, err := func() (run.Metrics, error) {
			defer watchRound(s.Observer.Progress, round, counter, expected)()
			return r.Step(ctx)
		}()
		now = time.Now()
		if err != nil {
			return m, err
		}
		for _, r := range slices.Concat(m.Earlier, []run.Metrics{m}) {
			rounds += 1 + r.Skipped
			work += r.Work * float64(1+r.Skipped)
		}
		endedAt = s.Ends.reached(now.Sub(began), rounds, work)
		if can.Closing != nil && (m.Over(s.Job.Last) || endedAt != "") {
			values, err := can.Closing(ctx)
			if err != nil {
				return m, err
			}
			m.Values = append(m.Values, values...)
		}
		if can.Ending != nil {
			ending = can.Ending(m)
		}
		return m, nil
	})
	s.expected = now.Sub(started)
	if s.rounds > 0 { // else it is part of the time until the first round
		s.waited += m.Waited.Seconds()
	}
	switch {
	case ended(ctx, err): // the state is that before the round
		return s.finishing, nil
	case errors.As(err, new(*run.StopError)):
		if s.rounds > 0 { // else the state is on the disk, or there is none
			err = errors.Join(err, s.hold(ctx))
		}
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s %d: %w", s.Kind.Unit, s.last.Step+1, run.OutOfMemory(err, s.Experiment, s.Job))
	}
	if s.rounds == 0 {
		s.firstEnd = now.Sub(s.Start)
		if s.Folder != nil && s.logger == nil { // now, so that a run that fails before leaves nothing
			if err := s.openLogs(0); err != nil {
				return nil, err
			}
		}
	}
	s.ending, s.endedAt = ending, endedAt
	s.pace.add(started, now)
	if err := s.note(m, now, (now.Sub(started) - m.Waited).Seconds()); err != nil {
		return nil, err
	}
	if m.Failed != nil {
		return nil, s.fail(ctx, m)
	}
	return s.keeping, nil
}

// over reports whether no round is left to do.
func (s *session) over() bool {
	return s.last.Over(s.Job.Last) || s.endedAt != ""
}

// fail returns the error of a round in which all members failed. The state is held, so that it is written: the run can
// be resumed after its environment is mended.
func (s *session) fail(ctx context.Context, m run.Metrics) error {
	unheld := s.hold(ctx) // first: an interrupt saves it
	err := s.do(func() error { return m.Failed(ctx) })
	return errors.Join(membersError{fmt.Errorf("%s %d: %w", s.Kind.Unit, m.Step, err)}, unheld)
}

// membersError is the error of a round in which all members failed.
type membersError struct{ error }

func (e membersError) Unwrap() error { return e.error }

// ErrorCode is its code in the line of JSON.
func (membersError) ErrorCode() string { return "members_failed" }

// finishing copies the last state to the host, and writes the members and the kind's files.
func (s *session) finishing(ctx context.Context) (state, error) {
	interrupted := ctx.Err() != nil
	if s.rounds == 0 && s.resume == nil {
		if interrupted {
			return nil, ErrInterrupted
		}
		return nil, nil
	}
	if logger := s.logger; logger != nil {
		if err := s.do(func() error { logger.End(); return nil }); err != nil {
			return nil, err
		}
	}
	if err := s.hold(ctx); err != nil {
		return nil, err
	}
	if !interrupted {
		if err := s.reevaluate(ctx); err != nil {
			return nil, err
		}
		interrupted = ctx.Err() != nil
	}
	if table := s.can.Table; table != nil {
		var err error
		if s.table, err = wait(s, func() ([]string, error) { return table(), nil }); err != nil {
			return nil, err
		}
	}
	if interrupted {
		if err := s.judge(true, s.evaluatorTime()); err != nil {
			return nil, InterruptedError{err}
		}
		return nil, ErrInterrupted
	}
	if err := s.judge(true, 0); err != nil {
		return nil, err
	}
	if p := s.Job.Play; p != nil && p.Sampled > 0 && s.Folder != nil {
		b, of, members := s.backend, s.held.snapshot(), s.can.Members
		if err := s.do(func() error { return s.writeTrajectories(b, of, members) }); err != nil {
			return nil, err
		}
	}
	if s.rounds == 0 { // members were evaluated again, and nothing else was done
		if err := s.writeConfig(true); err != nil {
			return nil, err
		}
	}
	return nil, s.keepMembers()
}

// reevaluate plays what the run has found on new episodes, if the run does that, until ctx ends.
func (s *session) reevaluate(ctx context.Context) error {
	again, held := s.can.Reevaluate, s.held
	if again == nil || held == nil {
		return nil
	}
	const phase = "new episodes of all that was found"
	facts, err := wait(s, func() ([]run.Fact, error) {
		s.Observer.Phase(phase)
		last := time.Now()
		return again(ctx, held.snapshot(), func(share float64) {
			if time.Since(last) >= progressAfter {
				last = time.Now()
				s.Observer.Phase(fmt.Sprintf("%s: %.0f %% done", phase, 100*share))
			}
		})
	})
	if err != nil && ctx.Err() != nil {
		return s.tell(func(o Observer) {
			o.Notice("interrupted during the " + phase + ": there are no numbers of them; resume the run for them")
		})
	}
	s.facts = facts
	return err
}

// openLogs writes the config and opens the logs after the row of a step. The config of a run that has nothing left to
// do says how it was made.
func (s *session) openLogs(after int64) (err error) {
	over, resumed, work := s.over(), s.resume != nil, s.totalWork
	err = s.do(func() error {
		if resumed {
			return nil
		}
		if copied := run.CopyPolicyFile(s.Experiment); copied != nil {
			return s.Folder.Write(run.PolicyCopy, copied)
		}
		return nil
	})
	if err == nil && !(resumed && over) {
		err = s.writeConfig(false)
	}
	if err == nil {
		s.logger, err = wait(s, func() (*runfolder.Logger, error) {
			return s.Folder.NewLogger(s.Kind.Unit, after, work)
		})
	}
	return err
}

// writeConfig writes config.toml. over is that of Options.Config.
func (s *session) writeConfig(over bool) (err error) {
	if s.Config == nil || s.Folder == nil {
		return nil
	}
	if over {
		if s.text, err = wait(s, func() (string, error) { return s.Config(nil, true) }); err != nil {
			return err
		}
	}
	text := s.text
	return s.do(func() error { return s.Folder.Write("config.toml", []byte(text)) })
}

// note records a round's metrics and shows them.
func (s *session) note(m run.Metrics, now time.Time, seconds float64) error {
	rows := s.record(m, now, seconds)
	news := s.news(m, seconds, now)
	logger, over := s.logger, m.Over(s.Job.Last) || m.Failed != nil
	moved := ""
	if s.Folder != nil && s.memoryAt.Equal(now) {
		if dir := s.Folder.Dir(); dir != s.shown {
			s.shown, moved = dir, dir
		}
	}
	return s.tell(func(o Observer) {
		if logger != nil {
			for _, r := range rows {
				logger.Log(r)
			}
			if over {
				logger.End() // before the last checkpoint
			}
		}
		for _, line := range m.Notices {
			o.Notice(line)
		}
		o.Report(news)
		if moved != "" {
			o.Moved(moved)
		}
	})
}

// record counts a round, and returns its rows of the logs; none without logs.
func (s *session) record(m run.Metrics, now time.Time, seconds float64) (rows []runfolder.Row) {
	for _, earlier := range m.Earlier {
		s.round += 1 + earlier.Skipped
		s.totalWork += earlier.Work * float64(1+earlier.Skipped)
		if s.logger != nil {
			rows = append(rows, s.row(earlier, math.NaN(), now))
		}
	}
	s.add(m, seconds)
	s.lastEnd = now.Sub(s.Start)
	if s.logger != nil {
		rows = append(rows, s.row(m, seconds, now))
	}
	return rows
}

// add counts a round.
func (s *session) add(m run.Metrics, seconds float64) {
	if s.rounds == 0 {
		s.first, s.work0 = seconds, m.Work
	} else {
		s.steady += seconds
		s.work1 += m.Work
	}
	s.rounds++
	s.round += 1 + m.Skipped
	s.totalWork += m.Work * float64(1+m.Skipped)
	s.last = m
	for _, v := range slices.Concat(m.Values, m.Timings) {
		s.values[v.Name] = v.Number
	}
}

// news returns what the observer gets of a round.
func (s *session) news(m run.Metrics, seconds float64, now time.Time) RoundReport {
	shown := m
	shown.Values = slices.Concat(m.Values, m.Timings)
	return RoundReport{Metrics: shown, StepsPerSecond: m.Work / seconds, RoundsPerSecond: 1 / seconds,
		Backend: s.backend.Backend(), Profile: &s.profile, Memory: s.memory(now), Phases: s.phases, Map: s.can.Map}
}

// row returns what the logs get of a round.
func (s *session) row(m run.Metrics, seconds float64, now time.Time) runfolder.Row {
	timings := []runfolder.Value{{Name: "seconds", Number: seconds},
		{Name: "steps_per_second", Number: m.Work / seconds}}
	return runfolder.Row{Step: m.Step, Round: s.round, Work: s.totalWork, Time: now, Metrics: rowValues(m.Values),
		Timings: slices.Concat(timings, rowValues(s.pace.row(s.Kind.Round)), rowValues(m.Timings))}
}

func rowValues(values []run.Value) []runfolder.Value {
	out := make([]runfolder.Value, len(values))
	for i, v := range values {
		out[i] = runfolder.Value{Name: v.Name, Number: v.Number}
	}
	return out
}

// memory returns the bytes that the process uses. It reads them at most every memoryEvery.
func (s *session) memory(now time.Time) int64 {
	if now.Sub(s.memoryAt) > memoryEvery {
		if m, err := hardware.OfProcess(); err == nil {
			s.memoryNow = m.InUse
		}
		s.memoryAt = now
	}
	return s.memoryNow
}

// phasesDue returns the time from the start after which the parts of a round are timed.
func (s *session) phasesDue() time.Duration {
	compiling := s.profile.TraceSeconds + s.profile.CompileSeconds
	return max(phasesAfter, time.Duration(min(phasesShare*compiling, 1e9)*float64(time.Second)))
}

// timing times the parts of a round once. It needs room for a second state, so it leaves out lent ones.
func (s *session) timing(ctx context.Context) (state, error) {
	parts := s.can.Phases
	if parts == nil || s.phases != nil || !s.TimePhases || s.held != nil && s.held.lent ||
		time.Since(s.Start) < s.phasesDue() || s.last.Step >= s.Job.Last {
		return s.stepping, nil
	}
	phases, err := wait(s, func() ([]run.Phase, error) { return parts(ctx, 1) })
	if err != nil || phases == nil {
		phases = []run.Phase{} // they are not timed again
	}
	s.phases = phases
	return s.stepping, nil
}
