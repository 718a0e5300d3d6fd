// Package evolve runs evolution strategies over populations of policies: one generation is one compiled program.
package evolve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "evolve",
		Short: "Evolve a population in an environment until it is solved",
		Long: "Evolve trains a population of policies in an environment, each generation one compiled call, until " +
			"the mean return reaches the target or the generations are over. The run's folder holds the resolved " +
			"config, metrics, checkpoints, the policy at the mean of the search and the best member, judged on new " +
			"episodes.",
		Example: "  xlarun evolve CartPole-v1\n" +
			"  xlarun evolve Acrobot-v1 --policy mlp:64,64 --pop 1024 --seed 3\n" +
			"  xlarun evolve CartPole-v1 --strategy pgpe --strategy.sigma 0.2",
		Argument:  "env",
		Version:   4,
		Unit:      "generation",
		Length:    "generations",
		Unbounded: true,
		Work:      "computed environment steps of all members",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Evolution is a run: a search and the features that its settings turn on. It is not for use by several goroutines at a
// time, except the methods of run.Members.
type Evolution struct {
	*search         // the current one
	config   Config // of the run; its searches may have others
	backend  xlabridge.Backend
	first    *generation.Setup // of the first search: its layout stays
	target   float64           // NaN: none
	bestEver float64
	last     generation.Summary // of the last generation
	newest   run.Evaluated
	features []feature
	stale    bool // the features want another search than the current one

	mu sync.Mutex
	// searches has the newest one of each size that the run has had, the current one last. The others are closed; they
	// only read snapshots.
	searches []*search
}

// New checks the config, chooses the plan, traces one generation, compiles it for b (through the cache) and puts the
// first state on the devices.
func New(ctx context.Context, b xlabridge.Backend, c Config) (*Evolution, error) {
	return newEvolution(ctx, b, c, false)
}

// newEvolution is New. A run that is alone exchanges nothing with other processes, whatever its settings say.
func newEvolution(ctx context.Context, b xlabridge.Backend, c Config, alone bool) (*Evolution, error) {
	e := &Evolution{config: c.clone(), backend: b, bestEver: math.Inf(-1)}
	if err := e.put(ctx, c); err != nil {
		return nil, err
	}
	e.first = e.setup
	e.target = e.config.Goal(e.program.Rollout.Env.Spec())
	if err := e.openFeatures(ctx, alone); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// put makes a search, at its first state, the current one.
func (e *Evolution) put(ctx context.Context, c Config) error {
	s, err := newSearch(ctx, e.backend, c)
	if err != nil {
		return err
	}
	s.others = e.config.others()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.searches = slices.DeleteFunc(slices.Clone(e.searches), func(old *search) bool {
		return old.config.Population == s.config.Population &&
			fmt.Sprint(old.config.Parted.Under("policy.")) == fmt.Sprint(s.config.Parted.Under("policy."))
	})
	e.search, e.searches = s, append(e.searches, s)
	return nil
}

// replace replaces the current search by the one that the features want, at its first state, with the layout that was
// chosen for the first. It frees the old one before, since both may not fit in memory.
func (e *Evolution) replace(ctx context.Context) error {
	e.stale = true
	c, err := e.shaped()
	if err != nil {
		return err
	}
	if err := e.search.close(); err != nil {
		return err
	}
	if err := e.put(ctx, c); err != nil {
		return err
	}
	e.stale = false
	for _, f := range e.features {
		if err := f.replaced(e); err != nil {
			return err
		}
	}
	return nil
}

// shaped returns the settings of the search that the features want, with the layout of the first one.
func (e *Evolution) shaped() (c Config, err error) {
	c = e.config.clone()
	c.keepLayout(e.first)
	for _, f := range e.features {
		if c, err = f.shape(c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Step runs one generation: one call of the compiled program, and one small transfer for the metrics.
func (e *Evolution) Step(ctx context.Context) (run.Metrics, error) {
	for _, f := range e.features {
		done, err := f.begin(ctx, e)
		if done != nil {
			return *done, err
		}
		if err != nil {
			return run.Metrics{}, err
		}
	}
	ctx = context.WithoutCancel(ctx) // the state is that before the round, or that after it
	v, err := e.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	var m run.Metrics
	m, e.last = e.search.config.Metrics(v, e.Steps(), e.reports(), &e.bestEver, e.EnvSteps())
	e.newest.Note(m)
	m.Done = e.reaches(m.Number)
	if e.last.Failed == e.last.Members {
		m.Failed = e.allFailed
	}
	for _, f := range e.features {
		if err := f.after(ctx, e, &m); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Snapshot copies the state to the host.
func (e *Evolution) Snapshot(ctx context.Context) (run.Snapshot, error) {
	return e.withFeatures(e.Loop.Snapshot(ctx))
}

// InPlace returns the state where it is.
func (e *Evolution) InPlace() (run.Snapshot, error) { return e.withFeatures(e.Loop.StateInPlace()) }

func (e *Evolution) withFeatures(s run.Snapshot, err error) (run.Snapshot, error) {
	if err == nil {
		for _, f := range e.features {
			f.save(s.Arrays)
		}
	}
	return s, err
}

// Restore sets the state to a snapshot of any search of a run with the same settings.
func (e *Evolution) Restore(ctx context.Context, s run.Snapshot) error {
	for _, f := range e.features {
		other, err := f.load(s)
		if err != nil {
			return err
		}
		e.stale = e.stale || other
	}
	if e.stale {
		if err := e.replace(ctx); err != nil {
			return err
		}
	}
	if err := e.Loop.Restore(ctx, e.search.ownArrays(s)); err != nil {
		return err
	}
	best, err := graph.Float(s.Arrays["best.fitness"])
	e.bestEver, e.newest = best, run.Evaluated{}
	return err
}

// of returns the search that a snapshot belongs to, and its state.
func (e *Evolution) of(s run.Snapshot) (x *search, state generation.State, err error) {
	e.mu.Lock()
	all := slices.Clone(e.searches)
	e.mu.Unlock()
	for _, x = range slices.Backward(all) {
		if state, err = x.state(s); err == nil {
			return x, state, nil
		}
	}
	return nil, state, err
}

// Unflatten returns a snapshot as a generation.State.
func (e *Evolution) Unflatten(s run.Snapshot) (any, error) { return e.search.state(s) }

// reaches reports whether a generation has reached the target, by its metrics.
func (e *Evolution) reaches(metric func(name string) float64) bool {
	return e.config.Search.Reached(e.setup.Strategy, metric, e.target)
}

// Reached is that of run.Capabilities. A run with a validation holds it after its next generation: the last one may
// have had none, or another.
func (e *Evolution) Reached(metric func(name string) float64) bool {
	return e.config.ValidationTarget == 0 && e.reaches(metric)
}

// allFailed returns the error of the last generation, in which all members failed.
func (e *Evolution) allFailed(ctx context.Context) error {
	s, err := e.Loop.Snapshot(ctx)
	if err == nil {
		s, err = generation.BeforeFailure(s, "")
	}
	if err != nil {
		return err
	}
	c := &e.search.config // without restarts, as its snapshot is
	search := c.grown(c.Population, c.Seed)
	first := fmt.Sprintf("member %d", e.last.FirstFailed)
	return generation.NewAllFailed(e.backend, e.last, first, search.Job().Play, s)
}

// Close frees the state and the program. It waits for measurements that still run.
func (e *Evolution) Close() (err error) {
	for _, f := range slices.Backward(e.features) {
		err = errors.Join(err, f.close())
	}
	return errors.Join(err, e.search.close())
}

// Files returns the files of the features.
func (e *Evolution) Files(s run.Snapshot, _ bool) (all []run.File, err error) {
	for _, f := range e.features {
		files, err := f.files(s)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// Describe says what the run can do. What its search has is asked for in each call: the search may be replaced.
func (e *Evolution) Describe() *run.Capabilities {
	var earlier func([]run.Metrics)
	for _, f := range e.features {
		if take := f.earlier(); take != nil {
			earlier = take
		}
	}
	return &run.Capabilities{Members: e, InPlace: e.InPlace, Ending: e.Ending, Files: e.Files, Reached: e.Reached,
		Earlier: earlier, Parts: func() *run.PartCounter { return e.Counter() }, Cost: e.Cost, Phases: e.Phases,
		Program: func() *xlabridge.Compiled { return e.Compiled() }}
}

// Profile returns what was compiled.
func (e *Evolution) Profile() run.Profile { return e.profile }

// Spec returns the environment's spec.
func (e *Evolution) Spec() envs.Spec { return e.program.Rollout.Env.Spec() }

// Config returns the config with its defaults filled in.
func (e *Evolution) Config() Config { return e.search.config }

// Rollout returns how members are evaluated.
func (e *Evolution) Rollout() *episode.Rollout { return e.program.Rollout }

// Candidates returns the strategy's Mean and the best member so far; see generation.Program.Candidates.
func (e *Evolution) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	x, state, err := e.of(s)
	if err != nil {
		return nil, err
	}
	return x.program.Candidates(state)
}

// HallEntries returns the members of the hall of fame in a snapshot, the one with the highest fitness first, of equal
// ones the earliest.
func (e *Evolution) HallEntries(s run.Snapshot) ([]run.HallEntry, error) {
	x, state, err := e.of(s)
	if err != nil {
		return nil, err
	}
	return state.Hall.Members(x.program)
}

// Ending summarizes the run.
func (e *Evolution) Ending(last run.Metrics) string {
	text := e.summary(last)
	for _, f := range e.features {
		text += f.ending(e, last)
	}
	return text + e.last.FailedText()
}

// summary says how far the search has come: by its newest evaluation, or by what the target is of without evaluations.
// A run that has gone on and had no evaluation since compares with no target.
func (e *Evolution) summary(last run.Metrics) string {
	name := e.config.GoalMetric(e.setup.Strategy)
	text := ""
	switch reached, known := last.Get(name); {
	case name == run.EvalReturn && e.newest.Step > 0:
		target := e.target
		if last.Stalled && !last.Done {
			target = math.NaN()
		}
		return e.newest.Text("generation", last, target)
	case !known:
		mean, _ := last.Get("mean_fitness")
		return "mean " + generation.Number(mean)
	case name == e.setup.Strategy.Goal && math.IsInf(reached, -1):
		of := strings.ReplaceAll(strings.TrimSuffix(name, "_fitness"), "_", " ")
		return fmt.Sprintf("nothing is %s: %s", of, e.setup.Strategy.Unreached)
	default:
		text = strings.ReplaceAll(strings.TrimSuffix(name, "_fitness"), "_", " ") + " " + generation.Number(reached)
	}
	if last.Done {
		text += fmt.Sprintf(" of the %s wanted", generation.Number(e.target))
	} else if !math.IsNaN(e.target) && !last.Stalled {
		text += ", the target is " + generation.Number(e.target)
	}
	return text
}
