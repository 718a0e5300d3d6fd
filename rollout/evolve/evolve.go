// Package evolve runs evolution strategies over populations of policies: one generation is one compiled program.
package evolve

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "evolve",
		Short: "Evolve a population in an environment until it is solved",
		Long: "Evolve trains a population of policies in an environment, each generation one compiled call, until " +
			"the mean return " +
			"reaches the target or the generations are over. The run's folder holds the resolved config, metrics, " +
			"checkpoints, the " +
			"policy at the centre of the search and the best member, judged on fresh episodes.",
		Example: "  xlarun evolve CartPole-v1\n  xlarun evolve Acrobot-v1 --policy mlp:64,64 --pop 1024 --seed 3\n  " +
			"xlarun evolve CartPole-v1 --strategy pgpe --strategy.sigma 0.2",
		Argument:  "env",
		Version:   2,
		Unit:      "generation",
		Length:    "generations",
		Unbounded: true,
		Work:      "environment steps of all members",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Evolution is a run: a compiled generation and its state on the devices. It is not for use by several goroutines at a
// time, except the methods of run.Members.
type Evolution struct {
	*run.Loop
	config     Config
	target     float64 // NaN: none
	backend    xlabridge.Backend
	setup      *generation.Setup
	program    *generation.Program
	profile    run.Profile
	bestEver   float64
	patience   generation.Patience
	last       generation.Summary   // of the last generation
	hall       generation.Hall      // without members
	exam       *episode.ActingJudge // nil: the run has none
	failedExam bool                 // the centre has not passed an exam
	chunk      *chunk               // nil: one host computes the whole population
	// outer is the prefix of the arrays that a run around this one adds to its snapshots; "": none.
	outer string
}

// New checks the config, chooses the plan, traces one generation, compiles it for b (through the cache) and puts the
// first state on the devices.
func New(b xlabridge.Backend, c Config) (*Evolution, error) { return newEvolution(b, c, nil) }

// newEvolution is New after an evolution of the same run, whose exam it takes over, and closes after an error; nil:
// there was none.
func newEvolution(b xlabridge.Backend, c Config, exam *episode.ActingJudge) (*Evolution, error) {
	e, err := c.prepare(b)
	if err != nil {
		if exam != nil {
			err = errors.Join(err, exam.Close())
		}
		return nil, err
	}
	if err := e.prepareExam(exam); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// prepare is New without the exam.
func (c Config) prepare(b xlabridge.Backend) (*Evolution, error) {
	x, err := c.setup(plan.MachineOf(b, c.Devices))
	if err != nil {
		return nil, err
	}
	if c.hosted() { // a host makes the noise of all members
		if err := x.ForceRegenerate(); err != nil {
			return nil, err
		}
	}
	choice, err := x.Choose(b)
	var e *Evolution
	if err == nil {
		e, err = c.start(b, x, choice)
	}
	if err != nil {
		x.Wait() // the caller may close the backend now
		return nil, err
	}
	return e, nil
}

// start builds the run within its memory budget. The compiler's number of bytes counts, not the estimate. If it exceeds
// the budget, the run is built again with regenerated noise.
func (c Config) start(b xlabridge.Backend, x *generation.Setup, choice plan.Choice) (*Evolution, error) {
	for {
		e, err := c.build(b, x, choice)
		if err != nil {
			return nil, err
		}
		bytes := e.profile.PeakMemoryBytes * int64(e.profile.Devices)
		if budget := int64(c.Memory); budget == 0 || bytes <= budget {
			return e, nil
		}
		_ = e.closePrograms()
		if x.Regenerate {
			return nil, x.TooLargeCompiled(bytes)
		}
		if err := x.ForceRegenerate(); err != nil {
			return nil, err
		}
	}
}

// build traces and compiles a plan and puts its first state on the devices.
func (c Config) build(b xlabridge.Backend, x *generation.Setup, choice plan.Choice) (*Evolution, error) {
	program, err := x.Program()
	if err != nil {
		return nil, err
	}
	e := &Evolution{config: c, backend: b, setup: x, program: program, target: c.Goal(x.Rollout.Env.Spec()),
		bestEver: math.Inf(-1), patience: generation.NewPatience()}
	e.config.Search = x.Search
	var first generation.State
	if err := graph.Try(func() { first = program.Start(c.key()) }); err != nil {
		return nil, err
	}
	e.hall = first.Hall
	options := run.LoopOptions{Name: "generation", Purpose: x.Purpose(), Plan: x.Layout,
		Computed: x.Params >= generation.LargeMember, Undivided: x.Undivided,
		// An array of an accelerator's state may be a kernel of its own. On a TPU so may be a part of a vector, of
		// which a tree has many.
		Packed: x.Machine.Accelerator && (program.Genomes != nil || b.Backend() != "tpu")}
	in := x.Inputs(x.Groups.PerDevice)
	if c.hosted() {
		err = e.join(b, options, first, in)
	} else {
		options.Counter = x.Counter(x.Groups.Used(), x.Groups.Devices)
		if options.Counter == nil && c.ExamTarget != 0 {
			options.Counter = run.NewStageCounter()
		}
		in.Counter = options.Counter.Input()
		e.Loop, err = run.NewLoop(b, options, first, in, program.Run)
	}
	if err != nil {
		return nil, err
	}
	e.profile = e.Loop.Profile()
	if e.chunk != nil {
		e.profile.Account(e.chunk.Program())
	}
	e.profile.Choice = choice
	e.profile.PlannedBytes = x.Planned(e.Loop.Compiled().Program)
	e.profile.MemoryBudget = x.Machine.Free
	e.profile.Facts = []run.Fact{{Name: "tile", Value: x.Layout.Tile}, {Name: "tiles", Value: x.Groups.Total()},
		{Name: "lanes_last", Value: x.Layout.LanesLast}, {Name: "unroll", Value: x.Layout.Unroll},
		{Name: "episode_batch", Value: x.Layout.EpisodeBatch},
		{Name: "noise_redrawn", Value: x.Regenerate}, {Name: "parameters", Value: x.Params}}
	e.profile.Chosen = x.Chosen()
	e.profile.Placement = &run.Placement{Lanes: x.Layout.Tile, LanesLast: x.Layout.LanesLast, Member: e.MemberAt}
	return e, nil
}

// Step runs one generation: one call of the compiled program, and one small transfer for the metrics.
func (e *Evolution) Step() (run.Metrics, error) {
	v, err := e.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	m, s := e.config.Metrics(v, e.Steps(), e.reports(), &e.bestEver)
	m.Done = e.reaches(m.Number)
	if err := e.examine(&m); err != nil {
		return m, err
	}
	m.Stalled = e.patience.Update(s.Best, e.Steps(), e.config.PatienceSettings)
	if e.last = s; s.Failed == s.Members {
		m.Failed = e.allFailed
	}
	return m, nil
}

// reaches reports whether a generation has reached the target, by its metrics.
func (e *Evolution) reaches(metric func(name string) float64) bool {
	return generation.Reached(e.setup.Strategy, metric, e.target)
}

// Reached implements run.GoalReacher. A run with an exam holds it after its next generation: the last one may have had
// none, or another.
func (e *Evolution) Reached(metric func(name string) float64) bool {
	return e.config.ExamTarget == 0 && e.reaches(metric)
}

// reports returns the names of the numbers that policy and strategy report.
func (e *Evolution) reports() generation.Reports {
	return generation.ReportsOf(e.program.Rollout.Policy, e.setup.Strategy)
}

// allFailed returns the error of the last generation, in which all members failed.
func (e *Evolution) allFailed() error {
	s, err := e.Loop.Snapshot()
	if err == nil {
		s, err = generation.BeforeFailure(s, "")
	}
	if err != nil {
		return err
	}
	search := e.config.grown(e.config.Population, e.config.Seed) // without restarts, as its snapshot is
	return generation.NewAllFailed(e.backend, e.last, fmt.Sprintf("member %d", e.last.FirstFailed), &search, s)
}

// Close frees the state and the program. It waits for measurements that still run.
func (e *Evolution) Close() error {
	e.setup.Wait()
	return e.closePrograms()
}

func (e *Evolution) closePrograms() error {
	if e.exam != nil {
		defer func() { _ = e.exam.Close() }()
	}
	if e.chunk != nil {
		return errors.Join(e.chunk.Close(), e.Loop.Close())
	}
	return e.Loop.Close()
}

// Profile returns what was compiled.
func (e *Evolution) Profile() run.Profile { return e.profile }

// Spec returns the environment's spec.
func (e *Evolution) Spec() envs.Spec { return e.program.Rollout.Env.Spec() }

// Config returns the config with its defaults filled in.
func (e *Evolution) Config() Config { return e.config }

// Rollout returns how members are evaluated.
func (e *Evolution) Rollout() *episode.Rollout { return e.program.Rollout }

// Candidates returns the centre of the search and the best member so far; see generation.Program.Candidates.
func (e *Evolution) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	v, err := e.Unflatten(s)
	if err != nil {
		return nil, err
	}
	return e.program.Candidates(v.(generation.State))
}

// Fame returns the members of the hall of fame in a snapshot, the one with the highest fitness first, of equal ones the
// earliest.
func (e *Evolution) Fame(s run.Snapshot) ([]run.Famed, error) {
	v, err := e.Unflatten(s)
	if err != nil {
		return nil, err
	}
	return v.(generation.State).Hall.Members(e.program)
}

// Ending summarises the run.
func (e *Evolution) Ending(last run.Metrics) string {
	name := generation.Goal(e.setup.Strategy)
	of := strings.ReplaceAll(strings.TrimSuffix(name, "_fitness"), "_", " ")
	reached, _ := last.Get(name)
	if b, breeds := e.setup.Strategy.(strategy.Breeding); breeds && math.IsInf(reached, -1) {
		return fmt.Sprintf("nothing is %s: %s", of, b.Unreached())
	}
	if last.Stalled && !last.Done {
		return fmt.Sprintf("%s %s, and no better best than %s for %s", of, generation.Number(reached),
			generation.Number(e.patience.Best), quantity.Count(e.config.Patience, "generation", "generations"))
	}
	text := of + " " + generation.Number(reached)
	if last.Done {
		text += fmt.Sprintf(" of the %s wanted", generation.Number(e.target))
	} else if !math.IsNaN(e.target) {
		text += ", the target is " + generation.Number(e.target)
	}
	if x, ok := last.Get(examReturn); ok && math.IsInf(x, -1) {
		text += "; the exam failed: returns of its episodes are not finite"
	} else if ok && !math.IsNaN(x) {
		text += fmt.Sprintf("; %s in the exam, which wants %s", generation.Number(x),
			generation.Number(e.config.ExamTarget))
	}
	return text + e.last.FailedText()
}

// MemberAt returns the number of the member that plays in a lane (0 … tile-1) of a tile; -1 for padding.
func (e *Evolution) MemberAt(tile, lane int) int {
	t := e.program.Groups
	group := tile*t.Lanes + lane%t.Lanes
	if group >= t.Items {
		return -1
	}
	return lane/t.Lanes*t.Items + group
}
