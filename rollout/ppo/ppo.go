// Package ppo trains an actor and a critic by proximal policy optimization (Schulman et al., 2017): collecting, advantages, epochs of minibatches and the
// optimiser are one compiled program, and environments, networks and optimiser stay on the device.
package ppo

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/aggregate"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "ppo",
		Short: "Train an actor and a critic by proximal policy optimization",
		Long: "Ppo trains an actor and a critic in an environment by proximal policy optimization. An update (collect, advantages, epochs\n" +
			"of minibatches, optimiser) is one compiled program; environments, networks and optimiser stay on the device. The run's\n" +
			"folder holds the resolved config, metrics, checkpoints, the last actor and the best, judged on fresh episodes.",
		Example:  "  xlarun ppo CartPole-v1\n  xlarun ppo MemoryChain-bsuite-v1 --policy gru:32 --envs 64 --horizon 32\n  xlarun ppo CartPole-v1 --agents 16 --target 0",
		Argument: "env",
		Version:  1,
		Unit:     "update",
		Work:     "environment steps of all agents",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Training is a run: a compiled update and its state on the device.
type Training struct {
	*run.Loop
	config  Config
	program *program
	target  float64 // NaN: none
	profile run.Profile
	recent  []float64 // recent return of each agent after the last update of this run; nil before one
}

// Start checks the settings, traces an update, compiles it for b (through the cache) and puts the first state on the device.
func (c *Config) Start(b xlabridge.Backend) (run.Run, error) { return New(b, *c) }

// New is Start with a Training as its result.
func New(b xlabridge.Backend, c Config) (*Training, error) {
	c, err := c.resolved(b)
	if err != nil {
		return nil, err
	}
	g, err := c.program()
	if err != nil {
		return nil, err
	}
	return newTraining(b, c, g, c.Purpose())
}

func newTraining(b xlabridge.Backend, c Config, g *program, purpose string) (*Training, error) {
	t := &Training{config: c, program: g, target: c.Goal(g.collect.play.Env.Spec())}
	var first any
	if err := graph.Try(func() { first = g.starts(random.New(c.Seed), c.Agents) }); err != nil {
		return nil, err
	}
	cut, err := c.cut(b)
	if err != nil {
		return nil, err
	}
	options := run.LoopOptions{Name: "update", Purpose: purpose, Plan: layout(b, cut.Devices), Computed: true, Packed: c.Agents == 1}
	if c.Agents == 1 {
		if g.shards, err = c.shards(b, g.rows); err != nil {
			return nil, err
		}
		if g.shards != nil {
			options.Plan = layout(b, g.shards.Rows.Devices)
		}
		options.Undivided = options.Plan.Devices == 1
		t.Loop, err = run.NewLoop(b, options, first.(State), g.inputs(cut), g.update)
	} else {
		t.Loop, err = run.NewLoop(b, options, first.(State), g.inputs(cut), g.together(cut))
	}
	if err != nil {
		return nil, err
	}
	t.profile = t.Loop.Profile()
	size, err := policy.Size(g.collect.alone)
	if err != nil {
		return nil, err
	}
	t.profile.Facts = []run.Fact{{Name: "parameters", Value: size}}
	return t, nil
}

// starts are the first states: of one agent, or of several along axis 0. Agent i has the key FoldIn(key, i).
func (g *program) starts(key random.Key, agents int) State {
	if agents == 1 {
		return g.start(random.FoldIn(key, 0))
	}
	return graph.VMap2(func(key random.Key, i *graph.Array) State { return g.start(random.FoldIn(key, i)) }, graph.InAxes(graph.Unmapped, 0))(key, graph.Iota(agents))
}

// Step is one update of all agents: one call of the compiled program.
func (t *Training) Step() (run.Metrics, error) {
	v, err := t.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	return t.told(v)
}

// told are the metrics of an update, of what it gave to the host: a row of each agent.
func (t *Training) told(v []float64) (run.Metrics, error) {
	names, agents := t.program.metricNames(), t.config.Agents
	k := len(names) + 1
	if len(v) != k*agents {
		return run.Metrics{}, fmt.Errorf("an update gives %d numbers, and %d metrics of %d agents were wanted", len(v), k, agents)
	}
	of := func(metric int) (each []float64) {
		for agent := range agents {
			each = append(each, v[agent*k+metric])
		}
		return each
	}
	work := float64(t.config.perUpdate()) * float64(agents)
	m := run.Metrics{Step: t.Steps(), Work: work}
	for i, name := range names {
		m.Values = append(m.Values, run.Value{Name: name, Number: together(name, of(i))})
	}
	m.Values = append(m.Values, run.Value{Name: envSteps, Number: float64(t.Steps()) * work})
	t.recent = of(slices.Index(names, "recent_return"))
	recent, _ := m.Get("recent_return")
	m.Done = recent >= t.target && !math.IsInf(recent, 0) && slices.Min(of(k-1)) >= sure
	return m, nil
}

// Candidates are the actor as it is and the one with the highest recent return of all so far; of several agents, those of the one that has the highest.
func (t *Training) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	v, err := t.Unflatten(s)
	if err != nil {
		return nil, err
	}
	state := v.(State)
	candidates := []run.Candidate{{Name: "last"}, {Name: "best_ever"}}
	err = graph.Try(func() {
		last, ever := state, state.Best
		if t.config.Agents > 1 {
			last = at(state, graph.ArgMax(known(state.Recent.mean()), 0))
			highest := known(state.Best.Return)
			sure := graph.Gt(graph.ReduceMax(highest, 0), math.Inf(-1)) // of one at least it is known how good it is
			ever = at(state.Best, graph.Select(sure, graph.ArgMax(highest, 0), graph.ArgMax(known(state.Recent.mean()), 0)))
		}
		candidates[0].Params = t.member(last.Params.Actor, last.scale())
		candidates[1].Params = t.member(ever.Actor, ever.Observation)
	})
	for i := range candidates {
		if err == nil {
			candidates[i].Params, err = graph.Eval(candidates[i].Params)
		}
	}
	return candidates, err
}

// at is row i of a tree.
func at[T any](tree T, i *graph.Array) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }, tree)
}

// known has -Inf in the place of NaN.
func known(x *graph.Array) *graph.Array { return graph.Select(graph.IsNaN(x), math.Inf(-1), x) }

// member is an actor as it is saved.
func (t *Training) member(actor any, by *policy.Scale) any {
	own := t.program.collect.member(Params{Actor: actor})
	if by != nil {
		return policy.Normalized{Own: own, Observation: *by}
	}
	return own
}

// Ending sums the run up, of several agents with their interquartile mean. It is asked for after every update; the interval, which takes thousands of
// resamples, is there after the last.
func (t *Training) Ending(last run.Metrics) string {
	text := t.ending(last)
	if t.config.Agents == 1 || len(t.recent) == 0 {
		return text
	}
	point := aggregate.IQM(aggregate.Of(t.recent))
	if math.IsNaN(point) {
		return text
	}
	text += fmt.Sprintf("; interquartile mean of %d agents %s", t.config.Agents, number(point))
	if last.Done || last.Step >= t.config.Last() {
		if iqm := t.estimate(t.recent); !math.IsNaN(iqm.Low) {
			text += fmt.Sprintf(" (%s to %s)", number(iqm.Low), number(iqm.High))
		}
	}
	return text
}

func (t *Training) ending(last run.Metrics) string {
	recent, _ := last.Get("recent_return")
	skipped, _ := last.Get("skipped")
	minibatches, _ := last.Get("minibatches")
	failed, _ := last.Get("failed")
	episodes, _ := last.Get("episodes")
	switch {
	case failed > 0 && episodes == 0:
		return fmt.Sprintf("recent return %s; no episode of the last update had a return that is a number, of %.0f that ended", number(recent), failed)
	case math.IsNaN(recent):
		return "no episode has ended with a return that is a number"
	case skipped > 0 && minibatches == 0:
		return "recent return " + number(recent) + "; nothing is learned any more: no gradient of the last update is a number (a lower --learning-rate may help)"
	case math.IsNaN(t.target):
		return "recent return " + number(recent)
	case last.Done:
		return fmt.Sprintf("recent return %s of the %s wanted", number(recent), number(t.target))
	}
	return fmt.Sprintf("recent return %s, the target is %s", number(recent), number(t.target))
}

// Profile says what was compiled.
func (t *Training) Profile() run.Profile { return t.profile }
