package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// RNN is the simple recurrent unit (Elman, "Finding structure in time", 1990): h' = tanh(x·Wx + h·Wh + B).
type RNN struct {
	Wx         *graph.Array // [in, hidden]
	Wh         *graph.Array // [hidden, hidden]
	B          *graph.Array // [hidden]
	Activation Activation   // "tanh" by default
	Precision  precision.Policy
}

// NewRNN makes a unit from in features to hidden features. Options: Weights, Recurrent, Bias, Hidden (the activation),
// Precision. Parameters are drawn from random.SplitN(key, 3): Wx, Wh, B.
func NewRNN(key random.Key, in, hidden int, opts ...Option) RNN {
	const op = "nn.NewRNN"
	c := readOptions(op, append([]Option{Hidden("tanh")}, opts...), "Weights", "Recurrent", "Bias", "Hidden",
		"Precision")
	wantSize(op, "in", in)
	wantSize(op, "hidden", hidden)
	k := random.SplitN(key, 3)
	return RNN{Wx: c.weights(k[0], c.shape(in, hidden)), Wh: c.recurrent(k[1], c.shape(hidden, hidden)),
		B: c.bias(k[2], c.shape(hidden)), Activation: c.activation, Precision: c.precision}
}

// Start is the state before the first step: zeros [hidden], in the parameters' type.
func (r RNN) Start() *graph.Array { return graph.ZerosLike(r.B) }

// Step maps the state h [hidden] and an input x [in] to the next state, which keeps h's type; axes before the last one
// stay.
func (r RNN) Step(h, x *graph.Array) *graph.Array {
	return r.step(h, affine("nn.RNN", r.Precision, x, r.Wx, r.B))
}

// step is Step after the product x·Wx + B.
func (r RNN) step(h, fromX *graph.Array) *graph.Array {
	wantLast("nn.RNN", "state h", h, r.B.Dim(0))
	p := r.Precision
	return r.Activation.Apply(fromX.Add(toCompute(p, h).Dot(toCompute(p, r.Wh)))).Convert(h.DType())
}

// Apply runs along time: from the state h [hidden] and inputs x [steps, in] to the last state and all states [steps,
// hidden]. The products with the inputs are one product before the loop.
func (r RNN) Apply(h, x *graph.Array) (last, states *graph.Array) {
	wantTime("nn.RNN", x)
	return graph.Scan(func(h, fromX *graph.Array) (*graph.Array, *graph.Array) {
		h = r.step(h, fromX)
		return h, toOutput(r.Precision, h)
	}, h, affine("nn.RNN", r.Precision, x, r.Wx, r.B))
}
