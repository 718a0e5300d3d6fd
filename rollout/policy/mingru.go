package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// minGRU is the policy "mingru": a gated recurrent unit whose gate and candidate do not depend on its state (nn.MinGRU:
// Feng et al., "Were RNNs all we needed?", 2024), and a linear layer. Its carry is the state, f32[units].
//
// In an episode each observation depends on the last action, so steps are computed one by one. nn.MinGRU.Apply computes
// all steps at once if the observations are known, as for the gradient through recorded episodes.
var minGRU = cellKind[*graph.Array, nn.MinGRU, minGates]{
	name: "mingru",
	draw: func(key random.Key, inputs, units int) nn.MinGRU {
		return nn.NewMinGRU(key, inputs, units, nn.Weights(fanIn))
	},
	lay: func(l laying, c nn.MinGRU) minGates {
		g := l.gatesOf(2, c.W, nil, c.B)
		return minGates{Z: g[0], H: g[1]}
	},
}

func init() { minGRU.register() }

// minGates is an nn.MinGRU with separate gate and candidate.
type minGates struct{ Z, H gate }

// Start returns zeros.
func (m minGates) Start() *graph.Array { return graph.ZerosLike(m.Z.B) }

// Step is nn.MinGRU's.
func (m minGates) Step(h, x *graph.Array) *graph.Array {
	z := nn.Sigmoid(m.Z.apply(x, h))
	return graph.Sub(1, z).Mul(h).Add(z.Mul(m.H.apply(x, h)))
}
