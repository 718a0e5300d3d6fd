package run

import (
	"context"
	"math"
	"time"
)

// Metrics are the numbers of a round.
type Metrics struct {
	Step   int64   // of the Kind's Unit, from 1
	Values []Value // in the order in which they are written; the same bytes for the same settings
	Work   float64 // of this round: what steps/s counts
	// Timings are numbers of this round that differ from run to run, such as parts of its time. They are shown, and
	// written into timings.jsonl.
	Timings []Value
	// Waited is the time of this round in which the run waited for its server. It counts as none of the training. A
	// Step that fails returns it, too.
	Waited  time.Duration
	Done    bool // the goal is reached: the run ends
	Stalled bool // the run no longer gets better: it ends
	// Earlier are the metrics of rounds before this one that other processes computed, if they are not in the run's
	// folder: a process that joins late gets them with the state.
	Earlier []Metrics
	// Skipped is the number of rounds between the row before, in Earlier or in the folder, and this one whose metrics
	// are not known, since folders do not keep all rows of long runs. They count with the work of this one.
	Skipped int64
	// Notices are lines that must stay readable, such as that another process has joined.
	Notices []string
	// Failed is not nil if no member has a result. The run ends with the error that it returns, after this round is
	// recorded. It may play an episode to find the cause, and is called before the next Step, or not at all.
	Failed func(ctx context.Context) error
}

// Value is a named number.
type Value struct {
	Name   string
	Number float64
}

// Over reports whether a run up to a last step ends after this round: at its goal, because it no longer gets better, or
// at that step. An end of the session, such as a time, comes on top.
func (m Metrics) Over(last int64) bool { return m.Done || m.Stalled || m.Step >= last }

// Get returns the number with a name. ok is false if there is none.
func (m Metrics) Get(name string) (x float64, ok bool) {
	for _, values := range [][]Value{m.Values, m.Timings} {
		for _, v := range values {
			if v.Name == name {
				return v.Number, true
			}
		}
	}
	return 0, false
}

// Number returns a metric; NaN if the round has none of this name.
func (m Metrics) Number(name string) float64 {
	if x, ok := m.Get(name); ok {
		return x
	}
	return math.NaN()
}
