package islands

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// faulty is an environment of one step whose reward is NaN in all episodes, or in two thirds of them.
type faulty struct {
	id  string
	all bool
}

func (f faulty) Spec() envs.Spec {
	return envs.Spec{ID: f.id, Observation: envs.Symmetric(1, 1), Action: envs.Discrete{N: 2}, MaxSteps: 3,
		RewardThreshold: -100}
}
func (faulty) DefaultParams() graph.None { return graph.None{} }
func (f faulty) Reset(key random.Key, _ graph.None) (state, obs *graph.Array) {
	return random.Uniform(key, graph.ShapeOf(graph.Float32), 0, 9), f.Observe(nil, graph.None{})
}
func (faulty) Observe(*graph.Array, graph.None) *graph.Array {
	return graph.Zeros(graph.ShapeOf(graph.Float32, 2))
}
func (f faulty) Step(_ random.Key, s, _ *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	least := 6.
	if f.all {
		least = 10
	}
	return s, f.Observe(s, p), graph.Select(s.Lt(least), math.NaN(), s), s.Ge(0), envs.False()
}

func init() {
	envs.MustRegister(faulty{"FaultyForMost-v0", false})
	envs.MustRegister(faulty{"FaultyForAll-v0", true})
}

// Failed members solve nothing on islands either, and a run whose members all fail ends with an error.
func TestFailedMembersSolveNothing(t *testing.T) {
	for _, env := range []string{"FaultyForMost-v0", "FaultyForAll-v0"} {
		c := smallIslands("openes")
		c.Env, c.Policy, c.Steps, c.Target = env, "linear", 3, DefaultIslands().Target
		a, err := NewArchipelago(t.Context(), &xlabridge.Reference{}, c)
		require.NoError(t, err)
		m, err := a.Step(t.Context())
		require.NoError(t, err)
		require.False(t, m.Done)
		require.Positive(t, of(t, m, "failed_members"))
		if env == "FaultyForMost-v0" {
			require.Nil(t, m.Failed)
			require.Contains(t, a.Ending(m), "members of the last generation failed")
		} else {
			require.ErrorContains(t, m.Failed(t.Context()), "member 0 of island 0: in step 1 the reward is NaN")
		}
		require.NoError(t, a.Close())
	}
}
