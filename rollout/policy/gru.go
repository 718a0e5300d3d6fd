package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// gru is the policy "gru": a gated recurrent unit (nn.GRU: Cho et al., 2014) and a linear layer. Its carry is the
// state, f32[units].
var gru = cellKind[*graph.Array, nn.GRU, gruGates]{
	name: "gru",
	draw: func(key random.Key, inputs, units int) nn.GRU { return nn.NewGRU(key, inputs, units, cellDraws()...) },
	lay: func(l laying, c nn.GRU) gruGates {
		g := l.gatesOf(3, c.Wx, c.Wh, c.B)
		return gruGates{R: g[0], Z: g[1], N: g[2], BN: padded(c.BN, l.fill(c.BN.Dim(0)))}
	},
}

func init() { gru.register() }

// gruGates is an nn.GRU with separate gates.
type gruGates struct {
	R, Z, N gate
	BN      *graph.Array // f32[units]
}

// Start returns zeros.
func (g gruGates) Start() *graph.Array { return graph.ZerosLike(g.BN) }

// Step is nn.GRU's.
func (g gruGates) Step(h, x *graph.Array) *graph.Array {
	r, z := nn.Sigmoid(g.R.apply(x, h)), nn.Sigmoid(g.Z.apply(x, h))
	n := g.N.Wx.Times(x).Add(g.N.B)
	n = n.Add(r.Mul(g.N.Wh.Times(h).Add(g.BN))).Tanh()
	return graph.Sub(1, z).Mul(n).Add(z.Mul(h))
}
