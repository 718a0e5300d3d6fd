package cli

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// work runs from the data to the last round, in phases. finish writes what it leaves in memory.
func (s *session) work(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{s.fetch, s.open, s.begin, s.restore, s.loop, s.end} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fetch downloads the data that the experiment needs.
func (s *session) fetch(ctx context.Context) error {
	f, ok := s.Experiment.(run.Fetcher)
	if !ok {
		return nil
	}
	err := f.Fetch(ctx, progress{s.report})
	if err != nil && ctx.Err() != nil {
		return console.ErrInterrupted
	}
	return settingError(err, "", nil)
}

// open opens the backend.
func (s *session) open(ctx context.Context) error {
	on := s.on()
	s.report.Phase("opening the " + on.Backend + " backend")
	b, err := s.OpenBackend(ctx, on, progress{s.report})
	if err != nil {
		return err
	}
	s.update(func(x *state) { x.backend = b })
	return nil
}

// begin compiles the run.
func (s *session) begin(context.Context) error {
	phase := "tracing and compiling"
	if p, ok := s.Experiment.(run.Planned); ok {
		if tune := p.Planned().Tune; tune == plan.TuneQuick || tune == plan.TuneFull {
			phase = "measuring plans, then " + phase
		}
	}
	s.report.Phase(phase)
	r, err := s.Start(s.backend)
	if err != nil { // r may be a nil pointer in a run.Run that is not nil
		return settingError(err, "", nil)
	}
	s.run = r
	return nil
}

// restore puts the checkpoint of a resumed run into it, and takes up its logs.
func (s *session) restore(context.Context) error {
	if s.resumed != nil {
		if err := s.run.Restore(run.Snapshot{Step: s.resumed.Step, Arrays: s.resumed.Arrays}); err != nil {
			return fmt.Errorf("%s: %w", s.folder.Dir(), err)
		}
	}
	s.update(func(x *state) { x.profile = s.run.Profile() })
	if err := s.record(); err != nil {
		return err
	}
	if f, ok := s.backend.(*nanFinder); ok {
		f.follow(s.run)
	}
	if reason := s.profile.PlanNotice(); reason != "" {
		s.Notice(reason)
	}
	if s.resumed != nil {
		if err := s.resumeLogs(); err != nil {
			return err
		}
	}
	if s.last.Step == 0 {
		s.report.Phase("the first " + s.Round)
	} else {
		s.report.Phase(fmt.Sprintf("going on after %s %d", s.Unit, s.last.Step))
	}
	return nil
}

// loop runs rounds until the last one, until the run says that it is done, or until ctx ends.
func (s *session) loop(ctx context.Context) error {
	for s.last.Step < s.Last() && ctx.Err() == nil && !s.last.Done && !s.last.Stalled {
		started := time.Now()
		m, err := s.run.Step()
		if err != nil {
			return fmt.Errorf("%s %d: %w", s.Unit, s.last.Step+1, err)
		}
		now := time.Now()
		if s.rounds == 0 {
			if err := s.firstRound(now); err != nil {
				return err
			}
		}
		s.update(func(x *state) { x.pace.add(started, now) })
		s.note(m, now, now.Sub(started).Seconds())
		if err := s.keep(); err != nil {
			return err
		}
		s.timePhases()
	}
	return nil
}

// end copies the last state to the host and writes what the run has come to.
func (s *session) end(ctx context.Context) error {
	interrupted := ctx.Err() != nil
	if s.rounds == 0 && s.resumed == nil {
		if interrupted {
			return console.ErrInterrupted
		}
		return nil
	}
	if t, ok := s.run.(run.Tabled); ok {
		lines := t.Table()
		s.update(func(x *state) { x.table = lines })
	}
	if err := s.hold(); err != nil {
		return err
	}
	if interrupted {
		if err := s.result(true, workGrace/2); err != nil {
			return console.InterruptedError{Err: err}
		}
		return console.ErrInterrupted
	}
	if err := s.result(true, 0); err != nil {
		return err
	}
	return s.writeTrajectories()
}

// record puts what was chosen for the run into the resolved config: with it, the run repeats to the byte whatever is
// stored or free then. A run that goes on keeps the config that it has, and so the settings that were chosen at first.
func (s *session) record() error {
	if s.resumed != nil {
		return nil
	}
	if err := s.apply(maps.Clone(map[string]any(s.profile.Chosen)), "", nil); err != nil {
		return err
	}
	text, err := s.config()
	s.update(func(*state) { s.text = text })
	return err
}

// firstRound opens the logs after the first round, so that a run which never gets there leaves nothing.
func (s *session) firstRound(end time.Time) error {
	var needed bool
	s.update(func(x *state) {
		x.firstEnd = end.Sub(s.start)
		needed = s.folder != nil && !x.ended && x.logger == nil
	})
	if !needed {
		return nil
	}
	return s.openLogs(0)
}

// openLogs writes the config and opens the logs after the row of a step. The disk may be full or not answer, so the
// lock is not held meanwhile.
func (s *session) openLogs(after int64) error {
	if err := s.folder.Write("config.toml", []byte(s.text)); err != nil {
		return err
	}
	logger, err := s.folder.NewLogger(s.Unit, after)
	s.update(func(x *state) { x.logger = logger })
	return err
}

// note takes a round's metrics down.
func (s *session) note(m run.Metrics, now time.Time, seconds float64) {
	if news, ok := s.take(m, now, seconds); ok {
		s.report.News(news) // whoever reads stdout may let it wait, so the lock is not held
	}
	if s.folder != nil && s.memoryAt.Equal(now) {
		if dir := s.folder.Dir(); dir != s.shown {
			s.shown = dir
			s.report.Moved(dir)
		}
	}
}

// take puts a round's metrics into the state and the logs, and returns what the display shows of them; false if the
// run has ended meanwhile.
func (s *session) take(m run.Metrics, now time.Time, seconds float64) (news display.News, ok bool) {
	s.update(func(x *state) {
		if ok = !x.ended; !ok {
			return
		}
		if e, ok := s.run.(run.Ending); ok {
			x.ending = e.Ending(m)
		}
		x.add(m, seconds)
		x.lastEnd = now.Sub(s.start)
		news = s.news(m, seconds, now)
		if x.logger != nil {
			x.logger.Log(s.row(m, seconds, now))
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
	x.last = m
	for _, v := range slices.Concat(m.Values, m.Timings) {
		x.values[v.Name] = v.Number
	}
}

// news is what the display shows of a round.
func (s *session) news(m run.Metrics, seconds float64, now time.Time) display.News {
	shown := m
	shown.Values = slices.Concat(m.Values, m.Timings)
	return display.News{Metrics: shown, StepsPerSecond: m.Work / seconds, RoundsPerSecond: 1 / seconds,
		Devices: console.DevicesText(s.profile.Devices, s.backend.Backend()),
		Plan:    s.profile.Plan, Cache: s.profile.Cache, Trace: duration(s.profile.TraceSeconds),
		Compile: duration(s.profile.CompileSeconds), Memory: s.memory(now), Phases: s.phases}
}

// row is what the logs have of a round.
func (s *session) row(m run.Metrics, seconds float64, now time.Time) runfolder.Row {
	timings := []runfolder.Value{{Name: "seconds", Number: seconds},
		{Name: "steps_per_second", Number: m.Work / seconds}}
	return runfolder.Row{Step: m.Step, Round: s.round, Time: now, Metrics: rowValues(m.Values),
		Timings: slices.Concat(timings, rowValues(s.pace.row(s.Round)), rowValues(m.Timings))}
}

func rowValues(values []run.Value) []runfolder.Value {
	out := make([]runfolder.Value, len(values))
	for i, v := range values {
		out[i] = runfolder.Value{Name: v.Name, Number: v.Number}
	}
	return out
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// memory is the process's, read now and then.
func (s *session) memory(now time.Time) int64 {
	if now.Sub(s.memoryAt) > memoryEvery {
		if m, err := xlabridge.ProcessMemory(); err == nil {
			s.memoryNow = m.InUse
		}
		s.memoryAt = now
	}
	return s.memoryNow
}

// timePhases times the parts of a round, once, where somebody watches for long enough.
func (s *session) timePhases() {
	t, ok := s.run.(run.Timed)
	if !ok || s.phases != nil || !s.live || time.Since(s.start) < phasesAfter || s.last.Step >= s.Last() {
		return
	}
	phases, err := t.Phases(1)
	if err != nil || phases == nil {
		phases = []run.Phase{}
	}
	s.update(func(x *state) { x.phases = phases })
}

// keep holds the state, and puts it on disk, where it is time.
func (s *session) keep() error {
	if s.folder == nil {
		return nil
	}
	now := time.Now()
	due := s.checkpointAt.IsZero() || s.cadence.due(s.last.Step, s.checkpointed, now.Sub(s.checkpointAt))
	if due || now.Sub(s.heldAt) > max(snapshotEvery, holdShare*s.holding) {
		if err := s.hold(); err != nil {
			return err
		}
		s.heldAt = time.Now()
		s.holding = s.heldAt.Sub(now)
	}
	if !due {
		return nil
	}
	s.checkpointAt, s.checkpointed = now, s.last.Step
	if s.judge == nil && s.player() != nil { // what judges is compiled first, and the state does not wait for that
		if err := s.checkpoint(); err != nil {
			return err
		}
		return s.result(false, 0)
	}
	// before the checkpoint: after a kill, the best is never older than the state
	if err := s.result(false, 0); err != nil {
		return err
	}
	return s.checkpoint()
}

// hold copies the state to the host.
func (s *session) hold() error {
	if s.folder == nil && s.player() == nil {
		return nil
	}
	snapshot, err := s.run.Snapshot()
	if err != nil {
		return err
	}
	done := strconv.FormatBool(s.last.Done)
	if s.last.Stalled && !s.last.Done {
		done = stalled
	}
	held := &runfolder.Checkpoint{Step: snapshot.Step, Kind: s.Name, Format: s.Version, Config: s.text,
		Arrays: snapshot.Arrays, Info: map[string]string{infoProgram: console.Version(), infoDone: done,
			infoRound: strconv.FormatInt(s.round, 10)}}
	s.update(func(x *state) { x.held = held })
	size := 0
	for _, a := range snapshot.Arrays {
		size += a.Shape().Bytes()
	}
	if size >= largeState {
		runtime.GC()
	}
	return nil
}

// checkpoint puts the held state on disk. Saving may wait for a disk that is full, so the lock is not held.
func (s *session) checkpoint() error {
	var ended bool
	s.update(func(x *state) { ended = x.ended })
	if s.held == nil || s.folder == nil || ended {
		return nil
	}
	_, err := s.folder.SaveCheckpoint(*s.held)
	return err
}

// stepsPerSecond is the steady speed: of all rounds but the first, where there are others.
func (s *session) stepsPerSecond() float64 {
	switch {
	case s.rounds == 0:
		return 0
	case s.rounds == 1 || s.steady == 0:
		return s.work0 / s.first
	}
	return s.work1 / s.steady
}
