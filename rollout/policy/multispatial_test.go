package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// twoSheets is an observation of three elements on two sheets, and two outputs.
func twoSheets() envs.Box {
	box := envs.Symmetric(1, 1, 1)
	box.Substrate = &envs.Substrate{Elements: []envs.Place{{X: .5, Y: -.25}, {X: -1, Y: .75}, {Sheet: 1, X: .25}},
		Outputs: []envs.Place{{Y: 1}, {X: -.5}}}
	return box
}

// The weights that a genome draws, in plain Go: tanh(1.2·x2 - .9·y1) for elements of the first sheet,
// tanh(1.1·distance + .4·dx - .3·dy) for those of the second, and biases tanh(.8·y2).
func TestMultispatialDraws(t *testing.T) {
	p, _, err := Make("multispatial", settings.Values{"threshold": .25}, twoSheets(),
		envs.Discrete{N: 2})
	require.NoError(t, err)
	h := NetworkOf(p).(*HyperNEAT)
	g, err := h.pattern.Genome(document(7, 3, connection{2, 7, 1.2}, connection{1, 7, -.9}, connection{6, 8, 1.1},
		connection{4, 8, .4}, connection{5, 8, -.3}, connection{3, 9, .8}))
	require.NoError(t, err)
	number := func(w float64) float64 {
		if w = math.Tanh(w); math.Abs(w) <= .25 {
			return 0
		}
		return math.Copysign((math.Abs(w)-.25)/.75*3, w)
	}
	x, substrate := []float64{.6, -.9, .3}, twoSheets().Substrate
	var want []float64
	for _, to := range substrate.Outputs {
		sum := number(.8 * to.Y)
		for i, from := range substrate.Elements {
			dx, dy := to.X-from.X, to.Y-from.Y
			w := 1.2*to.X - .9*from.Y
			if from.Sheet == 1 {
				w = 1.1*math.Sqrt(dx*dx+dy*dy) + .4*dx - .3*dy
			}
			sum += number(w) * x[i]
		}
		want = append(want, sum)
	}
	run := xlabridge.Jit2(xlatest.Open(t, 1), func(g genome.Genome, x *graph.Array) *graph.Array {
		_, out := p.Act(h.Prepare(g), graph.None{}, x, random.New(0))
		return out.Action
	})
	out, err := run(g, graph.Of(x).Convert(graph.Float32))
	require.NoError(t, err)
	require.InDeltaSlice(t, want, floats(t, out), 1e-5)
}

// The largest weight is a setting, which Box actions depend on: without hidden nodes and with a threshold of 0,
// the weights and biases, and with them the outputs, are proportional to it. The long form compiles it.
func TestMultispatialLargestWeight(t *testing.T) {
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		b = xlatest.Open(t, 1)
	}
	outputs := func(largest float64) (out []float64) {
		p, head, err := Make("multispatial", settings.Values{"threshold": 0, "largest-weight": largest}, twoSheets(),
			envs.Symmetric(1, 1))
		require.NoError(t, err)
		actions, err := xlabridge.Jit(b, func(key random.Key) *graph.Array {
			_, out := p.Act(p.Init(key), graph.None{}, graph.Float32s([]float32{.6, -.9, .3}), key)
			return head.Action(out.Action)
		})(random.New(4))
		require.NoError(t, err)
		for _, a := range floats(t, actions) {
			out = append(out, math.Atanh(a))
		}
		return out
	}
	small, double := outputs(.25), outputs(.5)
	for i := range small {
		require.NotZero(t, small[i])
		require.InDelta(t, 2*small[i], double[i], 1e-5)
	}
}

// An observation without places, other outputs than places, and too little room.
func TestMultispatialRefuses(t *testing.T) {
	for _, c := range []struct {
		observation envs.Space
		outputs     int
		values      settings.Values
		want        string
	}{
		{envs.Symmetric(1), 2, nil, `policy: got "multispatial", want an environment that says where the elements of ` +
			"its observations lie (envs.Box.Substrate), such as Forage-L1-v1: use hyperneat here"},
		{envs.Discrete{N: 3}, 2, nil, "want an environment that says where"},
		{twoSheets(), 3, nil, "want 2 outputs, one for each place in the environment's substrate: its actions need 3"},
		{twoSheets(), 2, settings.Values{"nodes": 9}, "policy.nodes: got 9, want at least 10: 7 inputs and 3 outputs"},
		{twoSheets(), 2, settings.Values{"connections": 20}, "policy.connections: got 20, want at least 21"},
	} {
		_, _, err := Make("multispatial", c.values, c.observation, envs.Discrete{N: c.outputs})
		require.ErrorContains(t, err, c.want)
	}
}
