// Package session runs an experiment from its data to its last file: it opens the backend, compiles, runs the rounds,
// evaluates the members, and writes the run's folder. It needs no command line and no terminal: an Observer sees the
// run.
package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"xlarun/envs"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Options say what is run, on what, and where its files go. Kind, Experiment and Open are required.
type Options struct {
	Kind run.Kind
	// Experiment has settings that run.Check accepts.
	Experiment run.Experiment
	// Job is that of the experiment; nil: Experiment.Job. A caller that has checked a Job gives it, so that what the
	// check has made is not made again.
	Job *run.Job
	// Open opens the backend. The session closes it.
	Open func(ctx context.Context, p run.Progress) (xlabridge.Backend, error)

	// Folder holds the run's files. The session closes it. nil: no files are written.
	Folder *runfolder.Folder
	// Resume is the checkpoint in Folder from which the run goes on; nil: the run is new. Its Info says whether the run
	// has ended. Delete InfoDone from it if the goal has changed.
	Resume *runfolder.Checkpoint
	// Config sets the settings in chosen, which were chosen when the run was compiled, and returns the text of
	// config.toml. chosen is nil if the run is resumed. If Config is nil, there is no config.toml.
	Config func(chosen settings.Values) (string, error)
	// Cadence is the time or number of steps between checkpoints; zero: 10 s.
	Cadence Cadence
	// Ends are further ends of the run.
	Ends Ends
	// Version is the version of the program, which is written into the files.
	Version string

	// Observer sees the run; nil: nobody does.
	Observer Observer
	// TimePhases times the parts of a round once, for the observer: after 5 s, or later if it will take long.
	TimePhases bool
	// Draw returns the GIF of a member's episode, best.gif; nil: members are not drawn.
	Draw func(env envs.Environment, rec *episode.Recording, seed int64) ([]byte, error)
	// Pictures returns pictures of a run at its end, such as curves.png, its learning curves. metrics are those that
	// the display draws as curves. computed is the time that all rounds took. nil: no pictures.
	Pictures func(dir string, metrics []string, computed time.Duration) []run.File

	// Start is when the time to the first round begins; zero: when Run is called.
	Start time.Time
	// Stop interrupts the run when it is closed, as the end of the context does; nil: never.
	Stop <-chan struct{}
	// Grace is the time that an interrupted run has to put its state on the disk; 0: 800 ms.
	Grace time.Duration
}

// Cadence is how often a checkpoint is written: after a time, or after so many steps.
type Cadence struct {
	Time  time.Duration
	Steps int64 // 0: by time
}

// due reports whether a checkpoint is due at a step, after a last one of another step, some time ago.
func (c Cadence) due(step, last int64, ago time.Duration) bool {
	if c.Steps > 0 {
		return step/c.Steps > last/c.Steps
	}
	return ago >= c.Time
}

const (
	// memoryEvery is the time between two readings of the memory in use.
	memoryEvery = 500 * time.Millisecond
	// snapshotEvery is the least time between two copies of the state, which are held for an interrupt. A shorter time
	// would cost short rounds a transfer each.
	snapshotEvery = 200 * time.Millisecond
	// holdShare is the least ratio of the time between two copies of the state to the time that a copy takes. The
	// kind's further files do not count: they limit themselves, and a slow picture would keep the state old.
	holdShare = 50
	// largeState is the size in bytes from which the memory of an old copy is collected at once. The collector alone
	// would wait until there is as much garbage as memory in use.
	largeState = 4 << 20
	// phasesAfter is the least time after which the parts of a round are timed.
	phasesAfter = 5 * time.Second
	// phasesShare is the least ratio of that time to the time that the programs of the run took to compile. Those of
	// the parts may take as long.
	phasesShare = 50
)

// lentState is the size in bytes from which the state of a run that lends it (Capabilities.InPlace) is not copied.
// Checkpoints and members are written from where it is, and an interrupt inside of a round leaves the last checkpoint:
// there would be no time to write a newer one. Tests change it.
var lentState = 64 << 20

// Keys of a checkpoint's Info.
const (
	InfoVersion = "xlarun" // the version of the program that wrote it
	InfoDone    = "done"   // whether the goal is reached: "true", "false", or "stalled" if the run ran out of patience
	infoRound   = "round"  // the number of rounds so far
	infoWork    = "work"   // the work of those rounds
)

// stalled is the InfoDone of a run that ran out of patience.
const stalled = "stalled"

// session is a run under way.
type session struct {
	Options
	text string // of config.toml

	// Only work uses these.
	run          run.Run
	can          *run.Capabilities // of the run
	evaluator    *Evaluator
	filing       time.Duration // that the kind's further files took the last time
	began        time.Time     // the first round of this process
	expected     time.Duration // of a round: as the last one took, or an estimate; 0: not known
	heldAt       time.Time
	holding      time.Duration // that the last copy of the state took
	checkpointAt time.Time
	checkpointed int64 // the step of the last checkpoint
	memoryAt     time.Time
	memoryNow    int64  // bytes at the last reading
	shown        string // the folder that the observer knows

	stuck atomic.Bool // the disk did not answer, and a file of a lent state may be being written

	mu sync.Mutex
	state
}

// state is what finish reads while work may be inside a call. Only work changes it, by update, so work reads it without
// the lock; finish sets ended and peak, under the lock.
type state struct {
	backend   xlabridge.Backend
	profile   run.Profile
	logger    *runfolder.Logger
	held      *runfolder.Checkpoint // the run's state: a copy on the host, or lent
	lent      bool                  // held is the state itself, which the next round uses up
	files     []run.File            // the kind's further files of that state that are not on the disk
	last      run.Metrics
	values    map[string]float64 // the last value of each metric
	pace      pace
	firstEnd  time.Duration // from Start to the end of the first round
	lastEnd   time.Duration // from Start to the end of the last round
	first     float64       // seconds of the first round
	work0     float64       // work of the first round
	steady    float64       // seconds of all rounds except the first
	work1     float64       // work of all rounds except the first
	rounds    int           // of this process
	round     int64         // of the run, with those before it was resumed
	totalWork float64       // of the run, with that before it was resumed
	endedAt   string        // the end of Options.Ends that the run reached; "" for none
	peak      int64         // bytes of memory
	saved     string        // the path of the last checkpoint of a lent state; "": none
	savedStep int64         // of the last checkpoint
	phases    []run.Phase
	best      *Member
	hall      []*Member  // the hall of fame, the highest mean return first
	meanAt    int64      // the step of the mean that was written last
	ending    string     // the run's own summary
	table     []string   // the run's own table at its end
	facts     []run.Fact // of Capabilities.Reevaluate
	ended     bool       // finish runs: work writes nothing more
}

// update changes the state under the lock. change must not wait for the disk, a device or the observer.
func (s *session) update(change func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// Run runs an experiment to its end, and closes the backend and the folder.
//
// When ctx ends, Run puts the state on the disk and returns an InterruptedError within the grace, even if a call on the
// devices has not returned by then; the process should end soon. Errors of the experiment's settings are of type
// *settings.Error. With any error, the outcome says how far the run came.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	if o.Grace == 0 {
		o.Grace = 800 * time.Millisecond
	}
	if o.Cadence == (Cadence{}) {
		o.Cadence.Time = 10 * time.Second
	}
	if o.Observer == nil {
		o.Observer = silent{}
	}
	run.KeepPolicyFile(o.Experiment)
	if o.Job == nil {
		o.Job = o.Experiment.Job()
	}
	s := &session{Options: o, state: state{values: map[string]float64{}}}
	if s.Folder != nil {
		s.shown = s.Folder.Dir()
	}
	return s.supervise(ctx)
}

// workGrace is the time that an interrupt waits for work to return.
func (s *session) workGrace() time.Duration { return s.Grace / 4 }

// lastGrace is the time that the last files have after the end of the time for saving.
func (s *session) lastGrace() time.Duration { return s.Grace / 32 }

// supervise works in a goroutine of its own, so that an interrupt is heard while a call into the compiler or onto the
// devices is under way. finish gets the error of work, or nil while work is still inside a call.
func (s *session) supervise(ctx context.Context) (*Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	saveGrace := 3 * s.Grace / 4
	done := make(chan error, 1)
	go func() { done <- s.work(ctx) }()
	select {
	case err := <-done:
		defer s.release()
		if s.Folder != nil { // the end of a run, too, may wait for a disk that is full or does not answer
			context.AfterFunc(ctx, s.Folder.StopWaiting)
		}
		o, err := s.finish(err, false, afterGrace(ctx, saveGrace))
		return o, interruptible(ctx, err)
	case <-ctx.Done():
	case <-s.Stop:
		cancel()
	}
	over := afterGrace(ctx, saveGrace)
	if s.Folder != nil {
		s.Folder.StopWaiting()
	}
	select {
	case err := <-done:
		defer s.release()
		return s.finish(err, true, over)
	case <-time.After(s.workGrace()):
		return s.finish(nil, true, over)
	}
}

// release closes everything after work has returned. It closes nothing that is still read.
func (s *session) release() {
	if s.stuck.Load() {
		return
	}
	if s.evaluator != nil {
		_ = s.evaluator.Close()
	}
	if s.run != nil {
		_ = s.run.Close()
	}
	if s.backend != nil {
		_ = s.backend.Close()
	}
}
