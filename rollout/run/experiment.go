package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Experiment is a pointer to a struct of settings (package settings) that embeds Common. If it has parts
// (settings.HasParts), their settings are among its own.
type Experiment interface {
	// On returns the settings that all kinds of run have.
	On() *Common
	// Job says what is run with the settings as they are now. It checks nothing.
	Job() *Job
}

// Job is what is run, and what can be done with it. Texts may be empty. A nil function means that it cannot be done
// with these settings. Title, Last, Board and Start are required.
type Job struct {
	// Title ends the name of the run's folder: "CartPole-v1".
	Title string
	// Last is the last step that the run may take.
	Last int64
	// Board returns the rows of the display.
	Board func() []DisplayRow
	// Start checks the settings, chooses the plan, traces, compiles for b (through the cache) and puts the first state
	// on the devices. With an error there is no run, whatever the Run holds: a kind may return a nil pointer of its own
	// type.
	Start func(ctx context.Context, b xlabridge.Backend) (Run, error)

	// Setup says in a line what is run. "": all settings that the programs depend on, and the seed.
	Setup string
	// Purpose says in a few words what the programs are for, with everything that their shapes depend on. A tuner
	// stores its plan under this name. "": the kind, and all settings that the programs depend on.
	Purpose string
	// Programs is a text that is equal for experiments that need the same programs. "": settings.Program.
	Programs string
	// Remark returns a line about settings that may do something unexpected; "" for none.
	Remark func() string
	// Measures returns the names of all metrics that Metrics.Values may have. nil: they are not known before the run.
	Measures func() []string
	// Suggested returns better settings than the defaults for the kind's argument, such as the environment. The
	// settings that are given, except those of parts, are set before the call. A value that the command line or a file
	// gives goes before a suggested one.
	Suggested func() settings.Values
	// Check returns the first mistake in all of the settings, a *settings.Error, before anything is opened, traced or
	// compiled. nil: the ranges of the settings are checked and, if members play episodes, Play.Rollout.
	Check func(on plan.Machine) error
	// Prepare returns the first mistake in what lies outside of the settings, such as a folder that runs share. It may
	// wait for a server. It is called before Fetch, with whether the run is resumed. nil: there is nothing to check.
	Prepare func(ctx context.Context, resumed bool, p Progress) error
	// Fetch reads or downloads the data of the experiment. It is called before the backend is opened. nil: there is
	// none.
	Fetch func(ctx context.Context, p Progress) error
	// Bound are settings that a resumed run cannot change, although their tags allow it.
	Bound []string
	// Size is the setting of whole numbers that the memory of a program grows with, such as the population. The error
	// of a device that is too small advises a smaller value. "": there is none.
	Size string

	// Play says how members play episodes; nil: they do not.
	Play *Play
	// Plan chooses a plan; nil: there is none to choose. The experiment embeds Planning.
	Plan *PlanChoice
	// Lanes runs many such experiments as lanes of one program; nil: that cannot be done.
	Lanes *LaneChoice
	// Shares is the setting that makes a run exchange data with runs of other processes, or "". StartAlone is Start of
	// a run that exchanges nothing, for measurements and looks at its program; nil: Start.
	Shares     string
	StartAlone func(ctx context.Context, b xlabridge.Backend) (Run, error)
	// Version is that of the program: processes that compute one run have the same. Phase shows in a few words what the
	// run does, and Notice a line that must stay readable, also during a step, from any goroutine. They are the
	// caller's, who sets them before Start; nil: nobody reads it.
	Version       string
	Phase, Notice func(text string)
	// Redraws says that first parameters (policy.Policy.Init) may be drawn after the first step, too.
	Redraws bool
}

// PlanChoice is how a plan is chosen.
type PlanChoice struct {
	Tune string // as Planning.Tune
	// Given are the settings with which the user gives the plan, or a part of it.
	Given []string
	// Choose chooses the plan as Job.Start would, and stores it if it was measured. It compiles nothing that stays: a
	// Start with plan.TuneAuto then finds the plan.
	Choose func(ctx context.Context, b xlabridge.Backend) (plan.Choice, error)
}

// Progress receives the phases of a slow start.
type Progress interface {
	Download(done, total int64) // bytes
	Notice(line string)
}

// StopError ends a run from outside of it. Its state is good: the session saves it, and says where.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// Common are the settings that all kinds of run have.
type Common struct {
	Seed    int64 `set:"seed" program:"no" help:"seed of every random number"`
	Devices int   `set:"devices" resume:"any" min:"1" max:"1024" zero:"all that have work, on cpu one a core" help:"devices to run on; 0 for all that have work, on cpu one a core"`
}

// On returns c.
func (c *Common) On() *Common { return c }

// Planning are the settings of an experiment that chooses a plan: Common, and how.
type Planning struct {
	Common
	Budget
	Tune string `set:"tune" advanced:"" program:"no" resume:"any" oneof:"auto,off,quick,full" help:"how the settings of the plan that are not given are chosen: auto (as an earlier quick or full stored, else by the rule), off (by the rule), quick (measure for up to 3 s and store), full (up to 60 s); another plan changes last digits"`
}

// Budget is the memory that a run may take.
type Budget struct {
	Memory settings.Bytes `set:"memory" advanced:"" program:"no" resume:"any" min:"1" zero:"what is free" wants:"a number of bytes such as 2G, 500M or 1.5GiB" help:"memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)"`
}

// Defaults returns the default settings.
func Defaults() Planning { return Planning{Tune: plan.TuneAuto} }

// Check returns the first mistake in the settings of a job's experiment, a *settings.Error if it is in one of them.
func (k Kind) Check(e Experiment, job *Job, on plan.Machine) error {
	if job.Check != nil {
		if err := job.Check(on); err != nil {
			return err
		}
		return job.checkMeasures(k.Unit)
	}
	if err := settings.Check(e); err != nil {
		return err
	}
	if job.Play != nil {
		if _, err := job.Play.Rollout(); err != nil {
			return err
		}
	}
	return job.checkMeasures(k.Unit)
}

// checkMeasures refuses two numbers of a row with one name, which reports of an environment, a policy, a strategy or a
// loss may have. unit names the number of the row.
func (j *Job) checkMeasures(unit string) error {
	if j.Measures == nil {
		return nil
	}
	names := j.Measures()
	for i, name := range names {
		if name == unit || slices.Contains(names[:i], name) {
			return fmt.Errorf("a run has two numbers with the name %q: give the one that your environment, policy, "+
				"strategy or loss reports another name", name)
		}
	}
	return nil
}

// JobOf returns what an experiment of the kind runs with its settings as they are now, with the texts that its Job
// leaves out.
func (k Kind) JobOf(e Experiment) *Job {
	job := e.Job()
	words := settings.Words(e)
	job.Setup = cmp.Or(job.Setup, fmt.Sprintf("%s, seed %d", words, e.On().Seed))
	job.Purpose = cmp.Or(job.Purpose, k.Name+" "+words)
	job.Programs = cmp.Or(job.Programs, settings.Program(e))
	return job
}

// InChoice reports whether a part's setting is given after the colon of its choice, as in "mlp:16,16".
func InChoice(e Experiment, c settings.Chosen, f settings.Field) bool {
	choice, ok := settings.Lookup(e, c.Name)
	return ok && strings.Contains(choice.Text(), ":") && f.IsArgument()
}
