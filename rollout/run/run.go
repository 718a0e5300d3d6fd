// Package run is the contract of the kinds of run (evolve, sparse, …). A kind that implements it gets a command with
// flags, config files, a display, warm-up, profile, checkpoints and exact resume.
//
// A kind registers a Kind. Its New makes an Experiment, a struct of settings. Its Job says what is run with them, and
// starts a Run. What a run can do beyond its rounds stands in its Capabilities. Loop is a Run made of a state and a
// step function.
package run

import (
	"context"
	"math"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Run is a run under way: programs, and a state on the devices. It is not for use by several goroutines at a time,
// except the methods of Members.
type Run interface {
	// Describe says what the run can do. That is the same for the life of the run.
	Describe() *Capabilities
	// Step computes one round: a generation, some steps of SGD. When ctx ends while it waits for other processes, Step
	// returns its error soon, and the state is that before the round. A call on the devices is not cut.
	Step(ctx context.Context) (Metrics, error)
	// Snapshot copies the state to the host. With the settings, it is all that the rest of the run depends on.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Restore sets the state to a snapshot of a run with the same settings, on any number of devices. The steps that
	// follow are equal to the byte to those that followed the snapshot. An error says which arrays are missing or have
	// other shapes. When ctx ends meanwhile, the state is lost.
	Restore(ctx context.Context, s Snapshot) error
	// Profile says what was compiled.
	Profile() Profile
	// Close frees the state and the programs.
	Close() error
}

// Capabilities is what a run can do beyond its rounds. A nil field means that it does not do that. A kind whose run
// embeds a Loop changes the capabilities that Loop.Describe returns.
type Capabilities struct {
	// Members are saved and, if the members of the experiment play episodes, evaluated.
	Members Members
	// InPlace returns the state as Run.Snapshot does, but large arrays stay where they are: they are valid until the
	// next Step, Restore or Close. It is for a state that may be too large to be copied each time.
	InPlace func() (Snapshot, error)
	// Closing returns further metrics of the last round, such as those of a test at the end of the run. It is called
	// once, after the last Step and before Ending, whatever ends the run, unless that is an interrupt.
	Closing func(ctx context.Context) ([]Value, error)
	// Ending sums the run up in a few words after a round: "mean 484 of the 475 wanted".
	Ending func(last Metrics) string
	// Table returns the lines of a table that is shown at the end; nil: none. It is called once, after the last round.
	Table func() []string
	// Files returns further files for the run's folder, which belong to the state, of which s is the snapshot. It is
	// called for each copy of the state to the host, several times a second, so it should be quick and leave out what
	// takes long. ended means that the run is over. What it returns is not changed afterwards: it may be written while
	// Step runs.
	Files func(s Snapshot, ended bool) ([]File, error)
	// Reached reports whether the goal was reached, by the metrics of a round as the log has them: a run that is
	// resumed with another goal may have reached that before. metric returns a metric of the round; NaN if it is not
	// known.
	Reached func(metric func(name string) float64) bool
	// Earlier takes the rounds before those of this process, once, if the run is resumed: what metrics.jsonl has of
	// them, without timings. Their work is the mean.
	Earlier func(rounds []Metrics)
	// Reevaluate plays what a snapshot of the run has found on new episodes, such as all elites of an archive, and
	// returns numbers for the outcome's JSON. It is called once, after the last round and before Table, unless the run
	// was interrupted. progress takes the share that is done, 0 … 1. When ctx ends, Reevaluate returns its error soon,
	// and Table and Files have no part of the numbers.
	Reevaluate func(ctx context.Context, s Snapshot, progress func(share float64)) ([]Fact, error)
	// Map returns numbers as rows of a picture that is shown while the run goes on, such as the cells of an archive,
	// from top to bottom; NaN where there is nothing. nil: there is no picture. It is called between two rounds, about
	// once a second, and only if someone sees it.
	Map func(width, height int) ([][]float64, error)
	// Parts returns the counter of the parts of the next round, or nil. It is called before Step.
	Parts func() *PartCounter
	// Cost counts the work of one of what Kind.Unit counts: a generation, a step of SGD. Zero: it is not known.
	Cost func() graph.Cost
	// Phases runs each part of a round `repeats` times after a first one, and leaves the state as it was. nil: the
	// parts cannot be timed.
	Phases func(ctx context.Context, repeats int) ([]Phase, error)
	// Program returns the main program; nil: there is none to show.
	Program func() *xlabridge.Compiled
}

// Snapshot is a run's state on the host. Arrays are known by their names.
type Snapshot struct {
	Step   int64
	Arrays map[string]*graph.Array
}

// File is a file for the run's folder. One of Data, Arrays and JSON is its content.
type File struct {
	Name     string            // "members.json", "best.safetensors"
	Data     []byte            // bytes
	JSON     any               // a value that JSON can hold
	Arrays   any               // a tree, on the host
	Metadata map[string]string // of Arrays
}

// Finite returns x for File.JSON: nil, which is null, if x is not finite.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
