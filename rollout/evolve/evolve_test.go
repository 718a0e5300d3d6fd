package evolve

import (
	"bytes"
	"maps"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// open opens the CPU plugin with a number of devices.
func open(t *testing.T, devices int) *xlabridge.Client {
	t.Helper()
	c, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, CacheDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func start(t *testing.T, b xlabridge.Backend, c Config) *Evolution {
	t.Helper()
	e, err := New(b, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func steps(t *testing.T, e *Evolution, n int) []Metrics {
	t.Helper()
	var all []Metrics
	for range n {
		m, err := e.Step()
		require.NoError(t, err)
		m.Seconds = 0
		all = append(all, m)
	}
	return all
}

// bytesOf are the bytes of every array of the state.
func bytesOf(t *testing.T, e *Evolution) map[string][]byte {
	t.Helper()
	s, err := e.Snapshot()
	require.NoError(t, err)
	out := map[string][]byte{}
	for name, a := range s.Arrays {
		data, err := a.Data()
		require.NoError(t, err)
		out[name], err = data.HostBytes()
		require.NoError(t, err)
	}
	return out
}

// It learns: the whole population balances the pole.
func TestCartPoleIsSolved(t *testing.T) {
	c := DefaultConfig()
	c.Seed = 1
	e := start(t, open(t, min(2, runtime.NumCPU())), c)
	var m Metrics
	for range 100 {
		require.False(t, e.Solved())
		var err error
		m, err = e.Step()
		require.NoError(t, err)
		if e.Solved() {
			break
		}
	}
	require.GreaterOrEqual(t, m.MeanFitness, 475.)
	require.Equal(t, 500., m.BestEver)
	require.Equal(t, int64(m.Generation*256*500), m.EnvSteps)
	params, fitness, err := e.Best()
	require.NoError(t, err)
	require.Equal(t, 500., fitness)
	require.NotEmpty(t, graph.Leaves(params))
}

// The other strategies learn too: the population's mean return rises to three times what it was.
func TestOtherStrategiesLearn(t *testing.T) {
	b := open(t, min(2, runtime.NumCPU()))
	for _, strategy := range []string{"pgpe", "simplega"} {
		t.Run(strategy, func(t *testing.T) {
			c := DefaultConfig()
			c.Strategy, c.Seed = strategy, 1
			m := steps(t, start(t, b, c), 60)
			require.Greater(t, m[59].MeanFitness, 3*m[0].MeanFitness)
			require.Greater(t, m[59].MeanFitness, 100.)
		})
	}
}

// Metrics and state are the same to the byte on any number of devices, with populations that divide evenly and others.
func TestResultsDoNotDependOnDevices(t *testing.T) {
	clients := map[int]*xlabridge.Client{}
	for _, d := range []int{1, 2, 4, 8} {
		clients[d] = open(t, d)
	}
	for _, c := range []struct {
		name       string
		population int
		tile       int
		policy     string
		strategy   string
		devices    []int
	}{
		{"even", 64, 16, "mlp:16,16", "openes", []int{1, 2, 4}},
		{"ragged, more devices than tiles", 54, 16, "mlp:16", "openes", []int{1, 8}},
		{"one tile", 16, 32, "linear", "openes", []int{1, 4}},
		{"many parameters", 96, 16, "mlp:64,64", "openes", []int{1, 2, 8}},
		{"pgpe", 54, 16, "mlp:16", "pgpe", []int{1, 4}},
		{"simplega", 45, 8, "mlp:16", "simplega", []int{1, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := DefaultConfig()
			config.Population, config.Tile, config.Policy, config.Steps, config.Seed = c.population, c.tile, c.policy, 100, 5
			config.Strategy = c.strategy
			var metrics []Metrics
			var state map[string][]byte
			for _, d := range c.devices {
				config.Devices = d
				e := start(t, clients[d], config)
				require.Equal(t, d, e.Profile().Devices)
				m, s := steps(t, e, 10), bytesOf(t, e)
				if metrics == nil {
					metrics, state = m, s
					continue
				}
				require.Equal(t, metrics, m, "%d devices", d)
				for name := range state {
					require.True(t, bytes.Equal(state[name], s[name]), "%d devices: %s", d, name)
				}
			}
		})
	}
}

// Padding changes nothing: what fills the last tile up is neither counted nor learned from.
func TestPaddingIsMasked(t *testing.T) {
	b := &xlabridge.Reference{}
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 6, 12, "linear"
	var got [][]Metrics
	var centres [][]float64
	for _, tile := range []int{2, 4, 6, 16} { // 3 tiles, 1.5, 1, 0.4
		c.Tile = tile
		e := start(t, b, c)
		got = append(got, steps(t, e, 3))
		s, err := e.Snapshot()
		require.NoError(t, err)
		centre, err := graph.Floats(s.Arrays["Strategy.Mean"])
		require.NoError(t, err)
		centres = append(centres, centre)
	}
	for i := range got {
		require.Equal(t, got[0], got[i])
		require.InDeltaSlice(t, centres[0], centres[i], 1e-6)
	}
}

// The compiled program computes what the reference interpreter does.
func TestReferenceAgreesWithXLA(t *testing.T) {
	for _, env := range []string{"CartPole-v1", "Pendulum-v1"} {
		t.Run(env, func(t *testing.T) {
			c := DefaultConfig()
			c.Env, c.Population, c.Steps, c.Seed = env, 8, 50, 3
			want := steps(t, start(t, &xlabridge.Reference{}, c), 2)
			got := steps(t, start(t, open(t, 1), c), 2)
			for i := range want {
				require.InDelta(t, want[i].MeanFitness, got[i].MeanFitness, 1e-4*math.Max(1, math.Abs(want[i].MeanFitness)))
				require.InDelta(t, want[i].BestFitness, got[i].BestFitness, 1e-4*math.Max(1, math.Abs(want[i].BestFitness)))
				require.InDelta(t, want[i].WorstFitness, got[i].WorstFitness, 1e-4*math.Max(1, math.Abs(want[i].WorstFitness)))
			}
		})
	}
}

func TestSeveralEpisodes(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Episodes = 8, 30, 3
	m := steps(t, start(t, &xlabridge.Reference{}, c), 1)[0]
	require.Equal(t, int64(8*30*3), m.EnvSteps)
	// The mean of three whole numbers: in thirds.
	require.InDelta(t, math.Round(3*m.BestFitness), 3*m.BestFitness, 1e-4)
	require.InDelta(t, m.MeanFitness, m.MeanLength, 1e-5)
}

func TestSeedsDiffer(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps = 8, 20
	run := func(seed int64) map[string][]byte {
		c.Seed = seed
		e := start(t, &xlabridge.Reference{}, c)
		steps(t, e, 1)
		return bytesOf(t, e)
	}
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1)["Strategy.Mean"], run(2)["Strategy.Mean"])
}

func TestSnapshotNamesTheState(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 5, "linear"
	e := start(t, &xlabridge.Reference{}, c)
	steps(t, e, 2)
	s, err := e.Snapshot()
	require.NoError(t, err)
	require.Equal(t, 2, s.Generation)
	require.Equal(t, []string{"Best.Fitness", "Best.Generation", "Best.Vector", "Generation", "Key.Data", "Strategy.Adam.Count",
		"Strategy.Adam.Mu", "Strategy.Adam.Nu", "Strategy.Mean", "Strategy.Sigma"}, slices.Sorted(maps.Keys(s.Arrays)))
	g, err := graph.Float(s.Arrays["Generation"])
	require.NoError(t, err)
	require.Equal(t, 2., g)
}

// The centre is the strategy's mean, in the policy's tree.
func TestCentre(t *testing.T) {
	for _, strategy := range []string{"openes", "pgpe", "simplega"} {
		c := DefaultConfig()
		c.Population, c.Steps, c.Policy, c.Strategy = 4, 5, "linear", strategy
		e := start(t, &xlabridge.Reference{}, c)
		steps(t, e, 1)
		centre, err := e.Centre()
		require.NoError(t, err)
		require.IsType(t, policy.Params{}, centre)
		s, err := e.Snapshot()
		require.NoError(t, err)
		mean := s.Arrays["Strategy.Mean"]
		if strategy == "simplega" {
			mean = graph.Index(s.Arrays["Strategy.Elites"], 0)
		}
		want, err := graph.Floats(mean)
		require.NoError(t, err)
		var got []float64
		for _, leaf := range graph.Leaves(centre) {
			v, err := graph.Floats(leaf)
			require.NoError(t, err)
			got = append(got, v...)
		}
		require.Equal(t, want, got)
	}
}

// Seeds and the strategy's settings are inputs: another one does not compile another program, and it is used.
func TestSettingsDoNotRecompile(t *testing.T) {
	b := open(t, 1)
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 8, 5, "linear"
	first := start(t, b, c)
	require.Equal(t, xlabridge.CacheMiss, first.Profile().Cache)
	c.Seed, c.LearningRate, c.Sigma, c.SigmaDecay = 9, .5, .3, .9
	second := start(t, b, c)
	require.Equal(t, xlabridge.CacheHit, second.Profile().Cache)
	steps(t, first, 3)
	steps(t, second, 3)
	sigma := func(e *Evolution) float64 {
		s, err := e.Snapshot()
		require.NoError(t, err)
		v, err := graph.Float(s.Arrays["Strategy.Sigma"])
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
	require.Equal(t, 4, p.Tile)
	require.Equal(t, 3, p.Tiles)
	var members []int
	for tile := range p.Tiles {
		for lane := range p.Tile {
			members = append(members, e.MemberAt(tile, lane))
		}
	}
	require.Equal(t, []int{0, 1, 5, 6, 2, 3, 7, 8, 4, -1, 9, -1}, members)
}

func TestClosedRun(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 5, "linear"
	e, err := New(&xlabridge.Reference{}, c)
	require.NoError(t, err)
	require.NoError(t, e.Close())
	_, err = e.Step()
	require.EqualError(t, err, "evolve: the run was closed, or a generation failed: make a new one")
	_, err = e.Snapshot()
	require.Error(t, err)
	_, _, err = e.Best()
	require.Error(t, err)
}

func TestMeasure(t *testing.T) {
	nan := math.NaN()
	m := measure([]float64{1, 2, nan, 6}, []float64{1, 2, 3, 6})
	require.Equal(t, Metrics{BestFitness: 6, MeanFitness: 3, WorstFitness: 1, StdFitness: math.Sqrt(14. / 3), MeanLength: 3, Failed: 1}, m)
	m = measure([]float64{nan, nan}, []float64{1, 3})
	require.Equal(t, Metrics{BestFitness: math.Inf(-1), MeanFitness: math.Inf(-1), WorstFitness: math.Inf(-1), MeanLength: 2, Failed: 2}, m)
}
