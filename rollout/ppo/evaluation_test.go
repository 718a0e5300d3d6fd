package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/xlatest"
)

// evaluating returns small settings of a run with evaluations after updates 1, 2 and 4.
func evaluating(c *Config) {
	c.Steps, c.EvalEnvs, c.EvalEvery, c.EnvParam = 64*5, 3, 4, settings.Pairs{"max-steps": "12"}
	c.NormalizeObservations = true
}

// An evaluation is what members that are saved then get on the same episodes, by the better way to act. It changes
// nothing of the training.
func TestEvaluationIsOfTheSavedMember(t *testing.T) {
	g := smallProgram(t, evaluating)
	plain := smallProgram(t, func(c *Config) { evaluating(c); c.EvalEnvs = 0 })
	in := g.inputs(population.CutTiles(1, 1, 1))
	first := evaluated(t, g.starts(random.New(1), 1))
	first.Update = graph.Of(int32(2))
	s, row := evaluated(t, graph.PairOf(g.updateStep(first, in))).Unpack()
	in = plain.inputs(population.CutTiles(1, 1, 1))
	alone, short := evaluated(t, graph.PairOf(plain.updateStep(first, in))).Unpack()
	in = g.inputs(population.CutTiles(1, 1, 1))
	require.Equal(t, floatsOf(t, []any{alone.Params, alone.Optimizer}), floatsOf(t, []any{s.Params, s.Optimizer}))
	n := len(floatsOf(t, short))
	require.Equal(t, floatsOf(t, short)[:5], floatsOf(t, row)[:5])
	require.Len(t, floatsOf(t, row), n+g.evaluation.numbers())
	for _, x := range floatsOf(t, row)[n:] {
		require.Negative(t, x, "the third update has no evaluation")
	}
	require.Nil(t, g.evaluation.metrics([][]float64{floatsOf(t, row)[n:]}))

	s, row = evaluated(t, graph.PairOf(g.updateStep(s, in))).Unpack()
	require.Equal(t, floatsOf(t, row)[n:], floatsOf(t, s.Evaluated))
	got := map[string]float64{}
	for name, each := range g.evaluation.metrics([][]float64{floatsOf(t, row)[n:]}) {
		got[name] = each[0]
	}
	judged, err := g.config.Rollout()
	require.NoError(t, err)
	best := math.Inf(-1)
	for _, way := range policy.WaysOf(judged.Policy) {
		member := policy.Acting(g.saved(s.Params, s.Observed.scale()), way)
		var returns []float64
		for e := range 3 {
			key := random.FoldIn(random.FoldIn(random.FoldIn(s.Key, evalKey), 4), e)
			returns = append(returns, floatsOf(t, evaluated(t, judged.Episode(member, key)).Return)...)
		}
		mean := total(returns) / 3
		require.InDelta(t, mean, got["eval_return_"+way], 1e-5, way)
		if mean > best {
			best = mean
			variance := 0.
			for _, x := range returns {
				variance += (x - mean) * (x - mean) / 2
			}
			require.InDelta(t, math.Sqrt(variance/3), got[run.EvalError], 1e-5, way)
		}
	}
	require.InDelta(t, best, got[run.EvalReturn], 1e-5)
	require.EqualValues(t, 3, got[run.EvalEpisodes])
	require.Zero(t, got[run.EvalFailed])
}

// Of the ways to act the one with fewer failed episodes counts, then the one with the larger mean: the target once was
// never reached where greedy actions failed in an episode and had the larger mean.
func TestEvaluationOfWays(t *testing.T) {
	e := smallProgram(t, evaluating).evaluation
	for _, x := range []struct {
		v    []float64 // sampled, greedy: episodes that did not fail, their mean, squares
		want []run.Value
	}{
		{[]float64{3, 480, 6, 2, 500, 0}, []run.Value{{Name: run.EvalReturn, Number: 480},
			{Name: run.EvalError, Number: 1}, {Name: run.EvalEpisodes, Number: 3}, {Name: run.EvalFailed}}},
		{[]float64{3, 480, 6, 3, 500, 24}, []run.Value{{Name: run.EvalReturn, Number: 500},
			{Name: run.EvalError, Number: 2}, {Name: run.EvalEpisodes, Number: 3}, {Name: run.EvalFailed}}},
		{[]float64{0, 0, 0, 0, 0, 0}, []run.Value{{Name: run.EvalReturn, Number: math.Inf(-1)},
			{Name: run.EvalEpisodes, Number: 3}, {Name: run.EvalFailed, Number: 3}}},
	} {
		got := e.metrics([][]float64{x.v, x.v})
		for _, want := range x.want {
			require.Equal(t, []float64{want.Number, want.Number}, got[want.Name], want.Name)
		}
		if x.v[1] > 0 {
			require.Equal(t, []float64{x.v[4], x.v[4]}, got["eval_return_greedy"])
		}
	}
	require.InDelta(t, 2.5, errorOfMean([]float64{3, 4}), 1e-9)
}

// One episode has no error, however often the evaluation is read: the second time it was 0.
func TestOneEpisodeHasNoError(t *testing.T) {
	e := &evaluation{EvalSettings: run.EvalSettings{EvalEnvs: 1, EvalEvery: 1}}
	r := &Training{program: &program{evaluation: e}, evaluated: map[string][]float64{run.EvalReturn: {42},
		run.EvalError: {math.NaN()}, run.EvalEpisodes: {1}, run.EvalFailed: {0}}}
	for range 2 {
		require.Equal(t, "eval return 42 of the 40 wanted", r.newest(1).Text("update", run.Metrics{Step: 1, Done: true},
			40))
	}
}

// The interval follows from the settings without the length of the run: evaluations are a small part of the work. A
// simulator's steps cost more than the network's.
func TestEvaluationInterval(t *testing.T) {
	of := func(change func(c *Config)) *evaluation {
		return smallProgram(t, func(c *Config) {
			c.Envs, c.Horizon, c.Steps, c.EvalEnvs = 4, 128, 500000, 32
			change(c)
		}).evaluation
	}
	require.Equal(t, 149, of(func(*Config) {}).EvalEvery) // 32 x 2 x 500 / (.03 x 512 x 14)
	require.Equal(t, 149, of(func(c *Config) { c.Steps = 4 * 128 * 9 }).EvalEvery)
	require.Equal(t, 3, of(func(c *Config) { c.Envs, c.Steps = 256, c.Steps*10 }).EvalEvery)
	e := of(func(c *Config) { c.EvalEvery = 7 })
	require.Equal(t, []bool{true, false, true, false}, []bool{e.EvalDue(4), e.EvalDue(6), e.EvalDue(7), e.EvalDue(976)})
	require.Nil(t, of(func(c *Config) { c.EvalEnvs = 0 }))
}

// Agents have evaluations of their own; their mean is the metric and decides whether the run is solved. Only updates
// with an evaluation have its metrics. The short form has the program of TestAgentsOverDevices; the long form compares
// the metrics on one device.
func TestEvaluationOfAgents(t *testing.T) {
	b := xlatest.Open(t, 2)
	of := func(devices int) (*Training, []run.Metrics) {
		c := crowd(devices)
		c.Target, c.EvalEvery = "500", 4
		r := start(t, b, c)
		return r, steps(t, r, 3)
	}
	r, all := of(2)
	if long.On() {
		_, one := of(1)
		require.Equal(t, one, all)
	}
	_, found := all[2].Get(run.EvalReturn)
	require.False(t, found)
	require.Equal(t, 15., all[1].Number(run.EvalEpisodes))
	each := r.evaluated[run.EvalReturn]
	require.Len(t, each, 5)
	require.InDelta(t, total(each)/5, all[1].Number(run.EvalReturn), 1e-5)
	require.False(t, all[1].Done)
	require.Regexp(t, `^eval return \S+ ± \S+, the target is 500;`, r.Ending(all[1]))
	require.Regexp(t, `^eval return \S+ ± \S+ in update 2, the target is 500;`, r.Ending(all[2]))
	files, err := r.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	require.Equal(t, jsonNumbers(each), files[len(files)-1].JSON.(map[string]any)[run.EvalReturn])
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	r.evaluated = nil
	require.NoError(t, r.Restore(t.Context(), s))
	require.Equal(t, each, r.evaluated[run.EvalReturn], "a resumed run knows the last evaluation")

	reached := func(x, spread, failed float64) bool {
		return r.reaches(func(name string) float64 {
			return map[string]float64{run.EvalReturn: x, run.EvalError: spread, run.EvalFailed: failed,
				"recent_return": 700}[name]
		}, nil)
	}
	require.Equal(t, []bool{true, false, false, false, false}, []bool{reached(500, 0, 0), reached(499, 0, 0),
		reached(500, 1, 0), reached(500, 0, 1), reached(math.Inf(1), 0, 0)})
}

// An evaluation has the same numbers on any number of devices: of an agent whose work is cut over them, and of several
// agents in tiles.
func TestEvaluationOverDevices(t *testing.T) {
	long.Only(t)
	b := xlatest.Open(t, 3)
	for name, change := range map[string]func(c *Config){
		"one agent": func(c *Config) { c.Envs, c.Horizon, c.Minibatches = 12, 256, 3 },
		"agents":    func(c *Config) { c.Agents, c.Tile = 5, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			of := func(devices int) []run.Metrics {
				r := start(t, b, small(func(c *Config) {
					change(c)
					c.Devices, c.EvalEnvs, c.EvalEvery, c.Steps = devices, 5, 1, 2*c.perUpdate()
				}))
				require.Equal(t, devices, r.Profile().Devices)
				return steps(t, r, 2)
			}
			one := of(1)
			for _, m := range one {
				require.False(t, math.IsNaN(m.Number(run.EvalReturn)))
				require.Positive(t, m.Number(run.EvalError))
			}
			for _, devices := range []int{2, 3} {
				require.Equal(t, one, of(devices), "%d devices", devices)
			}
		})
	}
}
