package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// GRU is a gated recurrent unit (Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, in the
// form with the reset gate after the product). The weights of its gates are side by side:
//
//	r = sigmoid(x·Wx_r + h·Wh_r + B_r)
//	z = sigmoid(x·Wx_z + h·Wh_z + B_z)
//	n = tanh(x·Wx_n + B_n + r*(h·Wh_n + BN))
//	h' = (1-z)*n + z*h
type GRU struct {
	Wx        *graph.Array // [in, 3*hidden]: r, z, n
	Wh        *graph.Array // [hidden, 3*hidden]: r, z, n
	B         *graph.Array // [3*hidden]: r, z, n
	BN        *graph.Array // [hidden]
	Precision precision.Policy
}

// NewGRU makes a unit from in features to hidden features. Options: Weights, Recurrent, Bias, Precision. Parameters are
// drawn from random.SplitN(key, 8): Wx and Wh gate by gate, then B and BN.
func NewGRU(key random.Key, in, hidden int, opts ...Option) GRU {
	const op = "nn.NewGRU"
	c := readOptions(op, opts, "Weights", "Recurrent", "Bias", "Precision")
	wantSize(op, "in", in)
	wantSize(op, "hidden", hidden)
	k := random.SplitN(key, 8)
	return GRU{
		Wx:        gates(c.weights, k[:3], c.shape(in, hidden)),
		Wh:        gates(c.recurrent, k[3:6], c.shape(hidden, hidden)),
		B:         c.bias(k[6], c.shape(3*hidden)),
		BN:        c.bias(k[7], c.shape(hidden)),
		Precision: c.precision,
	}
}

// gates draws one matrix for each gate and concatenates them.
func gates(init Initializer, keys []random.Key, s graph.Shape) *graph.Array {
	var parts []*graph.Array
	for _, k := range keys {
		parts = append(parts, init(k, s))
	}
	return graph.Concatenate(-1, parts...)
}

// Hidden is the size of the state.
func (g GRU) Hidden() int { return g.BN.Dim(0) }

// Start is the state before the first step: zeros [hidden], in the parameters' type.
func (g GRU) Start() *graph.Array { return graph.ZerosLike(g.BN) }

// Step maps the state h [hidden] and an input x [in] to the next state, which keeps h's type; axes before the last one
// stay.
func (g GRU) Step(h, x *graph.Array) *graph.Array {
	return g.step(h, affine("nn.GRU", g.Precision, x, g.Wx, g.B))
}

// step is Step after the product x·Wx + B.
func (g GRU) step(h, fromX *graph.Array) *graph.Array {
	p := g.Precision
	wantLast("nn.GRU", "state h", h, g.Hidden())
	s := toCompute(p, h)
	x := graph.Split(fromX, 3, -1)
	y := graph.Split(s.Dot(toCompute(p, g.Wh)), 3, -1)
	r := Sigmoid(x[0].Add(y[0]))
	z := Sigmoid(x[1].Add(y[1]))
	n := x[2].Add(r.Mul(y[2].Add(toCompute(p, g.BN)))).Tanh()
	return graph.Sub(1, z).Mul(n).Add(z.Mul(s)).Convert(h.DType())
}

// Apply runs along time: from the state h [hidden] and inputs x [steps, in] to the last state and all states [steps,
// hidden]. The products with the inputs are one product before the loop.
func (g GRU) Apply(h, x *graph.Array) (last, states *graph.Array) {
	wantTime("nn.GRU", x)
	return graph.Scan(func(h, fromX *graph.Array) (*graph.Array, *graph.Array) {
		h = g.step(h, fromX)
		return h, toOutput(g.Precision, h)
	}, h, affine("nn.GRU", g.Precision, x, g.Wx, g.B))
}

// wantTime refuses inputs that have no time axis.
func wantTime(op string, x *graph.Array) {
	if x == nil || x.Rank() < 2 {
		graph.Throw(op, "got the inputs %v, want [steps, in]; use Step for one step", x)
	}
}
