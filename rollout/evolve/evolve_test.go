package evolve

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runtest"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func start(t *testing.T, b xlabridge.Backend, c Config) *Evolution {
	t.Helper()
	e, err := New(t.Context(), b, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

var steps, of, sameBytes = runtest.Steps, runtest.Number, runtest.SameBytes

// bytesOf returns the bytes of a run's state.
func bytesOf(t *testing.T, e *Evolution) map[string]string {
	return runtest.Bytes(t, runtest.Snapshot(t, e))
}

// A run learns: the whole population balances the pole.
func TestCartPoleIsSolved(t *testing.T) {
	c := DefaultConfig()
	c.Seed = 1
	e := start(t, xlatest.Open(t, min(2, runtime.GOMAXPROCS(0))), c)
	var m run.Metrics
	for !m.Done {
		var err error
		m, err = e.Step(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, m.Step, int64(100))
	}
	require.GreaterOrEqual(t, of(t, m, run.EvalReturn)-of(t, m, run.EvalError), 475.)
	require.Equal(t, 500., of(t, m, "best_ever"))
	require.Equal(t, float64(m.Step*256*500), of(t, m, run.ComputedSteps))
	require.Equal(t, 256*500., m.Work)
	require.Equal(t, fmt.Sprintf("eval return %v of the 475 wanted", e.newest.EvalScore), e.Ending(m))

	// What the search has come to balances the pole in new episodes too; the member that was lucky once need not.
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	candidates, err := e.Candidates(s)
	require.NoError(t, err)
	require.Len(t, candidates, 2)
	r, err := c.Rollout()
	require.NoError(t, err)
	j, err := episode.NewEvaluator(e.backend, r, candidates[0].Params, 2, 50, c.Purpose())
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	judged, err := j.Play([]any{candidates[0].Params, candidates[1].Params}, random.New(77))
	require.NoError(t, err)
	require.Equal(t, "mean", candidates[0].Name)
	require.Greater(t, judged[0].Mean, 490.)
	require.Len(t, judged[0].Return, 50)
}

// Padding of the last tile changes no result.
func TestPaddingIsMasked(t *testing.T) {
	b := &xlabridge.Reference{}
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 6, 12, "linear"
	var got [][]run.Metrics
	var means [][]float64
	for _, tile := range []int{2, 4, 6, 16} { // 3 tiles, 1.5, 1, 0.4
		c.Tile = tile
		e := start(t, b, c)
		got = append(got, steps(t, e, 3))
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		mean, err := graph.Floats(s.Arrays["strategy.mean"])
		require.NoError(t, err)
		means = append(means, mean)
	}
	for i := range got {
		require.Equal(t, got[0], got[i])
		require.InDeltaSlice(t, means[0], means[i], 1e-6)
	}
}

// againstXLA is a small run whose program is compared with the interpreter.
func againstXLA(env, policy string) Config {
	c := DefaultConfig()
	c.Env, c.Policy, c.Population, c.Steps, c.Seed = env, policy, 8, 50, 3
	return c
}

// The compiled program computes what the reference interpreter does.
func TestReferenceAgreesWithXLA(t *testing.T) {
	rows := []struct{ env, policy string }{{"Pendulum-v1", "mlp:16"}, {"CartPole-v1", "mlp:16,16"},
		{"Pendulum-v1", "mlp:16,16"}, {"Pendulum-v1", "spiking:7,5"}}
	if !long.On() {
		rows = rows[:1]
	}
	for _, x := range rows {
		t.Run(x.env+" "+x.policy, func(t *testing.T) {
			c := againstXLA(x.env, x.policy)
			want := steps(t, start(t, &xlabridge.Reference{}, c), 2)
			got := steps(t, start(t, xlatest.Open(t, 1), c), 2)
			for i := range want {
				names := []string{"mean_fitness", "best_fitness", "worst_fitness"}
				if strings.HasPrefix(x.policy, "spiking") {
					names = append(names, "spike_rate_hz", "synaptic_operations", "energy_nj")
				}
				for _, name := range names {
					w := of(t, want[i], name)
					require.InDelta(t, w, of(t, got[i], name), 1e-4*math.Max(1, math.Abs(w)))
				}
			}
		})
	}
}

func TestSeveralEpisodes(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Episodes = 8, 30, 3
	m := steps(t, start(t, &xlabridge.Reference{}, c), 1)[0]
	require.Equal(t, 8*30*3., of(t, m, run.ComputedSteps))
	require.InDelta(t, 8*3*of(t, m, "mean_length"), of(t, m, run.EnvSteps), 1e-3) // of CartPole the pole falls before
	require.Less(t, of(t, m, run.EnvSteps), 8*30*3.)
	// The mean of three whole numbers: in thirds.
	best := of(t, m, "best_fitness")
	require.InDelta(t, math.Round(3*best), 3*best, 1e-4)
	require.InDelta(t, of(t, m, "mean_fitness"), of(t, m, "mean_length"), 1e-5)
}

func TestSeedsDiffer(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps = 8, 20
	after := func(seed int64) map[string]string {
		c.Seed = seed
		e := start(t, &xlabridge.Reference{}, c)
		steps(t, e, 1)
		return bytesOf(t, e)
	}
	require.Equal(t, after(1), after(1))
	require.NotEqual(t, after(1)["strategy.mean"], after(2)["strategy.mean"])
}

// Candidates reads the snapshot alone, while another goroutine steps on.
func TestCandidatesWhileItSteps(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 3, "linear"
	e := start(t, &xlabridge.Reference{}, c)
	steps(t, e, 1)
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	read := func() (all [][]float64) {
		candidates, err := e.Candidates(s)
		require.NoError(t, err)
		for _, one := range candidates {
			for _, leaf := range graph.Leaves(one.Params) {
				v, err := graph.Floats(leaf)
				require.NoError(t, err)
				all = append(all, v)
			}
		}
		return all
	}
	want := read()
	done := make(chan error, 1)
	go func() {
		for range 5 {
			if _, err := e.Step(t.Context()); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 5 {
		require.Equal(t, want, read())
	}
	require.NoError(t, <-done)
	require.Equal(t, want, read())
}

// The names of the state's arrays belong to run.Kind.Version. If one changes, the version rises.
func TestSnapshotNamesTheState(t *testing.T) {
	kind, ok := run.Lookup("evolve")
	require.True(t, ok)
	require.Equal(t, 4, kind.Version)
	common := []string{"best.fitness", "best.generation", "best.genome", "generation", "hall.fitness",
		"hall.generation", "hall.genomes", "key.data", "env_steps"}
	climber := []string{"strategy.fitness", "strategy.mean", "strategy.sigma", "strategy.generation"}
	subspace := []string{"strategy.adam.count", "strategy.adam.mu", "strategy.adam.nu", "strategy.alpha",
		"strategy.gradients", "strategy.mean", "strategy.generation"}
	unrolled := []string{"strategy.noise", "strategy.search.adam.count", "strategy.search.adam.mu",
		"strategy.search.adam.nu", "strategy.search.mean", "strategy.search.sigma", "strategy.generation"}
	amalgam := []string{"strategy.best", "strategy.covariance", "strategy.mean", "strategy.multiplier",
		"strategy.root", "strategy.shift", "strategy.shifts", "strategy.stagnation"}
	names := map[string][]string{
		"openes":    {"strategy.adam.count", "strategy.adam.mu", "strategy.adam.nu", "strategy.mean", "strategy.sigma"},
		"pgpe":      {"strategy.adam.count", "strategy.adam.mu", "strategy.adam.nu", "strategy.mean", "strategy.std"},
		"simplega":  {"strategy.elites", "strategy.sigma", "strategy.generation"},
		"annealing": climber, "gradientless": climber, "hillclimbing": climber,
		"asebo": subspace, "guidedes": subspace, "nres": unrolled, "pes": unrolled,
		"iamalgam": amalgam, "iamalgamu": amalgam,
		"diffusion": {"strategy.fitness", "strategy.members", "strategy.start", "strategy.generation"},
		"gesmrga":   {"strategy.elites", "strategy.fitness", "strategy.members", "strategy.sigma"},
		"lmmaes": {"strategy.mean", "strategy.paths", "strategy.sigma", "strategy.sigma_path",
			"strategy.generation"},
		"maes":   {"strategy.matrix", "strategy.mean", "strategy.sigma", "strategy.sigma_path"},
		"mr15ga": {"strategy.fitness", "strategy.parents", "strategy.sigma"},
		"rmes": {"strategy.mean", "strategy.parents", "strategy.path", "strategy.paths", "strategy.sigma",
			"strategy.success", "strategy.times", "strategy.generation"},
		"svcmaes": {"strategy.best", "strategy.searches.basis", "strategy.searches.covariance",
			"strategy.searches.mean", "strategy.searches.path", "strategy.searches.scale", "strategy.searches.sigma",
			"strategy.searches.sigma_path", "strategy.searches.generation"},
		"ars": {"strategy.adam.count", "strategy.adam.mu", "strategy.adam.nu", "strategy.mean", "strategy.sigma"},
		"cmaes": {"strategy.basis", "strategy.covariance", "strategy.mean", "strategy.path", "strategy.scale",
			"strategy.sigma", "strategy.sigma_path",
			"strategy.generation"},
		"crfmnes": {"strategy.mean", "strategy.path", "strategy.scale", "strategy.sigma", "strategy.sigma_path",
			"strategy.v"},
		"de": {"strategy.fitness", "strategy.members", "strategy.generation"},
		"eggroll": {"strategy.count", "strategy.mean.layers.0.b", "strategy.mean.layers.0.w", "strategy.mu.0",
			"strategy.mu.1", "strategy.nu.0",
			"strategy.nu.1", "strategy.sigma"},
		"neat": {"strategy.best", "strategy.births", "strategy.born", "strategy.champion", "strategy.confirmed",
			"strategy.elite", "strategy.genomes", "strategy.improved", "strategy.innovations", "strategy.nodes",
			"strategy.reach", "strategy.refused", "strategy.species.best", "strategy.species.improved",
			"strategy.species.number", "strategy.species.numbers", "strategy.species.size",
			"strategy.species.weights", "strategy.threshold", "strategy.generation"},
		"pso": {"strategy.best", "strategy.fitness", "strategy.position", "strategy.generation",
			"strategy.velocity"},
		"randomsearch": {"strategy.best.layers.0.b", "strategy.best.layers.0.w", "strategy.fitness",
			"strategy.start.layers.0.b", "strategy.start.layers.0.w"},
		"samrga": {"strategy.elites", "strategy.sigma"},
		"sepcmaes": {"strategy.mean", "strategy.path", "strategy.sigma", "strategy.sigma_path", "strategy.generation",
			"strategy.variance"},
		"snes": {"strategy.mean", "strategy.std"},
		"xnes": {"strategy.mean", "strategy.shape", "strategy.sigma"},
	}
	require.Equal(t, strategy.Names(), slices.Sorted(maps.Keys(names)))
	for name, own := range names {
		c := DefaultConfig()
		if c.Population, c.Steps, c.Policy, c.Strategy = 4, 5, "linear", name; name == "neat" {
			c.Policy = "genome"
		}
		e := start(t, &xlabridge.Reference{}, c)
		steps(t, e, 2)
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(2), s.Step)
		all := append(slices.Clone(common), own...)
		if _, flat := s.Arrays["hall.genomes"]; !flat { // a genome is the policy's tree
			trees := func(tree string) (names []string) {
				own := []string{"layers.0.b", "layers.0.w"}
				if name == "neat" {
					own = []string{"connections.enabled", "connections.from", "connections.number", "connections.to",
						"connections.weight", "nodes.activation", "nodes.aggregation", "nodes.bias", "nodes.number",
						"nodes.response"}
				}
				for _, leaf := range own {
					names = append(names, tree+"."+leaf)
				}
				return names
			}
			all = slices.Concat(all[:2], trees("best.genome"), all[3:6], trees("hall.genomes"), all[7:])
		}
		require.ElementsMatch(t, all, slices.Collect(maps.Keys(s.Arrays)), name)
		g, err := graph.Float(s.Arrays["generation"])
		require.NoError(t, err)
		require.Equal(t, 2., g)
	}
}

// The mean is the strategy's mean, in the policy's tree.
func TestMean(t *testing.T) {
	for _, strategy := range []string{"openes", "pgpe", "simplega"} {
		c := DefaultConfig()
		c.Population, c.Steps, c.Policy, c.Strategy = 4, 5, "linear", strategy
		e := start(t, &xlabridge.Reference{}, c)
		steps(t, e, 1)
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		candidates, err := e.Candidates(s)
		require.NoError(t, err)
		member := candidates[0].Params
		require.IsType(t, policy.Params{}, member)
		mean := s.Arrays["strategy.mean"]
		if strategy == "simplega" {
			mean = s.Arrays["strategy.elites"].Index(0)
		}
		want, err := graph.Floats(mean)
		require.NoError(t, err)
		var got []float64
		for _, leaf := range graph.Leaves(member) {
			v, err := graph.Floats(leaf)
			require.NoError(t, err)
			got = append(got, v...)
		}
		require.Equal(t, want, got)
	}
}

// Seeds and Numbers of the strategy are inputs: changing them changes results, and not the program.
func TestSettingsDoNotRecompile(t *testing.T) {
	b := &xlabridge.Reference{}
	c := DefaultConfig()
	c.Env, c.Population, c.Steps, c.Policy, c.HallOfFame = "XOR-v0", 8, 4, "linear", "0"
	first := start(t, b, c)
	c.Seed = 9
	c = c.With("strategy.learning-rate", .5).With("strategy.sigma", .3).With("strategy.sigma-decay", "0.9")
	second := start(t, b, c)
	text := func(e *Evolution) string {
		l, err := lower.Lower(e.Compiled().Program, graph.TargetCPU)
		require.NoError(t, err)
		return l.StableHLO
	}
	require.Equal(t, text(first), text(second))
	steps(t, first, 3)
	steps(t, second, 3)
	sigma := func(e *Evolution) float64 {
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		v, err := graph.Float(s.Arrays["strategy.sigma"])
		require.NoError(t, err)
		return v
	}
	require.InDelta(t, .1, sigma(first), 1e-7)
	require.InDelta(t, .3*.9*.9, sigma(second), 1e-6)
}

func TestMemberAt(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Tile, c.Steps, c.Policy = 10, 4, 5, "linear" // 5 pairs, 2 a tile
	e := start(t, &xlabridge.Reference{}, c)
	p := e.Profile()
	require.Equal(t, 4, p.Fact("tile"))
	require.Equal(t, 3, p.Fact("tiles"))
	require.Equal(t, 4, p.Placement.Lanes)
	require.False(t, p.Placement.BatchLast)
	var members []int
	for tile := range 3 {
		for lane := range p.Placement.Lanes {
			members = append(members, p.Placement.Member(tile, lane))
		}
	}
	require.Equal(t, []int{0, 1, 5, 6, 2, 3, 7, 8, 4, -1, 9, -1}, members)
}

func TestClosedRun(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 5, "linear"
	e, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.NoError(t, err)
	require.NoError(t, e.Close())
	_, err = e.Step(t.Context())
	require.ErrorIs(t, err, run.ErrGone)
	_, err = e.Snapshot(t.Context())
	require.ErrorIs(t, err, run.ErrGone)
}
