package ppo

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/xlatest"
)

// tenths are the mean returns of each agent's episodes that ended in each of the first tenths of a run.
func tenths(t *testing.T, r *Training, n int) [][]float64 {
	t.Helper()
	updates, agents, k := int(r.config.Last()), r.config.Agents, len(r.program.metricNames())+1
	curves := make([][]float64, agents)
	for tenth := range n {
		sums, counts := make([]float64, agents), make([]float64, agents)
		for range updates*(tenth+1)/10 - updates*tenth/10 {
			v, err := r.Numbers()
			require.NoError(t, err)
			for a := range agents {
				if episodes := v[a*k+1]; episodes > 0 {
					sums[a], counts[a] = sums[a]+episodes*v[a*k+2], counts[a]+episodes
				}
			}
		}
		for a := range agents {
			curves[a] = append(curves[a], sums[a]/max(1, counts[a]))
		}
	}
	return curves
}

// mean and variance over agents of a tenth.
func momentsOfTenth(curves [][]float64, tenth int) (mean, variance float64) {
	for _, c := range curves {
		mean += c[tenth] / float64(len(curves))
	}
	for _, c := range curves {
		variance += (c[tenth] - mean) * (c[tenth] - mean) / float64(len(curves)-1)
	}
	return mean, variance
}

// The learning curve on CartPole equals that of gymnax_ppo.py (testdata/cartpole_curves.json: 20 seeds, made by
// third_party/oracles/jax_ppo_curve.py), within 3.5 standard errors of the difference in each tenth of the training. It
// may be above it near 500: gymnax_ppo.py takes the end of an episode at 500 steps for a fall, where ours takes the
// value of the next state. Half precision has the same curve.
func TestCartPoleCurve(t *testing.T) {
	long.OnlyAll(t)
	var file struct{ Curves [][]float64 }
	text, err := os.ReadFile("testdata/cartpole_curves.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	require.Len(t, file.Curves, 20)
	const reachesLimit = 450 // mean return above which many episodes end at 500 steps
	agents, n := 20, len(file.Curves[0])
	require.Equal(t, 10, n)
	b := xlatest.Open(t, 1)
	for _, precision := range []string{"f32", "bf16"} {
		c := DefaultConfig()
		c.EvalEnvs = 0
		c.Agents, c.Target, c.Precision = agents, "0", precision
		curves := tenths(t, start(t, b, c), n)
		for tenth := range n {
			want, theirs := momentsOfTenth(file.Curves, tenth)
			got, ours := momentsOfTenth(curves, tenth)
			far := 3.5 * math.Sqrt(theirs/20+max(ours, theirs)/float64(c.Agents))
			t.Logf("%s, tenth %d: %.1f ± %.1f, ours %.1f ± %.1f", precision, tenth+1, want, math.Sqrt(theirs), got,
				math.Sqrt(ours))
			require.Greater(t, got, want-far, "%s, tenth %d", precision, tenth+1)
			if want < reachesLimit {
				require.Less(t, got, want+far, "%s, tenth %d", precision, tenth+1)
			}
		}
	}
}

// paid is CartPole with other wages.
type paid struct {
	classic.CartPole
	id   string
	wage float64
}

func init() {
	envs.MustRegister[classic.CartPoleState, classic.CartPoleParams](paid{classic.CartPole{}, "Paid100-v0", 100})
	envs.MustRegister[classic.CartPoleState, classic.CartPoleParams](paid{classic.CartPole{}, "Paid10000-v0", 1e4})
}

func (e paid) Spec() envs.Spec {
	s := e.CartPole.Spec()
	s.ID, s.RewardThreshold = e.id, 0
	return s
}

func (e paid) Step(key random.Key, s classic.CartPoleState, action *graph.Array,
	p classic.CartPoleParams) (next classic.CartPoleState, obs, reward, terminated, truncated *graph.Array) {
	next, obs, reward, terminated, truncated = e.CartPole.Step(key, s, action, p)
	return next, obs, graph.Mul(reward, e.wage), terminated, truncated
}

// With PopArt the size of rewards does not matter: times 1, 1e4 and 100 the learning curves are the same within the
// noise between seeds, and values explain some of what comes. A plain head explains nothing of rewards of 1e4 by then.
func TestPopArtTakesRewardsOfAnySize(t *testing.T) {
	long.Only(t)
	b := xlatest.Open(t, 1)
	type end struct{ curve, explained float64 }
	learn := func(env, head string, wage float64) end {
		r := start(t, b, small(func(c *Config) {
			c.Env, c.Value, c.Policy, c.Agents, c.Envs, c.Horizon, c.Steps, c.LearningRate = env, head, "mlp:16", 4, 8,
				64, 8*64*24, settings.Num(3e-3)
		}))
		all := steps(t, r, 24)
		e := end{}
		for _, m := range all[14:] {
			e.curve, e.explained = e.curve+of(t, m, "mean_return")/wage/10, e.explained+of(t, m, "explained_variance")/
				10
		}
		return e
	}
	one := learn("CartPole-v1", "popart", 1)
	require.Greater(t, one.curve, 50.)
	require.Greater(t, one.explained, .1)
	for env, wage := range map[string]float64{"Paid100-v0": 100, "Paid10000-v0": 1e4} {
		other := learn(env, "popart", wage)
		require.InEpsilon(t, one.curve, other.curve, .25, env)
		t.Logf("%s: %v, CartPole %v", env, other, one)
		require.Greater(t, other.explained, .1, env)
	}
	require.Less(t, learn("Paid10000-v0", "plain", 1e4).explained, .05)
}
