// Package evolve runs evolution strategies over populations of policies: one generation is one compiled program.
package evolve

import (
	"fmt"
	"math"
	"sync"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "evolve",
		Short: "Evolve a population in an environment until it is solved",
		Long: "Evolve trains a population of policies in an environment, each generation one compiled call, until the mean return\n" +
			"reaches the target or the generations are over. The run's folder holds the resolved config, metrics, checkpoints, the\n" +
			"policy that the search has come to and the best member, judged on fresh episodes.",
		Example:  "  xlarun evolve CartPole-v1\n  xlarun evolve Acrobot-v1 --policy mlp:64,64 --pop 1024 --seed 3\n  xlarun evolve CartPole-v1 --strategy pgpe --strategy.sigma 0.2",
		Argument: "env",
		Version:  1,
		Unit:     "generation",
		Work:     "environment steps of all members",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Evolution is a run: a compiled generation and its state on the devices. It is not for use by several goroutines at a
// time, but for Candidates.
type Evolution struct {
	*run.Loop
	config     Config
	target     float64 // NaN: none
	backend    xlabridge.Backend
	generation *generation
	profile    run.Profile
	bestEver   float64
	patience   patience
	hall       *Hall           // without members; nil: the run has none
	late       *sync.WaitGroup // measurements that nobody waits for any more
}

// New checks the config, chooses the plan, traces one generation, compiles it for b (through the cache) and puts the first
// state on the devices.
func New(b xlabridge.Backend, c Config) (*Evolution, error) {
	x, chosen, err := choose(b, c)
	if x == nil {
		return nil, err
	}
	var e *Evolution
	if err == nil {
		e, err = x.start(b, chosen)
	}
	if err != nil {
		x.late.Wait() // the backend may be closed now
		return nil, err
	}
	return e, nil
}

// largeMember is the number of a member's parameters from which on the first state is computed on the devices.
const largeMember = 1 << 18

// start builds the run, within its budget of memory.
func (x *experiment) start(b xlabridge.Backend, chosen plan.Choice) (*Evolution, error) {
	e, err := build(b, x, chosen)
	if err != nil {
		return nil, err
	}
	// The compiler knows better than the estimate. Where it is held against a budget that somebody gave, draws are made
	// again in place of kept, which changes no result.
	total := e.profile.PeakMemoryBytes * int64(e.profile.Devices)
	if budget := int64(x.config.Memory); budget > 0 && total > budget {
		_ = e.Loop.Close()
		if x.redraw {
			return nil, x.tooLargeCompiled(total)
		}
		x.mustRedraw = true
		if err := x.fit(); err != nil {
			return nil, err
		}
		if e, err = build(b, x, chosen); err != nil {
			return nil, err
		}
		if total = e.profile.PeakMemoryBytes * int64(e.profile.Devices); total > budget {
			_ = e.Loop.Close()
			return nil, x.tooLargeCompiled(total)
		}
	}
	return e, nil
}

// generation is what of an experiment is traced.
func (x *experiment) generation() (*generation, error) {
	g := &generation{rollout: x.rollout(), strategy: x.strategy, groups: x.groups, redraw: x.redraw, deviceKeys: x.config.Keys == KeysDevice, migrating: x.migrating}
	var err error
	if g.places, err = x.config.places(x.params); err != nil {
		return nil, err
	}
	return g, g.learn()
}

// inputs are those of its program.
func (x *experiment) inputs(tiles int) inputs {
	in := inputs{Settings: settings.Inputs(x.strategy, "strategy."), Tiles: graph.Of(int32(tiles))}
	for name, a := range x.play.Inputs() {
		in.Settings[name] = a
	}
	return in
}

// build traces and compiles a plan and puts its first state on the devices.
func build(b xlabridge.Backend, x *experiment, chosen plan.Choice) (*Evolution, error) {
	g, err := x.generation()
	if err != nil {
		return nil, err
	}
	e := &Evolution{config: x.config, backend: b, generation: g, target: x.config.Goal(x.play.Env.Spec()), bestEver: math.Inf(-1), late: x.late,
		patience: patience{best: math.Inf(-1)}}
	var first State
	if err := graph.Try(func() { first = g.start(x.config.key()) }); err != nil {
		return nil, err
	}
	e.hall = first.Hall
	options := run.LoopOptions{Name: "generation", Purpose: x.config.Purpose(), Plan: x.layout, Computed: x.params >= largeMember}
	e.Loop, err = run.NewLoop(b, options, first, x.inputs(x.groups.PerDevice), g.run)
	if err != nil {
		return nil, err
	}
	p := e.Loop.Profile()
	p.Choice = chosen
	p.PlannedBytes, _ = x.memory()
	p.MemoryBudget = x.on.Free
	p.Facts = []run.Fact{{Name: "tile", Value: x.layout.Tile}, {Name: "tiles", Value: x.groups.Total()}, {Name: "lanes_last", Value: x.layout.LanesLast},
		{Name: "unroll", Value: x.layout.Unroll}, {Name: "noise_redrawn", Value: x.redraw}, {Name: "parameters", Value: x.params}}
	p.Chosen = settings.Values{"tile": x.layout.Tile, "lanes-last": x.layout.LanesLast, "unroll": x.layout.Unroll, "vector-width": x.layout.VectorWidth}
	if x.config.Keys == KeysDevice { // then results follow from it
		p.Chosen["devices"] = p.Devices
	}
	e.profile = p
	return e, nil
}

// Step runs one generation: one call of the compiled program.
func (e *Evolution) Step() (run.Metrics, error) {
	v, err := e.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	var reports []string
	if r, ok := policy.ReporterOf(e.generation.rollout.Policy); ok {
		reports = r.Reports()
	}
	m, s := e.config.metrics(v, e.Steps(), reports, &e.bestEver)
	m.Done, m.Stalled = s.mean >= e.target, e.patience.take(s.best, e.Steps(), &e.config)
	return m, nil
}

// metrics are those of a generation, of what the program gives of its members; bestEver is the best of the generations before, and of this one after.
func (c *Config) metrics(v []float64, step int64, reports []string, bestEver *float64) (run.Metrics, sums) {
	n := len(v) / (3 + len(reports))
	s := measure(v[:n], v[n:2*n], v[2*n:])
	*bestEver = max(*bestEver, s.best)
	perGeneration := int64(c.Population) * int64(c.Episodes) * int64(c.Steps)
	m := run.Metrics{Step: step, Work: float64(perGeneration), Values: []run.Value{
		{Name: "best_fitness", Number: s.best}, {Name: "mean_fitness", Number: s.mean}, {Name: "std_fitness", Number: s.std},
		{Name: "worst_fitness", Number: s.worst}, {Name: "best_ever", Number: *bestEver}, {Name: "mean_length", Number: s.length},
		{Name: "failed", Number: float64(s.failed)}, {Name: "env_steps", Number: float64(step * perGeneration)},
	}}
	for i, name := range reports {
		m.Values = append(m.Values, run.Value{Name: name, Number: episode.MeanOfFinite(v[(3+i)*n : (4+i)*n])})
	}
	m.Values = append(m.Values, s.failures(step)...)
	return m, s
}

// Close frees the state and the program. It waits for measurements that are still under way.
func (e *Evolution) Close() error {
	e.late.Wait()
	return e.Loop.Close()
}

// Profile says what was compiled.
func (e *Evolution) Profile() run.Profile { return e.profile }

// Spec is the environment's.
func (e *Evolution) Spec() envs.Spec { return e.generation.rollout.Env.Spec() }

// Config is the config with its defaults filled in.
func (e *Evolution) Config() Config { return e.config }

// Rollout is how members are evaluated.
func (e *Evolution) Rollout() *episode.Rollout { return e.generation.rollout }

// Candidates are the centre of the search, which the next generation scatters around and which was not played itself, and
// the member with the highest fitness of all so far, which may have been lucky.
func (e *Evolution) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	v, err := e.Unflatten(s)
	if err != nil {
		return nil, err
	}
	state, g := v.(State), e.generation
	candidates := []run.Candidate{{Name: "centre"}, {Name: "best_ever"}}
	err = graph.Try(func() {
		candidates[0].Params = g.params(g.strategy.Centre(state.Strategy), state.scale())
		candidates[1].Params = g.params(state.Best.Genome, state.Best.Observation)
	})
	for i := range candidates {
		if err == nil {
			candidates[i].Params, err = graph.Eval(candidates[i].Params)
		}
	}
	return candidates, err
}

// Ending sums the run up.
func (e *Evolution) Ending(last run.Metrics) string {
	mean, _ := last.Get("mean_fitness")
	if last.Stalled && !last.Done {
		return fmt.Sprintf("mean %s, and no better best than %s for %d generations", number(mean), number(e.patience.best), e.config.Patience)
	}
	if math.IsNaN(e.target) {
		return "mean " + number(mean)
	}
	if last.Done {
		return fmt.Sprintf("mean %s of the %s wanted", number(mean), number(e.target))
	}
	return fmt.Sprintf("mean %s, the target is %s", number(mean), number(e.target))
}

// number is a fitness in words.
func number(x float64) string { return fmt.Sprintf("%.4g", x) }

// Lanes are the members of a tile, and whether they stand on the last axis.
func (e *Evolution) Lanes() (n int, last bool) {
	r := e.generation.rollout.Plan
	return r.Tile, r.LanesLast
}

// MemberAt is the number of the member that plays in a lane (0 … tile-1) of a tile; -1 for padding.
func (e *Evolution) MemberAt(tile, lane int) int {
	t := e.generation.groups
	group := tile*t.Lanes + lane%t.Lanes
	if group >= t.Items {
		return -1
	}
	return lane/t.Lanes*t.Items + group
}

// Cost counts a generation's work in the traced program, all devices.
func (e *Evolution) Cost() graph.Cost {
	tiles := e.generation.groups.PerDevice
	devices := float64(e.profile.Devices)
	cost := e.Compiled().Program.Graph.Cost(func(loop *graph.Node) int {
		if loop.LoopName() == population.TilesLoop {
			return tiles
		}
		return 1
	})
	return graph.Cost{FLOPs: cost.FLOPs * devices, Bytes: cost.Bytes * devices}
}

// Board is what a display shows: fitness with its spread, and what the run is to reach.
func (c *Config) Board() []run.Row {
	goal := ""
	if env, err := envs.Make(c.Env); err == nil {
		if t := c.Goal(env.Spec()); !math.IsNaN(t) {
			goal = " of " + number(t)
		}
	}
	return []run.Row{
		{Label: "best", Plain: true, Parts: []run.Part{{Metric: "best_ever"}}},
		{Label: "mean", Plain: true, Parts: []run.Part{{Metric: "mean_fitness", Behind: goal}}, Curve: "mean_fitness", Colour: "cyan"},
		{Label: "spread", Parts: []run.Part{{Before: "std ", Metric: "std_fitness"}, {Before: ", worst ", Metric: "worst_fitness"}}},
		{Label: "failed", Plain: true, Rare: true, Parts: []run.Part{{Before: "generation ", Metric: "failed_generation", Format: run.Whole},
			{Before: ": member ", Metric: "failed_member", Format: run.Whole}, {Before: ", step ", Metric: "failed_step", Format: run.Whole}}},
	}
}
