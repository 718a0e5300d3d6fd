package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/cmd/xlarun/runfolder"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

const (
	// memoryEvery is how often the display's figure of memory is read.
	memoryEvery = 500 * time.Millisecond
	// snapshotEvery is how old the state held for an interrupt may get; a shorter time would cost short rounds a transfer
	// each.
	snapshotEvery = 200 * time.Millisecond
	// holdShare is how much longer a run goes on between two copies of its state than one copy takes, at least.
	holdShare = 50
	// largeState is the size from which the memory of a copy that is no longer held is collected at once: left to itself,
	// the collector waits until there is as much garbage as there is in use.
	largeState = 4 << 20
	// workGrace is how long an interrupt waits for the work to end by itself, and saveGrace how long it may take until the
	// state is on the disk; what comes last has lastGrace for each file.
	workGrace, saveGrace, lastGrace = console.Grace / 4, 3 * console.Grace / 4, console.Grace / 32
	// phasesAfter is the time after which the parts of a round are timed once, for the display.
	phasesAfter = 5 * time.Second
)

// Keys of a checkpoint's further facts.
const (
	infoProgram = "xlarun" // the version that wrote it
	infoDone    = "done"   // whether the goal is reached: "true", "false", or "stalled" where the run ended without
	infoRound   = "round"  // the number of rounds so far
)

// stalled is the infoDone of a run that no longer got better.
const stalled = "stalled"

// session is a run under way, of any kind, with the folder, log and display that it feeds.
type session struct {
	*app
	*task
	folder  *runfolder.Folder     // nil: none is wanted
	resumed *runfolder.Checkpoint // the one that the run goes on from; nil: it is new
	skipped []string              // why newer ones were not taken
	before  *task                 // the settings that it was written with; nil: they cannot be read
	json    bool
	start   time.Time // of the process
	report  display.Reporter
	live    bool // somebody may be watching a screen
	out     *reader

	// Used by work alone.
	run          run.Run
	judge        *judge
	filing       time.Duration // that the kind's further files took the last time
	heldAt       time.Time
	holding      time.Duration // that the last copy of the state took
	checkpointAt time.Time
	checkpointed int64 // the step of the last one
	memoryAt     time.Time
	memoryNow    int64  // when it was read last
	shown        string // where the display says that the folder is

	// What follows is written by work and read by finish, which may run while work is inside a call.
	mu       sync.Mutex
	backend  xlabridge.Backend
	profile  run.Profile
	logger   *runfolder.Logger
	held     *runfolder.Checkpoint // a state on the host
	last     run.Metrics
	values   map[string]float64 // the last value of each metric
	firstEnd time.Duration      // from the process's start to the end of the first round
	pace     pace
	after    time.Duration // and of the last
	first    float64       // seconds of the first round
	work0    float64       // its work
	steady   float64       // seconds of all rounds but the first
	work1    float64       // their work
	rounds   int
	round    int64 // rounds since the run began, those before it went on included
	peak     int64
	phases   []run.Phase
	best     *bestMember
	fame     []*famed // the hall of fame, the one that did best on fresh episodes first
	centreAt int64    // the step of the centre that was written last
	ending   string   // what the run says of itself
	table    []string // and shows behind its end
	ended    bool     // finish has the word
}

// newSession makes the folder of a new run, or opens that of one that goes on.
func newSession(a *app, t *task, o ownFlags) (*session, error) {
	s := &session{app: a, task: t, json: o.json, start: machine.ProcessStart(), values: map[string]float64{}}
	var err error
	options := runfolder.Options{Keep: t.place.Keep, Disk: a.disk, Notice: s.Notice}
	switch {
	case o.resume != "":
		err = s.reopen(o, options)
	case o.out != "none":
		s.folder, err = a.newFolder(o.out, t.title(), options)
	}
	if err != nil {
		return nil, err
	}
	b := display.Board{Command: t.Name + " " + t.Title(), Setup: run.Setup(t.Experiment), Unit: t.Unit, Last: t.Last(), Rows: t.Board(), Round: t.Round, Work: t.Work, Start: s.start}
	if t.Title() == t.Name {
		b.Command = t.Name
	}
	if s.folder != nil {
		s.shown = s.folder.Dir()
		b.Folder = s.shown
	}
	out := a.Out
	if _, s.live = display.Terminal(out, a.Getenv); !s.live {
		s.out = &reader{Writer: out, left: make(chan struct{})}
		out = s.out
	}
	s.report = display.NewReporter(out, a.Getenv, b)
	return s, nil
}

// Download and Notice make the session a listener.
func (s *session) Download(done, total int64) { s.report.Download(done, total) }

// Notice says something that is worth knowing.
func (s *session) Notice(line string) {
	if s.report != nil {
		s.report.Notice(line)
	}
}

// progress is the session as what tells of slow beginnings.
type progress struct{ display.Reporter }

func (p progress) Notice(line string) { p.Phase(line) }

// Warn says what must stay readable: that the cache is damaged, or cannot be written.
func (p progress) Warn(line string) { p.Reporter.Notice(line) }

// reader is stdout as a pipe, whose reader may leave: a run that nobody reads any more ends as if it had been interrupted.
type reader struct {
	io.Writer
	once sync.Once
	left chan struct{}
}

// Write implements io.Writer.
func (r *reader) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		r.once.Do(func() { close(r.left) })
	}
	return n, err
}

// supervise works in a goroutine of its own, so that an interrupt is heard while a call into the compiler or onto the
// devices is under way; finish gets what work ended with, or nil while it is still inside a call.
func (s *session) supervise(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.work(ctx) }()
	var left <-chan struct{}
	if s.out != nil {
		left = s.out.left
	}
	select {
	case err := <-done:
		defer s.release()
		if s.folder != nil { // at its end, too, a run may wait for a disk that is full, or that does not answer
			context.AfterFunc(ctx, s.folder.StopWaiting)
		}
		return s.interruptible(ctx, s.finish(err, false, after(ctx, saveGrace)))
	case <-ctx.Done():
	case <-left:
		cancel()
	}
	over := after(ctx, saveGrace)
	if s.folder != nil {
		s.folder.StopWaiting()
	}
	select {
	case err := <-done:
		defer s.release()
		return s.finish(err, true, over)
	case <-time.After(workGrace):
		return s.finish(nil, true, over)
	}
}

// work runs from the data to the last round. What it leaves behind is written by finish.
func (s *session) work(ctx context.Context) (err error) {
	if f, ok := s.Experiment.(run.Fetcher); ok {
		if err := f.Fetch(ctx, progress{s.report}); err != nil {
			if ctx.Err() != nil {
				return console.ErrInterrupted
			}
			return settingError(err, "", nil)
		}
	}
	on := s.on()
	s.report.Phase("opening the " + on.Backend + " backend")
	b, err := s.openBackend(ctx, on, progress{s.report})
	if err != nil {
		return err
	}
	phase := "tracing and compiling"
	if p, ok := s.Experiment.(run.Planned); ok && (p.Planned().Tune == plan.TuneQuick || p.Planned().Tune == plan.TuneFull) {
		phase = "measuring plans, then " + phase
	}
	s.report.Phase(phase)
	s.mu.Lock()
	s.backend = b
	s.mu.Unlock()
	r, err := s.Start(b)
	if err != nil {
		return settingError(err, "", nil)
	}
	s.run = r
	if s.resumed != nil {
		if err := r.Restore(run.Snapshot{Step: s.resumed.Step, Arrays: s.resumed.Arrays}); err != nil {
			return fmt.Errorf("%s: %w", s.folder.Dir(), err)
		}
	}
	s.mu.Lock()
	s.profile = r.Profile()
	s.mu.Unlock()
	if err := s.record(); err != nil {
		return err
	}
	if f, ok := b.(*nanFinder); ok {
		f.follow(r)
	}
	if reason := s.profile.PlanNotice(); reason != "" {
		s.Notice(reason)
	}
	step := int64(0)
	if s.resumed != nil {
		step = s.resumed.Step
		if err := s.goOn(); err != nil {
			return err
		}
	}
	if step == 0 {
		s.report.Phase("the first " + s.Round)
	} else {
		s.report.Phase(fmt.Sprintf("going on after %s %d", s.Unit, step))
	}
	for step < s.Last() && ctx.Err() == nil && !s.last.Done && !s.last.Stalled {
		started := time.Now()
		m, err := r.Step()
		if err != nil {
			return fmt.Errorf("%s %d: %w", s.Unit, step+1, err)
		}
		now := time.Now()
		if s.rounds == 0 {
			if err := s.begin(now); err != nil {
				return err
			}
		}
		step = m.Step
		s.mu.Lock()
		s.pace.note(started, now)
		s.mu.Unlock()
		s.note(m, now, now.Sub(started).Seconds())
		if err := s.keep(); err != nil {
			return err
		}
		s.timePhases()
	}
	if s.rounds == 0 && s.resumed == nil {
		if ctx.Err() != nil {
			return console.ErrInterrupted
		}
		return nil
	}
	if t, ok := r.(run.Tabled); ok {
		lines := t.Table()
		s.mu.Lock()
		s.table = lines
		s.mu.Unlock()
	}
	if err := s.hold(); err != nil {
		return err
	}
	if ctx.Err() != nil {
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
	s.mu.Lock()
	s.text = text
	s.mu.Unlock()
	return err
}

// begin opens the logs once the first round is through, so that a run which never gets there leaves nothing.
func (s *session) begin(at time.Time) error {
	s.mu.Lock()
	s.firstEnd = at.Sub(s.start)
	made := s.folder == nil || s.ended || s.logger != nil
	s.mu.Unlock()
	if made {
		return nil
	}
	return s.openLogs(0)
}

// openLogs writes the config and opens the logs, behind the row of a step. The disk may be full or not answer, so the mutex is
// not held meanwhile.
func (s *session) openLogs(after int64) error {
	if err := s.folder.Write("config.toml", []byte(s.text)); err != nil {
		return err
	}
	logger, err := s.folder.NewLogger(s.Unit, after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logger = logger
	return err
}

// note takes a round's metrics down.
func (s *session) note(m run.Metrics, now time.Time, seconds float64) {
	if news, ok := s.take(m, now, seconds); ok {
		s.report.News(news) // whoever reads stdout may let it wait, so the mutex is not held
	}
	if s.folder != nil && s.memoryAt.Equal(now) {
		if dir := s.folder.Dir(); dir != s.shown {
			s.shown = dir
			s.report.Moved(dir)
		}
	}
}

// take is note without the display.
func (s *session) take(m run.Metrics, now time.Time, seconds float64) (news display.News, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return news, false
	}
	if e, ok := s.run.(run.Ending); ok {
		s.ending = e.Ending(m)
	}
	if s.rounds == 0 {
		s.first, s.work0 = seconds, m.Work
	} else {
		s.steady += seconds
		s.work1 += m.Work
	}
	s.rounds++
	s.round++
	s.last = m
	shown := m
	shown.Values = slices.Concat(m.Values, m.Timings)
	for _, v := range shown.Values {
		s.values[v.Name] = v.Number
	}
	s.after = now.Sub(s.start)
	news = display.News{Metrics: shown, StepsPerSecond: m.Work / seconds, RoundsPerSecond: 1 / seconds, Devices: console.DevicesText(s.profile.Devices, s.backend.Backend()),
		Plan: s.profile.Plan, Cache: s.profile.Cache, Trace: duration(s.profile.TraceSeconds), Compile: duration(s.profile.CompileSeconds),
		Memory: s.memory(now), Phases: s.phases}
	if s.logger != nil {
		s.logger.Log(runfolder.Row{Step: m.Step, Round: s.round, Time: now, Metrics: rowValues(m.Values),
			Timings: slices.Concat([]runfolder.Value{{Name: "seconds", Number: seconds}, {Name: "steps_per_second", Number: m.Work / seconds}}, rowValues(s.pace.row(s.Round)), rowValues(m.Timings))})
	}
	return news, true
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
	s.mu.Lock()
	s.phases = phases
	s.mu.Unlock()
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
	if s.judge == nil && s.judged() != nil { // what judges is compiled first, and the state does not wait for that
		if err := s.checkpoint(); err != nil {
			return err
		}
		return s.result(false, 0)
	}
	if err := s.result(false, 0); err != nil { // before the checkpoint: after a kill, the best is never older than the state
		return err
	}
	return s.checkpoint()
}

// hold copies the state to the host.
func (s *session) hold() error {
	if s.folder == nil && s.judged() == nil {
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
	s.mu.Lock()
	s.held = &runfolder.Checkpoint{Step: snapshot.Step, Kind: s.Name, Format: s.Version, Config: s.text, Arrays: snapshot.Arrays,
		Info: map[string]string{infoProgram: console.Version(), infoDone: done, infoRound: strconv.FormatInt(s.round, 10)}}
	s.mu.Unlock()
	size := 0
	for _, a := range snapshot.Arrays {
		size += a.Shape().Bytes()
	}
	if size >= largeState {
		runtime.GC()
	}
	return nil
}

// checkpoint puts the held state on disk. Saving may wait for a disk that is full, so the mutex is not held.
func (s *session) checkpoint() error {
	s.mu.Lock()
	held, ended := s.held, s.ended
	s.mu.Unlock()
	if held == nil || s.folder == nil || ended {
		return nil
	}
	_, err := s.folder.SaveCheckpoint(*held)
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
