package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() { MustRegister("gru", func() Maker { return &GRUSettings{Memory{32}} }) }

// GRUSettings are those of the policy "gru".
type GRUSettings struct{ Memory }

// Make makes a GRU.
func (s *GRUSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	r, err := newRecurrent[*graph.Array, nn.GRU, gruGates](s.Memory, observation, outputs)
	return &GRU{r}, err
}

// GRU is a gated recurrent unit (nn.GRU: Cho et al., 2014) and a linear layer behind it. Its parameters are
// Recurrent[nn.GRU], its carry is the state, f32[units]. Discrete observations go in one-hot, boxes flat.
type GRU struct {
	recurrent[*graph.Array, nn.GRU, gruGates]
}

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (g *GRU) Init(key random.Key) any {
	return drawn(key, g.units, g.outputs, func(key random.Key) nn.GRU { return nn.NewGRU(key, g.inputs, g.units, draws()...) })
}

// Prepare takes the gates apart, pads layers to whole vector registers and turns the last one where it is narrow.
func (g *GRU) Prepare(params any) any { return g.prepare(laying{}, params) }

// PrepareShared takes the gates apart.
func (g *GRU) PrepareShared(s Shared) any { return g.prepare(layingOf(s), s.Params) }

func (g *GRU) prepare(lay laying, params any) any {
	p := parametersOf[nn.GRU]("GRU.Prepare", params)
	c := p.Cell
	gates := lay.gatesOf(3, c.Wx, c.Wh, c.B)
	return ready[gruGates]{gruGates{R: gates[0], Z: gates[1], N: gates[2], BN: padded(c.BN, lay.fill(g.units))}, lay.out(p.Out)}
}

// gruGates is an nn.GRU with its gates apart.
type gruGates struct {
	R, Z, N gate
	BN      *graph.Array // f32[units]
}

// Start is the state before the first step: zeros.
func (g gruGates) Start() *graph.Array { return graph.ZerosLike(g.BN) }

// Step is nn.GRU's.
func (g gruGates) Step(h, x *graph.Array) *graph.Array {
	r, z := nn.Sigmoid(g.R.apply(x, h)), nn.Sigmoid(g.Z.apply(x, h))
	n := graph.Add(g.N.Wx.Times(x), g.N.B)
	n = graph.Tanh(graph.Add(n, graph.Mul(r, graph.Add(g.N.Wh.Times(h), g.BN))))
	return graph.Add(graph.Mul(graph.Sub(1, z), n), graph.Mul(z, h))
}
