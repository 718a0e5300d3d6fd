// Package session runs an experiment from its data to its last file: it opens the backend, compiles, runs the rounds,
// evaluates the members, and writes the run's folder. It needs no command line and no terminal: an Observer sees the
// run.
package session

import (
	"context"
	"errors"
	"io"
	"runtime"
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
	// Job is that of the experiment; nil: Kind.JobOf. A caller that has checked a Job gives it, so that what the
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
	// config.toml. chosen is nil if the run is resumed. over says that a resumed run has no round left to do: its
	// ends are those that it had, and the other settings say how its members were evaluated again. If Config is nil,
	// there is no config.toml.
	Config func(chosen settings.Values, over bool) (string, error)
	// Cadence is the time or number of steps between checkpoints; zero: 10 s.
	Cadence Cadence
	// Ends are further ends of the run.
	Ends Ends
	// Version is the version of the program, which is written into the files. Hosts of one run have the same.
	Version string

	// Observer sees the run; nil: nobody does.
	Observer Observer
	// TimePhases times the parts of a round once, for the observer: after 5 s, or later if it will take long.
	TimePhases bool
	// Draw returns the GIF of a member's episode, best.gif. which says which episode it is: "median of 100". nil:
	// members are not drawn.
	Draw func(env envs.Environment, rec *episode.Recording, which string) ([]byte, error)
	// Pictures returns pictures of a run at its end, such as curves.png, its learning curves. metrics are those that
	// the display draws as curves. computed is the time that all rounds took. nil: no pictures.
	Pictures func(dir string, metrics []string, computed time.Duration) []run.File

	// Start is when the time to the first round begins; zero: when Run is called.
	Start time.Time
	// Stop interrupts the run when it is closed, as the end of the context does; nil: never.
	Stop <-chan struct{}
	// Grace returns the time that the run has to end its round and put its state on the disk. It is called after an
	// interrupt, which may have several causes; nil: 800 ms.
	Grace func() time.Duration
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

// session is a run under way. One goroutine at a time owns it: it alone reads and writes the fields, except those of
// Options, which do not change once Job is made. That is the goroutine of work, until it has ended, or until a call of
// it does not return after an interrupt; then that of Run. A function of the kind, of the caller, of a device or of the
// disk is called in wait, do or tell by the first, and in within or withGrace by the second (TestCallsFromOutside).
type session struct {
	Options
	resume  *runfolder.Checkpoint // Options.Resume, which is nil here; without the arrays once a run has them in place
	offered chan struct{}         // has an element while work waits for a call: who takes it owns the session
	left    []<-chan struct{}     // of calls that did not return in time: closed when they have

	text         string // of config.toml
	backend      xlabridge.Backend
	run          run.Run
	can          *run.Capabilities // of the run
	evaluator    *Evaluator
	beside       *preparation // of the evaluator, beside the rounds; nil: none, or the session has it
	waited       float64      // seconds in which rounds after the first waited for the run's server
	awaited      float64      // seconds in which the run waited for the evaluator to be compiled
	goal         float64      // mean return at which members solve their environment, once one is evaluated; NaN: none
	logger       *runfolder.Logger
	profile      run.Profile
	began        time.Time     // the first round of this process
	expected     time.Duration // of a round: as the last one took, or an estimate; 0: not known
	held         *held
	heldAt       time.Time
	holding      time.Duration // that the last copy of the state took
	filing       time.Duration // that the kind's further files took the last time
	files        []run.File    // the kind's further files of the held state that are not on the disk
	checkpointAt time.Time
	checkpointed int64 // the step of the last checkpoint
	memoryAt     time.Time
	memoryNow    int64  // bytes at the last reading
	shown        string // the folder that the observer knows
	last         run.Metrics
	values       map[string]float64 // the last value of each metric
	pace         pace
	firstEnd     time.Duration // from Start to the end of the first round
	lastEnd      time.Duration // from Start to the end of the last round
	first        float64       // seconds of the first round
	work0        float64       // work of the first round
	steady       float64       // seconds of all rounds except the first
	work1        float64       // work of all rounds except the first
	rounds       int           // of this process
	round        int64         // of the run, with those before it was resumed
	totalWork    float64       // of the run, with that before it was resumed
	endedAt      string        // the end of Options.Ends that the run reached; "" for none
	peak         int64         // bytes of memory
	saved        string        // the path of the last checkpoint of a lent state; "": none
	savedStep    int64         // of the last checkpoint
	phases       []run.Phase
	best         *Member
	hall         []*Member  // the hall of fame, the best result first
	meanAt       int64      // the step of the mean that was written last
	ending       string     // the run's own summary
	table        []string   // the run's own table at its end
	facts        []run.Fact // of Capabilities.Reevaluate
}

// Run runs an experiment to its end, and closes the backend and the folder.
//
// When ctx ends, Run puts the state on the disk and returns an InterruptedError within the grace, even if a call on the
// devices has not returned by then. The backend is closed after that call (Outcome.Abandoned). Errors of the
// experiment's settings are of type *settings.Error. With any error, the outcome says how far the run came.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	if o.Grace == nil {
		o.Grace = func() time.Duration { return 800 * time.Millisecond }
	}
	if o.Cadence == (Cadence{}) {
		o.Cadence.Time = 10 * time.Second
	}
	if o.Observer == nil {
		o.Observer = silent{}
	}
	s := &session{Options: o, resume: o.Resume, values: map[string]float64{}, offered: make(chan struct{}, 1)}
	s.Options.Resume = nil
	return s.through(ctx, s.work)
}

// through lets work run to its end, or until ctx or Stop ends it, and closes the session.
func (s *session) through(ctx context.Context, work func(context.Context) error) (*Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.Folder != nil {
		s.shown = s.Folder.Dir()
		context.AfterFunc(ctx, s.Folder.StopWaiting) // for a disk that is full or does not answer
	}
	ended, returned := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(returned)
		ended <- work(ctx)
	}()
	over := s.afterGrace(ctx, func(grace time.Duration) time.Duration { return grace - min(grace/4, longestEnd) })
	select {
	case err := <-ended:
		return s.close(ctx, over, err)
	case <-s.Stop:
		cancel()
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return s.close(ctx, over, err)
	case <-time.After(s.roundTime()):
	}
	select {
	case err := <-ended:
		return s.close(ctx, over, err)
	case <-s.offered:
		s.left = append(s.left, returned)
		return s.close(ctx, over, ErrInterrupted)
	case <-over.Done(): // the session itself takes too long
		go func() {
			<-returned
			if s.logger != nil {
				_ = s.logger.Close()
			}
			if s.Folder != nil {
				_ = s.Folder.Close()
			}
			s.release(over)
		}()
		return &Outcome{Abandoned: true}, InterruptedError{errors.New("interrupted; the run did not stop in time, so " +
			"its last checkpoint is the newest state")}
	}
}

// evaluatorTime returns how long an interrupted run waits for the evaluator to be compiled.
func (s *session) evaluatorTime() time.Duration { return s.Grace() / 8 }

const (
	// longestSave is the most of a grace that is kept for the state, after the round under way was given up.
	longestSave = 6 * time.Second
	// longestEnd is the most of it that is kept for what the disk leaves unanswered.
	longestEnd = 3 * time.Second
	// longestCall is the most that one such call gets.
	longestCall = 250 * time.Millisecond
)

// roundTime returns how long an interrupted run waits for its round to end: a quarter of a short grace, and all but
// longestSave of a long one.
func (s *session) roundTime() time.Duration {
	grace := s.Grace()
	return max(grace/4, grace-longestSave)
}

// wait calls f, which may wait for a device, the disk or a reader. f uses no field of the session, except Options. If
// it returns when Run has taken the session, the goroutine ends. A panic of f is an error with its line.
func wait[T any](s *session, f func() (T, error)) (value T, err error) {
	s.offered <- struct{}{}
	if thrown := envs.Try(func() { value, err = f() }); thrown != nil {
		err = thrown
	}
	select {
	case <-s.offered:
	default:
		if c, ok := any(value).(io.Closer); ok && err == nil {
			_ = c.Close()
		}
		runtime.Goexit()
	}
	return value, err
}

// do is wait for a function without a result.
func (s *session) do(f func() error) error {
	_, err := wait(s, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// tell lets the observer, who may wait for a reader, see something.
func (s *session) tell(see func(Observer)) error {
	return s.do(func() error { see(s.Observer); return nil })
}
