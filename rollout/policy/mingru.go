package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() { MustRegister("mingru", func() Maker { return &MinGRUSettings{Memory{32}} }) }

// MinGRUSettings are those of the policy "mingru".
type MinGRUSettings struct{ Memory }

// Make makes a MinGRU.
func (s *MinGRUSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	r, err := newRecurrent[*graph.Array, nn.MinGRU, minGates](s.Memory, observation, outputs)
	return &MinGRU{r}, err
}

// MinGRU is a gated recurrent unit whose gate and candidate do not look at its state (nn.MinGRU: Feng et al., "Were RNNs
// all we needed?", 2024), and a linear layer behind it. Its parameters are Recurrent[nn.MinGRU], its carry is the state,
// f32[units]. Discrete observations go in one-hot, boxes flat.
//
// In an episode one observation follows from the action before, so that steps are taken one by one. Where the
// observations are there already, as for a gradient through recorded episodes, nn.MinGRU.Apply computes all steps at once.
type MinGRU struct {
	recurrent[*graph.Array, nn.MinGRU, minGates]
}

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (m *MinGRU) Init(key random.Key) any {
	return drawn(key, m.units, m.outputs, func(key random.Key) nn.MinGRU {
		return nn.NewMinGRU(key, m.inputs, m.units, nn.Weights(fanIn))
	})
}

// Prepare takes gate and candidate apart, pads layers to whole vector registers and turns the last one where it is narrow.
func (m *MinGRU) Prepare(params any) any { return m.prepare(laying{}, params) }

// PrepareShared takes gate and candidate apart.
func (m *MinGRU) PrepareShared(s Shared) any { return m.prepare(layingOf(s), s.Params) }

func (m *MinGRU) prepare(lay laying, params any) any {
	p := parametersOf[nn.MinGRU]("MinGRU.Prepare", params)
	g := lay.gatesOf(2, p.Cell.W, nil, p.Cell.B)
	return ready[minGates]{minGates{Z: g[0], H: g[1]}, lay.out(p.Out)}
}

// minGates is an nn.MinGRU with gate and candidate apart.
type minGates struct{ Z, H gate }

// Start is the state before the first step: zeros.
func (m minGates) Start() *graph.Array { return graph.ZerosLike(m.Z.B) }

// Step is nn.MinGRU's.
func (m minGates) Step(h, x *graph.Array) *graph.Array {
	z := nn.Sigmoid(m.Z.apply(x, h))
	return graph.Add(graph.Mul(graph.Sub(1, z), h), graph.Mul(z, m.H.apply(x, h)))
}
