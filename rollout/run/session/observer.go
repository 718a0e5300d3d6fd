package session

import (
	"time"

	"xlarun/rollout/run"
)

// Observer sees a run from its start to its end. Its methods may be called from many goroutines.
type Observer interface {
	// Download shows how many bytes of a download have arrived.
	Download(done, total int64)
	// Notice shows a line that must stay readable: the disk is full, the folder was removed.
	Notice(line string)
	// Phase says in a few words what the run does before its first round, or between two rounds.
	Phase(text string)
	// Progress shows how far a round is. It is called every second once the round has taken five.
	Progress(p Progress)
	// Report shows the numbers of a round.
	Report(n RoundReport)
	// Moved reports that the run's folder is now elsewhere.
	Moved(folder string)
	// Close shows the outcome. An error joins the error of Run.
	Close(o *Outcome) error
}

// Progress is how far a round under way is.
type Progress struct {
	Round       string // "generation 12"
	Done, Total int64  // parts of the round; Total 0: they are not counted
	Parts       string // what they are: "tiles"
	Taken       time.Duration
	Left        time.Duration // as expected; 0: not known
}

// RoundReport are the numbers of a round.
type RoundReport struct {
	Metrics         run.Metrics // Values holds the timings too
	StepsPerSecond  float64     // of Kind.Work
	RoundsPerSecond float64
	Backend         string
	Profile         *run.Profile
	Memory          int64       // bytes that the process uses; 0: not known
	Phases          []run.Phase // how long the parts of a round take; nil: not measured
	// Map returns the picture of a run; nil: there is none. It is not called after Report has returned.
	Map func(width, height int) ([][]float64, error)
}

// silent is an Observer that shows nothing.
type silent struct{}

func (silent) Download(int64, int64) {}
func (silent) Notice(string)         {}
func (silent) Phase(string)          {}
func (silent) Progress(Progress)     {}
func (silent) Report(RoundReport)    {}
func (silent) Moved(string)          {}
func (silent) Close(*Outcome) error  { return nil }

// opening is the run.Progress of data and backend. It shows notices as phases.
type opening struct{ Observer }

func (o opening) Notice(line string) { o.Phase(line) }

// Warn shows that the compile cache is damaged or cannot be written.
func (o opening) Warn(line string) { o.Observer.Notice(line) }
