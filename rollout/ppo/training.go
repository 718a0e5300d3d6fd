package ppo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/aggregate"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Training is a run: a compiled update and its state on the device.
type Training struct {
	*run.Loop
	config  Config
	backend xlabridge.Backend
	program *program
	tiles   population.Tiles // of agents
	target  float64          // NaN: none
	profile run.Profile
	recent  []float64 // recent return of each agent after the last update of this run; nil before the first update
	// evaluated are the metrics of the last evaluation, a number for each agent; nil before the first one.
	evaluated map[string][]float64
}

// Start checks the settings, traces and compiles an update (through the cache) and puts the first state on the device.
func (c *Config) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) { return New(b, *c) }

// New is Start with a Training as its result.
func New(b xlabridge.Backend, c Config) (*Training, error) {
	given := c
	c, err := c.resolved(b, c.program)
	if err != nil {
		return nil, err
	}
	g, err := c.program()
	if err != nil {
		return nil, err
	}
	t, err := newTraining(b, c, g, c.Purpose())
	return t.chose(given), err
}

// chose notes what was chosen where the given settings leave it open, so that a resumed run and another machine repeat
// it.
func (t *Training) chose(given Config) *Training {
	if t == nil {
		return nil
	}
	t.profile.Chosen = settings.Values{}
	if given.Precision == plan.PrecisionAuto {
		t.profile.Chosen["precision"] = t.config.Precision
	}
	if given.EvalEvery == 0 && given.EvalEnvs > 0 {
		t.profile.Chosen["eval-every"] = t.program.evaluation.EvalEvery
	}
	return t
}

func newTraining(b xlabridge.Backend, c Config, g *program, purpose string) (*Training, error) {
	tiles, err := c.agentTiles(b)
	if err != nil {
		return nil, err
	}
	t := &Training{config: c, backend: b, program: g, tiles: tiles, target: c.Goal(g.play.Env.Spec())}
	var first any
	if err := graph.Try(func() { first = g.starts(random.New(c.Seed), c.Agents) }); err != nil {
		return nil, err
	}
	options := run.LoopOptions{Name: "update", Purpose: purpose, Plan: layout(b, tiles.Devices), Computed: true,
		Packed: c.Agents == 1}
	if c.Agents == 1 {
		if g.shards, err = c.shards(b, g.rows); err != nil {
			return nil, err
		}
		options.Plan = layout(b, g.shards.Rows.Devices)
		options.Undivided = options.Plan.Devices == 1
		t.Loop, err = run.NewLoop(b, options, first.(State), g.inputs(tiles), g.updateStep)
	} else {
		t.Loop, err = run.NewLoop(b, options, first.(State), g.inputs(tiles), g.updateAgents(tiles))
	}
	if err != nil {
		return nil, err
	}
	t.profile = t.Loop.Profile()
	size, err := policy.Size(g.standalone)
	if err != nil {
		return nil, err
	}
	t.profile.Facts = []run.Fact{{Name: "parameters", Value: size}}
	return t, nil
}

// Restore replaces the state, and with it what the last evaluation found.
func (t *Training) Restore(ctx context.Context, s run.Snapshot) error {
	if err := t.Loop.Restore(ctx, s); err != nil || t.program.evaluation == nil {
		return err
	}
	v, err := graph.Floats(s.Arrays["evaluated"])
	if err == nil {
		t.evaluated = t.program.evaluation.metrics(slices.Collect(slices.Chunk(v, t.program.evaluation.numbers())))
	}
	return err
}

// Step is one update of all agents.
func (t *Training) Step(context.Context) (run.Metrics, error) {
	v, err := t.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	return t.metrics(v)
}

// metrics returns the metrics of an update, given its numbers v, a row for each agent.
func (t *Training) metrics(v []float64) (run.Metrics, error) {
	names, agents := t.program.metricNames(), t.config.Agents
	e := t.program.evaluation
	k := len(names) + 1 + e.numbers()
	if len(v) != k*agents {
		return run.Metrics{}, fmt.Errorf("an update returned %d numbers, want %d metrics of %d agents", len(v), k,
			agents)
	}
	metricOf := func(metric int) (each []float64) {
		for agent := range agents {
			each = append(each, v[agent*k+metric])
		}
		return each
	}
	work := float64(t.config.perUpdate()) * float64(agents)
	m := run.Metrics{Step: t.Steps(), Work: work}
	for i, name := range names {
		m.Values = append(m.Values, run.Value{Name: name, Number: overAgents(name, metricOf(i))})
	}
	m.Values = append(m.Values, run.Value{Name: run.EnvSteps, Number: float64(t.Steps()) * work})
	if e != nil && e.EvalDue(t.Steps()) {
		var evaluated [][]float64
		for row := range slices.Chunk(v, k) {
			evaluated = append(evaluated, row[len(names)+1:])
		}
		t.evaluated = e.metrics(evaluated)
		for _, name := range t.config.evalNames(len(e.ways())) {
			m.Values = append(m.Values, run.Value{Name: name, Number: overAgents(name, t.evaluated[name])})
		}
	}
	t.recent = metricOf(slices.Index(names, "recent_return"))
	m.Done = t.reaches(m.Number, metricOf(len(names)))
	if m.Number("failed") > 0 && math.IsNaN(m.Number("recent_return")) {
		m.Failed = t.allFailed
	}
	return m, nil
}

// reaches reports whether an update has reached the target: by its evaluation, or in runs without evaluations by its
// recent episodes and by their weight of each agent.
func (t *Training) reaches(metric func(name string) float64, weights []float64) bool {
	if t.program.evaluation != nil {
		return run.EvalReached(metric, t.target)
	}
	recent := metric("recent_return")
	return metric("failed") == 0 && recent >= t.target && !math.IsInf(recent, 0) && slices.Min(weights) >= minEpisodes
}

// Reached is that of run.Capabilities. The weights of the recent episodes are not metrics: the state has them.
func (t *Training) Reached(metric func(name string) float64) bool {
	state, err := t.State()
	if err != nil {
		return false
	}
	weights, err := graph.Floats(state.(State).Recent.Weight)
	return err == nil && t.reaches(metric, weights)
}

// allFailed returns the error of a run of which no episode has ended with a finite return.
func (t *Training) allFailed(ctx context.Context) error {
	text := "no episode of any agent has ended with a finite return"
	s, err := t.Snapshot(ctx)
	if err != nil {
		return err
	}
	candidates, err := t.Candidates(s)
	if err == nil && len(candidates) > 0 {
		rollout, err := t.config.Rollout()
		if err != nil {
			return err
		}
		cause, ok, err := episode.FindFailure(t.backend, rollout, candidates[0].Params, random.New(t.config.Seed))
		if err == nil && ok {
			text += "; one of agent 0: " + cause.String()
		}
	}
	return errors.New(text + ". Mend the environment, or find the op that makes the first NaN with --jit=false")
}

// Candidates returns the last actor, and the actor with the highest recent return so far. With several agents both are
// the best over the agents. Both have the last distribution: a state keeps no deviations of an earlier update.
func (t *Training) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	v, err := t.Unflatten(s)
	if err != nil {
		return nil, err
	}
	state := v.(State)
	candidates := []run.Candidate{{Name: "last"}, {Name: "best_ever"}}
	err = graph.Try(func() {
		last, best, head := state, state.Best, state.Params.Head
		if t.config.Agents > 1 {
			recent, highest := nanToLowest(state.Recent.mean()), nanToLowest(state.Best.Return)
			found := highest.ReduceMax(0).Gt(math.Inf(-1)) // at least one agent has a best return
			agent := graph.Select(found, highest.ArgMax(0), recent.ArgMax(0))
			last, best = population.At(state, recent.ArgMax(0)), population.At(state.Best, agent)
			head = population.At(state.Params.Head, agent)
		}
		candidates[0].Params = t.program.saved(last.Params, last.Observed.scale())
		candidates[1].Params = t.program.saved(Params{Actor: best.Actor, Head: head}, best.Observation)
	})
	for i := range candidates {
		if err == nil {
			candidates[i].Params, err = graph.Eval(candidates[i].Params)
		}
	}
	return candidates, err
}

// nanToLowest returns x with -Inf instead of NaN.
func nanToLowest(x *graph.Array) *graph.Array { return graph.Select(x.IsNaN(), math.Inf(-1), x) }

// saved returns an actor as it is saved. An actor that learned action values has no distribution.
func (g *program) saved(p Params, scale observationScale) any {
	params := scale.member(g.member(p))
	if _, ok := g.distribution.(epsilonGreedy); ok {
		return params
	}
	return policy.Distributed{Own: params, Distribution: p.Head}
}

// Ending summarizes the run, with the interquartile mean of several agents. The interval, which takes thousands of
// resamples, is computed only after the last update.
func (t *Training) Ending(last run.Metrics) string {
	text := t.ending(last)
	returns := t.returns()
	if t.config.Agents == 1 || len(returns) == 0 {
		return text
	}
	point := aggregate.IQM(aggregate.Of(returns))
	if math.IsNaN(point) {
		return text
	}
	text += fmt.Sprintf("; interquartile mean of %d agents %s", t.config.Agents, number(point))
	if last.Over(t.config.Last()) {
		if iqm := t.estimate(returns); !math.IsNaN(iqm.Low) {
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
		return fmt.Sprintf("recent return %s; the %.0f episodes that ended in the last update have returns that are "+
			"not finite", number(recent), failed)
	case math.IsNaN(recent):
		return t.endless(last.Step)
	case skipped > 0 && minibatches == 0:
		return "recent return " + number(recent) + "; learning has stopped: no gradient of the last update is finite " +
			"(try a lower --learning-rate)"
	case failed > 0:
		return fmt.Sprintf("recent return %s, without %.0f of the %.0f episodes that ended in the last update: their "+
			"returns are not finite, and a run is not solved while episodes fail", number(recent), failed,
			failed+episodes)
	case t.evaluated != nil:
		return t.newest(last.Step).Text("update", last, t.target)
	case math.IsNaN(t.target):
		return "recent return " + number(recent)
	case last.Done:
		return fmt.Sprintf("recent return %s of the %s wanted", number(recent), number(t.target))
	}
	return fmt.Sprintf("recent return %s, the target is %s", number(recent), number(t.target))
}

// newest returns the last evaluation, which t.evaluated has, after a number of updates.
func (t *Training) newest(updates int64) (e run.Evaluated) {
	m := run.Metrics{Step: updates}
	for !t.program.evaluation.EvalDue(m.Step) {
		m.Step--
	}
	for _, name := range run.EvalNames() {
		m.Values = append(m.Values, run.Value{Name: name, Number: overAgents(name, t.evaluated[name])})
	}
	e.Note(m)
	return e
}

// endless says that no episode has ended after a number of updates, and whether the environment is wrong.
func (t *Training) endless(updates int64) string {
	r, err := t.config.greedyRollout()
	played := updates * int64(t.config.Horizon)
	if err != nil || played < int64(r.Steps) {
		return "no episode has ended"
	}
	return fmt.Sprintf("no episode has ended in the %d steps of each environment, although %s has a limit of %d: its "+
		"Step has to return truncated there", played, t.config.Env, r.Steps)
}

// Describe says what the run can do.
func (t *Training) Describe() *run.Capabilities {
	can := t.Loop.Describe()
	can.Members, can.Ending, can.Table, can.Files = t, t.Ending, t.Table, t.Files
	can.Reached, can.Cost, can.Phases = t.Reached, t.Cost, t.Phases
	return can
}

// Profile returns what was compiled.
func (t *Training) Profile() run.Profile { return t.profile }
