package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// work runs from the data to the last round, in phases. finish writes what it leaves in memory. A panic of the
// experiment, or of a part of it, is an error with its line.
func (s *session) work(ctx context.Context) (err error) {
	if thrown := envs.Try(func() { err = s.workInPhases(ctx) }); thrown != nil {
		return thrown
	}
	return err
}

func (s *session) workInPhases(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{s.prepare, s.fetch, s.open, s.start, s.restore, s.loop, s.end} {
		err := phase(ctx)
		if ended(ctx, err) {
			return ErrInterrupted
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare checks what lies outside of the settings, before anything that takes time.
func (s *session) prepare(ctx context.Context) error {
	if s.Job.Prepare != nil {
		return s.Job.Prepare(ctx, s.Resume != nil)
	}
	return nil
}

// fetch downloads the data that the experiment needs.
func (s *session) fetch(ctx context.Context) error {
	if s.Job.Fetch == nil {
		return nil
	}
	err := s.Job.Fetch(ctx, opening{s.Observer})
	if err != nil && ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// open opens the backend.
func (s *session) open(ctx context.Context) error {
	b, err := s.Open(ctx, opening{s.Observer})
	if err != nil {
		return err
	}
	s.update(func(x *state) { x.backend = b })
	return nil
}

// start compiles the run.
func (s *session) start(ctx context.Context) error {
	phase := "tracing and compiling"
	if p := s.Job.Plan; p != nil && (p.Tune == plan.TuneQuick || p.Tune == plan.TuneFull) {
		phase = "measuring plans, then " + phase
	}
	s.Observer.Phase(phase)
	r, err := s.Job.Start(ctx, s.backend)
	if err != nil { // r may be a nil pointer in a run.Run that is not nil
		return run.OutOfMemory(err, s.Experiment)
	}
	s.run, s.can = r, r.Describe()
	s.returnMemory()
	return nil
}

// returnMemory lets go of what loading programs has left in memory.
func (s *session) returnMemory() {
	if c, ok := s.backend.(*xlabridge.Client); ok {
		c.ReturnMemory()
	}
}

// restore puts the checkpoint of a resumed run into it, and opens its logs.
func (s *session) restore(context.Context) error {
	if s.Resume != nil {
		if err := s.run.Restore(run.Snapshot{Step: s.Resume.Step, Arrays: s.Resume.Arrays}); err != nil {
			return fmt.Errorf("%s: %w", s.Folder.Dir(), err)
		}
	}
	s.update(func(x *state) { x.profile = s.run.Profile() })
	if err := s.configure(); err != nil {
		return err
	}
	if f, ok := s.backend.(*NaNFinder); ok {
		f.follow(s.run)
	}
	if reason := s.profile.PlanNotice(); reason != "" {
		s.Observer.Notice(reason)
	}
	if s.Job.Remark != nil {
		if remark := s.Job.Remark(); remark != "" {
			s.Observer.Notice(remark)
		}
	}
	var cost graph.Cost
	cost, s.expected = estimateRound(s.run, s.Kind, s.backend)
	s.announce(cost)
	if s.Resume == nil {
		s.Observer.Phase("the first " + s.Kind.Round)
		return nil
	}
	if err := s.resumeLogs(); err != nil {
		return err
	}
	s.Observer.Phase(fmt.Sprintf("going on after %s %d", s.Kind.Unit, s.last.Step))
	return nil
}

// configure gets the text of the config. It holds what was chosen for the run, so that the run repeats to the byte
// whatever is stored or free then. A resumed run keeps its config, and so the settings that were chosen at first.
func (s *session) configure() (err error) {
	if s.Config == nil {
		return nil
	}
	var chosen settings.Values
	if s.Resume == nil {
		chosen = settings.Values{}
		for name, value := range s.profile.Chosen {
			chosen[name] = value
		}
	}
	s.text, err = s.Config(chosen)
	return err
}

// resumeLogs opens the logs where the checkpoint left them.
func (s *session) resumeLogs() error {
	from := *s.Resume
	from.Config = s.text
	held := &from
	if s.can.InPlace != nil && bytesOf(from.Arrays) >= lentState {
		from.Arrays, held = nil, nil // the run has them
		s.update(func(*state) { s.Resume = &from })
	}
	round, work := Done(&from)
	s.checkpointAt, s.checkpointed = time.Now(), from.Step
	s.update(func(x *state) {
		x.held, x.round, x.totalWork = held, round, work
		x.last.Step, x.last.Done, x.last.Stalled = from.Step, from.Info[InfoDone] == "true",
			from.Info[InfoDone] == stalled
	})
	if err := s.openLogs(from.Step); err != nil {
		return err
	}
	if err := s.lastRow(); err != nil {
		return err
	}
	if s.can.Reached != nil && from.Info[InfoDone] == "" { // the goal is another one now
		reached := s.can.Reached(func(name string) float64 {
			if x, ok := s.values[name]; ok {
				return x
			}
			return math.NaN()
		})
		s.update(func(x *state) { x.last.Done = reached })
	}
	return nil
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
	var row map[string]*float64
	text := s.logger.LastRow()
	if len(text) == 0 { // all rows were dropped
		return nil
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return fmt.Errorf("%s: %w", s.Folder.Path("metrics.jsonl"), err)
	}
	s.update(func(now *state) {
		for name, x := range row {
			if name == s.Kind.Unit {
				continue
			}
			now.values[name] = math.NaN()
			if x != nil {
				now.values[name] = *x
			}
		}
	})
	return nil
}

// loop runs rounds until the last one, until the run says that it is done, or until ctx ends.
func (s *session) loop(ctx context.Context) error {
	s.began = time.Now()
	for !s.over() && ctx.Err() == nil {
		started := time.Now()
		var counter *run.PartCounter
		if s.can.Parts != nil {
			counter = s.can.Parts()
		}
		end := watchRound(s.Observer.Progress, fmt.Sprintf("%s %d", s.Kind.Round, s.round+1), counter, s.expected)
		s.handBack()
		m, err := s.run.Step(ctx)
		end()
		s.expected = time.Since(started)
		if ended(ctx, err) { // the state is that before the round
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", s.Kind.Unit, s.last.Step+1, run.OutOfMemory(err, s.Experiment))
		}
		now := time.Now()
		if s.rounds == 0 {
			if err := s.firstRound(now); err != nil {
				return err
			}
		}
		s.update(func(x *state) { x.pace.add(started, now) })
		s.note(m, now, now.Sub(started).Seconds())
		if m.Failed != nil {
			return s.fail(m)
		}
		if err := s.keep(); err != nil {
			return err
		}
		s.timePhases()
	}
	return nil
}

// over reports whether no round is left to do.
func (s *session) over() bool {
	return s.last.Step >= s.Job.Last || s.last.Done || s.last.Stalled || s.reachedEnd()
}

// reachedEnd reports whether the run has reached one of Options.Ends. A time lets it have one round, at least.
func (s *session) reachedEnd() bool {
	computed := time.Duration(0)
	if s.rounds > 0 {
		computed = time.Since(s.began)
	}
	end := s.Ends.reached(computed, s.round, s.totalWork)
	s.update(func(x *state) { x.endedAt = end })
	return end != ""
}

// fail returns the error of a round in which all members failed. The state is held, so that it is written: the run can
// be resumed after its environment is mended.
func (s *session) fail(m run.Metrics) error {
	err := membersError{fmt.Errorf("%s %d: %w", s.Kind.Unit, m.Step, m.Failed())}
	return errors.Join(err, s.hold())
}

// membersError is the error of a round in which all members failed.
type membersError struct{ error }

func (e membersError) Unwrap() error { return e.error }

// ErrorCode is its code in the line of JSON.
func (membersError) ErrorCode() string { return "members_failed" }

// end copies the last state to the host, and writes the members and the kind's files.
func (s *session) end(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	if s.rounds == 0 && s.Resume == nil {
		if interrupted {
			return ErrInterrupted
		}
		return nil
	}
	if s.logger != nil {
		s.logger.End()
	}
	if err := s.hold(); err != nil {
		return err
	}
	if !interrupted {
		if err := s.reevaluate(ctx); err != nil {
			return err
		}
		interrupted = ctx.Err() != nil
	}
	if s.can.Table != nil {
		lines := s.can.Table()
		s.update(func(x *state) { x.table = lines })
	}
	if interrupted {
		if err := s.result(true, s.workGrace()/2); err != nil {
			return InterruptedError{err}
		}
		return ErrInterrupted
	}
	if err := s.result(true, 0); err != nil {
		return err
	}
	if err := s.writeTrajectories(); err != nil {
		return err
	}
	return s.keepMembers()
}

// firstRound opens the logs after the first round, so that a run that fails before it leaves nothing.
func (s *session) firstRound(end time.Time) error {
	var needed bool
	s.update(func(x *state) {
		x.firstEnd = end.Sub(s.Start)
		needed = s.Folder != nil && !x.ended && x.logger == nil
	})
	if !needed {
		return nil
	}
	return s.openLogs(0)
}

// keepsConfig reports whether the run is a resumed one with nothing left to do. Its config.toml says how it was made.
func (s *session) keepsConfig() bool {
	if s.Resume == nil || !s.over() {
		return false
	}
	stored, err := s.Folder.ReadFile("config.toml")
	return err == nil && len(stored) > 0
}

// openLogs writes the config and opens the logs after the row of a step. The disk may be full or not answer, so the
// lock is not held meanwhile.
func (s *session) openLogs(after int64) error {
	if copied := run.CopyPolicyFile(s.Experiment); copied != nil && s.Resume == nil {
		if err := s.Folder.Write(run.PolicyCopy, copied); err != nil {
			return err
		}
	}
	if s.Config != nil && !s.keepsConfig() {
		if err := s.Folder.Write("config.toml", []byte(s.text)); err != nil {
			return err
		}
	}
	logger, err := s.Folder.NewLogger(s.Kind.Unit, after, s.totalWork)
	s.update(func(x *state) { x.logger = logger })
	return err
}

// note records a round's metrics and shows them.
func (s *session) note(m run.Metrics, now time.Time, seconds float64) {
	if news, ok := s.record(m, now, seconds); ok {
		for _, line := range m.Notices {
			s.Observer.Notice(line)
		}
		s.Observer.Report(news) // the observer may wait for a reader, so the lock is not held
	}
	if s.Folder != nil && s.memoryAt.Equal(now) {
		if dir := s.Folder.Dir(); dir != s.shown {
			s.shown = dir
			s.Observer.Moved(dir)
		}
	}
}

// record puts a round's metrics into the state and the logs, and returns them for the observer; false if the run has
// ended meanwhile.
func (s *session) record(m run.Metrics, now time.Time, seconds float64) (news RoundReport, ok bool) {
	s.update(func(x *state) {
		if ok = !x.ended; !ok {
			return
		}
		if s.can.Ending != nil {
			x.ending = s.can.Ending(m)
		}
		for _, earlier := range m.Earlier {
			x.round++
			x.totalWork += earlier.Work
			if x.logger != nil {
				x.logger.Log(s.row(earlier, math.NaN(), now))
			}
		}
		x.add(m, seconds)
		x.lastEnd = now.Sub(s.Start)
		news = s.news(m, seconds, now)
		if x.logger != nil {
			x.logger.Log(s.row(m, seconds, now))
			if m.Step >= s.Job.Last || m.Done || m.Stalled || m.Failed != nil {
				x.logger.End() // before the last checkpoint
			}
		}
	})
	return news, ok
}

// add counts a round.
func (x *state) add(m run.Metrics, seconds float64) {
	if x.rounds == 0 {
		x.first, x.work0 = seconds, m.Work
	} else {
		x.steady += seconds
		x.work1 += m.Work
	}
	x.rounds++
	x.round++
	x.totalWork += m.Work
	x.last = m
	for _, v := range slices.Concat(m.Values, m.Timings) {
		x.values[v.Name] = v.Number
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

// timePhases times the parts of a round once. It needs room for a second state, so it leaves out lent ones.
func (s *session) timePhases() {
	if s.can.Phases == nil || s.phases != nil || !s.TimePhases || s.lent || time.Since(s.Start) < s.phasesDue() ||
		s.last.Step >= s.Job.Last {
		return
	}
	phases, err := s.can.Phases(1)
	if err != nil || phases == nil {
		phases = []run.Phase{} // they are not timed again
	}
	s.update(func(x *state) { x.phases = phases })
}
