// Package run is the contract of the kinds of run (evolve, sparse, …): what a kind gives so that it gets a command with
// flags, config files, a display, warm-up, profile, checkpoints, exact resume, and the registry of the kinds.
package run

import (
	"context"
	"fmt"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Kind is a kind of run. It becomes a command of its name.
type Kind struct {
	Name    string // "evolve"
	Short   string // what it does, in a line
	Long    string // what it does, in a paragraph; lines of at most 130 characters
	Example string // command lines, indented by two blanks
	// Argument is the setting that the command's argument gives, "" where it takes none.
	Argument string
	// Version is that of the state and of what the settings mean: a checkpoint of another is refused. It rises when the
	// names or the meaning of the state's arrays change. It covers the kind's own; see strategy.Register and
	// policy.Register for theirs.
	Version int
	// Unit is what Metrics.Step counts, "generation", and Round what one call of Run.Step is; "" for the same.
	Unit, Round string
	// Work is what the steps of steps/s are, in a few words: "environment steps of all members".
	Work string
	// New gives an experiment with the default settings.
	New func() Experiment
}

// Experiment is a pointer to a struct of settings (package settings), with Common embedded, that knows how to become a
// Run. What has parts (settings.HasParts) has their settings, too.
type Experiment interface {
	// Title ends the name of the run's folder: "CartPole-v1".
	Title() string
	// Last is the step after which the run ends at the latest.
	Last() int64
	// Board is what a display shows.
	Board() []Row
	// On is where the run runs.
	On() *Common
	// Start checks the settings, chooses the plan, traces, compiles for b (through the cache) and puts the first state
	// on the devices. With an error there is no run, whatever the Run holds: a kind may return a nil pointer of its own
	// type.
	Start(b xlabridge.Backend) (Run, error)
}

// Common are the settings of all kinds of run.
type Common struct {
	Seed    int64 `set:"seed" program:"no" help:"seed of every random number"`
	Devices int   `set:"devices" resume:"any" min:"1" max:"1024" zero:"all, on cpu one a core" help:"devices to run on; 0 for all, on cpu one a core"`
}

// On gives the settings themselves.
func (c *Common) On() *Common { return c }

// Planning are the settings of kinds that are Planned: Common, and how the plan is chosen.
type Planning struct {
	Common
	Memory settings.Bytes `set:"memory" program:"no" resume:"any" min:"1" zero:"what is free" wants:"a number of bytes such as 2G, 500M or 1.5GiB" help:"memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)"`
	Tune   string         `set:"tune" program:"no" resume:"any" oneof:"auto,off,quick,full" help:"how what is not given of the plan is chosen: auto (what an earlier quick or full stored, else the rule), off (the rule),\nquick (measure for up to 3 s and store), full (up to 60 s); another plan changes last digits"`
}

// Planned gives the settings themselves.
func (p *Planning) Planned() *Planning { return p }

// Defaults are the settings as they are by default.
func Defaults() Planning { return Planning{Tune: plan.TuneAuto} }

// Run is a run under way: programs and a state on the devices. It is not for use by several goroutines at a time, but
// for Chooser.Candidates.
type Run interface {
	// Step computes one round: a generation, some steps of SGD.
	Step() (Metrics, error)
	// Snapshot copies the state to the host. With the settings it is all that the rest of the run depends on.
	Snapshot() (Snapshot, error)
	// Restore goes back, or on, to a snapshot of a run with the same settings, on any number of devices: what follows
	// is what followed then, to the byte. It refuses arrays that are missing or of other shapes with a sentence.
	Restore(Snapshot) error
	// Profile says what was compiled.
	Profile() Profile
	// Close frees state and programs.
	Close() error
}

// Metrics are what is known after a round.
type Metrics struct {
	Step   int64   // of the Kind's Unit, from 1
	Values []Value // in the order in which they are written; the same bytes for the same settings
	Work   float64 // done in this round: what steps/s counts
	// Timings are numbers of this round that differ from run to run: parts of its time. They are shown, and written
	// beside its seconds.
	Timings []Value
	Done    bool // the goal is reached: the run ends
	// Stalled tells that the run ends as it no longer gets better.
	Stalled bool
}

// Value is one named number.
type Value struct {
	Name   string
	Number float64
}

// Get is the number of a name; ok is false where there is none.
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

// Snapshot is a run's state on the host, by stable names.
type Snapshot struct {
	Step   int64
	Arrays map[string]*graph.Array
}

// Row is a line of a display.
type Row struct {
	Label string
	Parts []Part
	Curve string // the metric that is drawn as a curve; "" for none
	// Colour is that of the curve: "green", "cyan", "yellow" or "" for a dim one.
	Colour string
	// Plain tells that the row is also a part of the one line a round that is written where there is no terminal.
	Plain bool
	// Rare tells that the row is left out until there is a number of it: of what should not happen.
	Rare bool
	// Gaps tells that NaN among the row's metrics says that there is nothing to measure now: its part is left out, as
	// if it were not known yet.
	Gaps bool
}

// Part is a piece of a row: a metric with words around it. A part whose metric is not known yet is left out.
type Part struct {
	Before, Metric, Behind string
	Format                 Format
}

// Format is how a number is written.
type Format int

// The formats.
const (
	Fitness Format = iota // 484.2, 1.2e-05
	Percent               // of a part of 1: 96.25 %
	Loss                  // 0.0512
	Whole                 // 12
)

// Curves are rows of a display with a metric and its curve each.
func Curves(metrics ...string) []Row {
	rows := make([]Row, len(metrics))
	for i, name := range metrics {
		rows[i] = Row{Label: words(name), Parts: []Part{{Metric: name}}, Curve: name, Plain: true}
	}
	return rows
}

// What follows are optional parts of an Experiment.

// Checked is an Experiment with more to check than the ranges of its settings and, of a Player, that it has a Rollout.
type Checked interface {
	// Check finds the first mistake in all of the settings, a *settings.Error, before anything is opened, traced or
	// compiled.
	Check(on plan.Machine) error
}

// Check finds the first mistake in an experiment's settings, a *settings.Error where it can be said which one is wrong.
func Check(e Experiment, on plan.Machine) error {
	if c, ok := e.(Checked); ok {
		return c.Check(on)
	}
	if err := settings.Check(e); err != nil {
		return err
	}
	if p, ok := e.(Player); ok {
		_, err := p.Rollout()
		return err
	}
	return nil
}

// Described is an Experiment with words of its own for what it is.
type Described interface {
	// Setup says in a line what is run.
	Setup() string
	// Purpose says in a few words what the programs are for, with all that their shapes depend on. It names what a
	// tuner stores.
	Purpose() string
}

// Setup says in a line what is run: in the experiment's own words, else all that its programs depend on, and the seed.
func Setup(e Experiment) string {
	if d, ok := e.(Described); ok {
		return d.Setup()
	}
	return fmt.Sprintf("%s, seed %d", settings.Words(e), e.On().Seed)
}

// Purpose says what the programs of an experiment of a kind are for: in its own words, else all that they depend on.
func Purpose(kind string, e Experiment) string {
	if d, ok := e.(Described); ok {
		return d.Purpose()
	}
	return kind + " " + settings.Words(e)
}

// InChoice reports whether a part's setting is given behind the colon of its choice, as in "mlp:16,16".
func InChoice(e Experiment, c settings.Chosen, f settings.Field) bool {
	choice, ok := settings.Lookup(e, c.Name)
	return ok && strings.Contains(choice.Text(), ":") && f.IsArgument()
}

// Measured is an Experiment that knows the names of its metrics before it runs: all that Metrics.Values may have of it,
// whether measured in every round or in some.
type Measured interface {
	Measures() []string
}

// Fetcher is an Experiment with data of its own, which is read, or downloaded, before the backend is opened.
type Fetcher interface {
	Fetch(ctx context.Context, p Progress) error
}

// Progress hears of slow beginnings.
type Progress interface {
	Download(done, total int64) // bytes
	Notice(line string)
}

// Player is an Experiment whose members play episodes: they can be judged, played and drawn. One that embeds Playing is
// one.
type Player interface {
	Rollout() (*episode.Rollout, error)
	// Judged is the number of fresh episodes by which members are judged before one of them is called the best.
	Judged() int
}

// Planned is an Experiment that chooses a plan by itself: it has Planning embedded.
type Planned interface {
	Planned() *Planning
	// ChoosePlan chooses the plan as Start would, and stores it where it is measured, but compiles nothing that stays:
	// a Start with plan.TuneAuto then finds it.
	ChoosePlan(b xlabridge.Backend) (plan.Choice, error)
}

// Giver is a Planned whose settings can give the plan, or a part of it.
type Giver interface {
	// Given are the names of those that do.
	Given() []string
}

// Programmed is an Experiment that knows better than its settings' tags which of them other programs follow from.
type Programmed interface {
	Programs() string
}

// Selective is an Experiment some of whose settings mean nothing as the others stand.
type Selective interface {
	// Idle are the names of these settings, and what is wanted where one of them is given: what there is instead, and
	// why.
	Idle() (names []string, wants string)
}

// Sampler is an Experiment whose members can be made again from a state.
type Sampler interface {
	// Members is how many there are, in the population that a run with these settings plays after a snapshot.
	Members(s Snapshot) (int, error)
	// Remake makes those with the given numbers, with the key of each one's episodes; see episode.Rollout.Member.
	Remake(b xlabridge.Backend, s Snapshot, numbers []int) ([]Sampled, error)
}

// Sampled is a member that was made again.
type Sampled struct {
	Candidate
	Number int
	Key    random.Key
}

// Laned is an Experiment of which many can run at once, as lanes of one program: hundreds of small ones compiled once.
type Laned interface {
	// LaneNumbers are the names of the settings that may be others in each lane, those of parts with dots: they are
	// inputs of the program.
	LaneNumbers() []string
	// LaneCost is what one of them takes. An error names the setting by which the run cannot be a lane.
	LaneCost() (LaneCost, error)
	// OpenLanes makes the program of up to `most` of them at a time, each of which has its own values of the named
	// settings.
	OpenLanes(b xlabridge.Backend, names []string, most int) (Lanes, error)
}

// Lanes are a program in which runs are lanes.
type Lanes interface {
	// Run runs all of them to their ends, more than there are lanes in turn. What a run comes to is the same among few
	// and many. hear hears of each one's metrics after each of its steps, and tells whether it ends there.
	Run(ctx context.Context, all []Lane, hear func(lane int, m Metrics) (stop bool)) error
	Close() error
}

// LaneCost is an estimate of what a lane takes.
type LaneCost struct {
	Work  float64 // multiplications by parameters, to the run's end
	Bytes int64   // of memory
}

// Lane is one of them: with the seed and the Numbers that are its own, by name; all of them have the same names.
type Lane struct {
	Seed    int64
	Numbers map[string]float64
}

// Bound is an Experiment that cannot go on with other values of some settings which its kind's runs may change.
type Bound interface {
	// Bound are the names of these settings, as the others stand.
	Bound() []string
}

// What follows are optional parts of a Run.

// Chooser is a Run with members that may be its best.
type Chooser interface {
	// Candidates are they, of a snapshot, on the host: the one that stands for the whole search first. It may be called
	// from another goroutine while Step is inside of a call, as at an interrupt: it reads the snapshot, and of the run
	// only what stays as it was made.
	Candidates(s Snapshot) ([]Candidate, error)
}

// Candidate is a member's parameters.
type Candidate struct {
	Name   string // "centre", "best_ever"
	Params any    // a tree, on the host
}

// Famous is a Chooser that keeps a hall of fame: the best members of the whole run.
type Famous interface {
	// Fame are they, of a snapshot, on the host, the one with the highest fitness first; as Chooser.Candidates
	// otherwise.
	Fame(s Snapshot) ([]Famed, error)
}

// Famed is a member of a hall of fame.
type Famed struct {
	Candidate
	Fitness float64 // that it reached once, in the run
	Step    int64   // in which that was
}

// Timed is a Run that can time its parts.
type Timed interface {
	// Phases runs each of the parts `repeats` times after a first one, and leaves the state as it was.
	Phases(repeats int) ([]Phase, error)
}

// Phase is a part of a round that was run by itself.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // of a run, the median
	Best    float64 `json:"-"`       // of the fastest run
}

// Costed is a Run that counts its work.
type Costed interface {
	// Cost is the work of one unit of what steps/s counts times its Metrics.Work: of one generation, of one step of
	// SGD.
	Cost() graph.Cost
}

// Inspected is a Run whose main program can be looked at.
type Inspected interface{ Compiled() *xlabridge.Compiled }

// Filed is a Run with further files for its folder, made anew with each checkpoint. ended tells that the run is over.
type Filed interface {
	Files(ended bool) ([]File, error)
}

// File is one of them: a value that JSON can hold, a tree of arrays, or bytes.
type File struct {
	Name     string            // "members.json", "best.safetensors"
	Data     []byte            // as they are: of a picture; nil: one of the others
	JSON     any               // nil: arrays
	Arrays   any               // a tree, on the host
	Metadata map[string]string // of arrays
}

// Ending is a Run that sums itself up in a few words: "mean 484 of the 475 wanted".
type Ending interface {
	Ending(last Metrics) string
}

// Tabled is a Run with a table of what it has come to, shown behind its end.
type Tabled interface {
	// Table are its lines, of columns that are set apart by spaces; none where there is nothing to show. It is asked
	// for once, after the last round.
	Table() []string
}

// Located is a Run that knows which member is played in a lane (from 0) of a tile; -1 is padding.
type Located interface {
	MemberAt(tile, lane int) int
	// Lanes are the members of a tile and whether they stand on the last axis.
	Lanes() (n int, last bool)
}
