package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/third_party/oracles"
)

// A network of BrainPy 2.8.2 (on brainstate 0.5.4 and JAX 0.10.2), 4 inputs, 8 and 3 LIF neurons, 50 steps of 1 ms,
// with its three ways of reset: every spike is equal, potentials agree to 1e-5 mV. brainpy_lif_network.json.gz
// says how it was made. Currents there are in mA through 10 ohm, so that 1 mA lifts a potential by 10 mV at last; here
// in pA with 0.1 nS.
func TestNetworkAgreesWithBrainPy(t *testing.T) {
	var g struct {
		W1, W2, Input [][]float32
		Variants      map[string]struct {
			Hidden  [][]float32 `json:"hidden_spikes"`
			Output  [][]float32 `json:"output_spikes"`
			HiddenV [][]float32 `json:"hidden_v"`
			OutputV [][]float32 `json:"output_v"`
		}
	}
	require.NoError(t, oracles.Read("../neuron/testdata/brainpy_lif_network.json.gz", &g))
	require.Len(t, g.Variants, 3)
	for name, v := range g.Variants {
		l := neuron.Layer{DT: graph.Scalar(1), Model: neuron.LIF{C: graph.Scalar(1), GL: graph.Scalar(.1),
			EL: graph.Scalar(0), Threshold: graph.Scalar(1),
			VReset: graph.Scalar(0), Subtract: name == "state_soft"}}
		type out struct{ S1, S2, V1, V2 *graph.Array }
		type state struct{ A, B neuron.LayerState }
		w1, w2 := graph.Of(g.W1), graph.Of(g.W2)
		step := func(s neuron.LayerState, current *graph.Array) (next neuron.LayerState, spikes, seen *graph.Array) {
			before := l.Integrate(s, neuron.Arrivals{Current: current})
			next, spikes = l.Fire(before)
			if name == "dyn_hard" {
				return next, spikes, next.Neurons[0]
			}
			// BrainPy's state keeps the potential that made a spike until the next step
			return next, spikes, before.Neurons[0]
		}
		_, all := graph.Scan(func(s state, x *graph.Array) (state, out) {
			var o out
			s.A, o.S1, o.V1 = step(s.A, x.Dot(w1))
			s.B, o.S2, o.V2 = step(s.B, o.S1.Dot(w2))
			return s, o
		}, state{l.Start(8), l.Start(3)}, graph.Of(g.Input))
		require.Equal(t, floats(t, graph.Of(v.Hidden)), floats(t, all.S1), name)
		require.Equal(t, floats(t, graph.Of(v.Output)), floats(t, all.S2), name)
		for i, pair := range [][2]*graph.Array{{graph.Of(v.HiddenV), all.V1}, {graph.Of(v.OutputV), all.V2}} {
			most, _ := potentialsApart(t, pair[0], pair[1], 1)
			require.LessOrEqual(t, most, 1e-5, "%s, layer %d", name, i)
			t.Logf("%s, layer %d: potentials within %.1e mV", name, i+1, most)
		}
	}
}
