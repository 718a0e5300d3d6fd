package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/third_party/oracles"
)

// A network of Spyx 1.0.0 (spyx.nn.LIF and spyx.nn.LI on JAX 0.10.2), 4 inputs, 8 and 3 neurons, a readout beside the
// latter, 50 steps: every spike is equal, potentials agree to 1e-5. testdata/spyx_lif_network.json.gz says how it was
// made.
func TestNetworkAgreesWithSpyx(t *testing.T) {
	var g struct {
		Parameters    struct{ Beta, Threshold float64 }
		W1, W2, Input [][]float32
		Hidden        [][]float32 `json:"hidden_spikes"`
		Output        [][]float32 `json:"output_spikes"`
		HiddenV       [][]float32 `json:"hidden_v"`
		OutputV       [][]float32 `json:"output_v"`
		ReadoutV      [][]float32 `json:"readout_v"`
	}
	require.NoError(t, oracles.Read("testdata/spyx_lif_network.json.gz", &g))
	l := nn.LIF{Beta: graph.Scalar(g.Parameters.Beta), Threshold: graph.Scalar(g.Parameters.Threshold)}
	readout := nn.LI{Beta: l.Beta}
	w1, w2 := graph.Of(g.W1), graph.Of(g.W2)
	type state struct{ V1, V2, VR, S1, S2 *graph.Array }
	zeros := func(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, n)) }
	_, all := graph.Scan(func(s state, x *graph.Array) (state, state) {
		s.V1, s.S1 = l.Step(s.V1, x.Dot(w1))
		arrived := s.S1.Dot(w2)
		s.V2, s.S2 = l.Step(s.V2, arrived)
		s.VR = readout.Step(s.VR, arrived)
		return s, s
	}, state{zeros(8), zeros(3), zeros(3), zeros(8), zeros(3)}, graph.Of(g.Input))
	within(t, graph.Of(g.Hidden), all.S1, 0, "hidden spikes")
	within(t, graph.Of(g.Output), all.S2, 0, "output spikes")
	within(t, graph.Of(g.HiddenV), all.V1, 1e-5, "hidden potentials")
	within(t, graph.Of(g.OutputV), all.V2, 1e-5, "output potentials")
	within(t, graph.Of(g.ReadoutV), all.VR, 1e-5, "readout")
}
