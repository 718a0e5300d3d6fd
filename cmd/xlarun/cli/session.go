package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

const (
	// memoryEvery is how often the display's figure of memory is read.
	memoryEvery = 500 * time.Millisecond
	// snapshotEvery is how old the state held for an interrupt may get; a shorter time would cost short rounds a
	// transfer each.
	snapshotEvery = 200 * time.Millisecond
	// holdShare is how much longer a run goes on between two copies of its state than one copy takes, at least.
	holdShare = 50
	// largeState is the size from which the memory of a copy that is no longer held is collected at once: left to
	// itself, the collector waits until there is as much garbage as there is in use.
	largeState = 4 << 20
	// workGrace is how long an interrupt waits for the work to end by itself, and saveGrace how long it may take until
	// the state is on the disk; what comes last has lastGrace for each file.
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
	*App
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

	mu sync.Mutex
	state
}

// state is what finish reads while work may be inside a call. Only work changes it, by update, so work reads it without
// the lock.
type state struct {
	backend  xlabridge.Backend
	profile  run.Profile
	logger   *runfolder.Logger
	held     *runfolder.Checkpoint // a copy of the run's state on the host
	last     run.Metrics
	values   map[string]float64 // the last value of each metric
	pace     pace
	firstEnd time.Duration // from the process's start to the end of the first round
	lastEnd  time.Duration // and to the end of the last one
	first    float64       // seconds of the first round
	work0    float64       // its work
	steady   float64       // seconds of all rounds except the first
	work1    float64       // their work
	rounds   int           // of this process
	round    int64         // of the run, those before it was resumed included
	peak     int64
	phases   []run.Phase
	best     *bestMember
	fame     []*fameMember // the hall of fame, the one that did best on fresh episodes first
	centreAt int64         // the step of the centre that was written last
	ending   string        // what the run says of itself
	table    []string      // what it shows after its end
	ended    bool          // finish runs: work writes nothing more
}

// update changes the state under the lock. change must not wait for the disk, a device or whoever reads stdout.
func (s *session) update(change func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// newSession makes the folder of a new run, or opens that of one that goes on.
func newSession(a *App, t *task, o ownFlags) (*session, error) {
	s := &session{App: a, task: t, json: o.json, start: machine.ProcessStart(),
		state: state{values: map[string]float64{}}}
	var err error
	options := runfolder.Options{Keep: t.session.Keep, Disk: a.disk, Notice: s.Notice}
	switch {
	case o.resume != "":
		err = s.reopen(o, options)
	case o.out != "none":
		s.folder, err = a.newFolder(o.out, t.title(), options)
	}
	if err != nil {
		return nil, err
	}
	b := display.Board{Command: t.Name + " " + t.Title(), Setup: run.Setup(t.Experiment), Unit: t.Unit, Last: t.Last(),
		Rows: t.Board(), Round: t.Round, Work: t.Work, Start: s.start}
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

// reader is stdout as a pipe, whose reader may leave: a run that nobody reads any more ends as if it had been
// interrupted.
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
