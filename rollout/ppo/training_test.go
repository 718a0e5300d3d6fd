package ppo

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runtest"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func start(t *testing.T, b xlabridge.Backend, c Config) *Training {
	t.Helper()
	r, err := New(b, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

var steps, of, requireSameBytes = runtest.Steps, runtest.Number, runtest.SameBytes

// snapshotBytes returns the bytes of a run's state.
func snapshotBytes(t *testing.T, r *Training) map[string]string {
	return runtest.Bytes(t, runtest.Snapshot(t, r))
}

// small is a config that compiles and runs in little time.
func small(change func(c *Config)) Config {
	c := DefaultConfig()
	c.EvalEnvs = 0
	c.Policy, c.Envs, c.Horizon, c.Steps, c.Target = "mlp:8", 4, 16, 64*20, "0"
	if change != nil {
		change(&c)
	}
	return c
}

// Five agents learn to balance the pole for 100 steps within 41,000 steps each; gymnax_ppo.py's mean return over the
// first tenth of its 500,000 steps is 107. In the long form they have the defaults, in the short form the program of
// TestAgentsOverDevices.
func TestLearnsCartPole(t *testing.T) {
	c := crowd(2)
	if long.On() {
		c = DefaultConfig()
		c.EvalEnvs = 0
		c.Agents = 5
	}
	r := start(t, xlatest.Open(t, 2), c)
	all := steps(t, r, 80)
	require.Less(t, of(t, all[2], "recent_return"), 40.)
	last := all[len(all)-1]
	require.Greater(t, of(t, last, "recent_return"), 110.)
	require.EqualValues(t, 80*512*5, of(t, last, "env_steps"))
	require.EqualValues(t, 512*5, last.Work)
	require.EqualValues(t, 16, of(t, last, "minibatches"))
	require.InEpsilon(t, c.LearningRate.Value*(1-79./976), of(t, last, "learning_rate"), 1e-4)
	require.False(t, last.Done)
	each := recentOf(t, r)
	require.Len(t, each, 5)
	require.Greater(t, slices.Min(each), 50.)
	files, err := r.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	require.Equal(t, "agents.json", files[len(files)-1].Name)
	shown := files[len(files)-1].JSON.(map[string]any)
	for i, x := range shown["recent_return"].([]*float64) {
		require.InEpsilon(t, each[i], *x, 1e-6)
	}
	each = slices.Sorted(slices.Values(r.returns()))
	require.InEpsilon(t, (each[1]+each[2]+each[3])/3, shown["interquartile_mean"].(float64), 1e-6)
	require.Contains(t, r.Ending(last), "; interquartile mean of 5 agents ")
}

func hostBytes(t *testing.T, a *graph.Array) []byte {
	t.Helper()
	b, err := graph.HostBytes(a)
	require.NoError(t, err)
	return b
}

func recentOf(t *testing.T, r *Training) []float64 {
	t.Helper()
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	v, err := r.Unflatten(s)
	require.NoError(t, err)
	x, err := graph.Floats(v.(State).Recent.mean())
	require.NoError(t, err)
	return x
}

// starter starts a run of ppo or pqn.
type starter func(t *testing.T, b xlabridge.Backend) *Training

func ppo(change func(c *Config)) starter {
	return func(t *testing.T, b xlabridge.Backend) *Training { return start(t, b, small(change)) }
}

func pqn(change func(q *PQN)) starter {
	return func(t *testing.T, b xlabridge.Backend) *Training { return startPQN(t, b, smallPQN(change)) }
}

// A run resumes from a snapshot to the byte, with everything that a state can have, and its candidates are what play,
// export and episode.Load take.
func TestResumesToTheByte(t *testing.T) {
	b := xlatest.Open(t, 3)
	for name, c := range map[string]struct {
		start starter
		long  bool
	}{
		"plain": {ppo(nil), true},
		"all":   {ppo(sharded["all at once"].on(3)), false}, // the program of TestShardsOverDevices
		"memory": {ppo(func(c *Config) {
			c.Policy, c.TargetKL, c.EnvParam = "gru:4", settings.Num(1e-5), settings.Pairs{"gravity": "9..11"}
		}), true},
		"shared": {ppo(func(c *Config) { c.Shared, c.Value, c.Policy = true, "popart", "lstm:4" }), true},
		"pqn":    {pqn(func(q *PQN) { q.Shuffle, q.Precision = "blocks", "f16" }), true},
		"pqn all": {pqn(func(q *PQN) {
			q.NormalizeObservations, q.NormalizeRewards, q.Agents, q.Precision = true, true, 2, "f16"
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.long {
				long.Only(t)
			}
			r := c.start(t, b)
			steps(t, r, 2)
			middle, err := r.Snapshot(t.Context())
			require.NoError(t, err)
			want := steps(t, r, 2)
			last := snapshotBytes(t, r)

			other := c.start(t, b)
			require.NoError(t, other.Restore(t.Context(), middle))
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(steps(t, other, 2)))
			requireSameBytes(t, last, snapshotBytes(t, other), name)
			now, err := other.Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, r.Steps(), now.Step)
			candidates, err := other.Candidates(now)
			require.NoError(t, err)
			require.Equal(t, "last", candidates[0].Name)
			play, err := other.config.Rollout()
			if _, ok := other.program.distribution.(epsilonGreedy); ok {
				play, err = other.config.greedyRollout() // that of pqn
			}
			require.NoError(t, err)
			for _, c := range candidates { // what play, export and episode.Load want
				_, got := graph.Flatten(c.Params)
				_, want := graph.Flatten(play.Policy.Init(random.New(0)))
				require.Equal(t, want.Key(), got.Key())
				for i, a := range graph.Leaves(c.Params) {
					require.True(t, a.Shape().Equal(graph.Leaves(play.Policy.Init(random.New(0)))[i].Shape()), c.Name)
				}
			}
		})
	}
}
