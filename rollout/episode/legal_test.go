package episode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// turnstile has three actions, one of which is illegal in each step and costs 100. The reward is the action's number.
type turnstile struct{}

func (turnstile) Spec() envs.Spec {
	return envs.Spec{ID: "Turnstile-v0", Observation: envs.Symmetric(1), Action: envs.Discrete{N: 3}, MaxSteps: 9,
		LegalMask: true}
}
func (turnstile) DefaultParams() graph.None { return graph.None{} }
func (e turnstile) Reset(random.Key, graph.None) (state, obs *graph.Array) {
	return envs.Steps(0), e.Observe(nil, graph.None{})
}
func (turnstile) Observe(*graph.Array, graph.None) *graph.Array {
	return graph.Zeros(graph.ShapeOf(graph.Float32, 1))
}
func (turnstile) Legal(s *graph.Array, _ graph.None) *graph.Array {
	return graph.Iota(3).Ne(s.Rem(3))
}
func (e turnstile) Step(_ random.Key, s, action *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	illegal := action.Eq(s.Rem(3))
	return s.Add(1), e.Observe(s, p), graph.Select(illegal, -100., action.Convert(graph.Float32)),
		envs.False(), envs.False()
}

// Members play only legal actions, in an episode, in a population's evaluation and in a recording.
func TestMembersPlayLegalActions(t *testing.T) {
	env := envs.Erase(turnstile{})
	p, h, err := policy.Make("linear", nil, env.Spec().Observation, env.Spec().Action)
	require.NoError(t, err)
	r := &Rollout{Env: env, Policy: p, Head: h, Steps: 6, Episodes: 1}
	for _, c := range []struct {
		number int
		biases []float32 // the outputs
		want   float64
	}{
		{1, []float32{0, 1, 2}, 2 + 2 + 1 + 2 + 2 + 1},
		{2, []float32{2, 1, 0}, 1 + 0 + 0 + 1 + 0 + 0},
	} {
		params := p.Init(random.New(1)).(policy.Params)
		params.Layers[0].B = graph.Float32s(c.biases)
		require.Equal(t, []float64{c.want}, floats(t, r.Member(params, random.New(2)).Return), "case %d", c.number)
		film, err := Record(&xlabridge.Reference{}, r, params, random.New(2))
		require.NoError(t, err)
		require.Equal(t, c.want, film.Return(film.Length), "case %d", c.number)
	}
}
