package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// Dense is a fully connected layer: y = x·W + B.
type Dense struct {
	W         *graph.Array // [in, out]
	B         *graph.Array `tree:"optional"` // [out]; nil: no bias
	Precision precision.Policy
}

// NewDense makes a layer from in to out features. Options: Weights, Bias, NoBias, Precision. W is drawn from the first
// of random.Split2(key), B from the second.
func NewDense(key random.Key, in, out int, opts ...Option) Dense {
	const op = "nn.NewDense"
	c := readOptions(op, opts, "Weights", "Bias", "NoBias", "Precision")
	wantSize(op, "in", in)
	wantSize(op, "out", out)
	k1, k2 := random.Split2(key)
	d := Dense{W: c.weights(k1, c.shape(in, out)), Precision: c.precision}
	if !c.noBias {
		d.B = c.bias(k2, c.shape(out))
	}
	return d
}

// Apply maps x [in] to [out]; axes before the last one stay.
func (d Dense) Apply(x *graph.Array) *graph.Array {
	return toOutput(d.Precision, affine("nn.Dense", d.Precision, x, d.W, d.B))
}

// MLP is a multilayer perceptron: dense layers with an activation between them.
type MLP struct {
	Layers []Dense
	Hidden Activation // between layers
	Final  Activation // after the last layer; "" for none
}

// NewMLP makes layers of the given sizes, input and output included: sizes 4, 64, 2 are two layers. Options:
// Hidden, Final, Weights, Bias, NoBias, Precision. Layer i is drawn from random.FoldIn(key, i).
func NewMLP(key random.Key, sizes []int, opts ...Option) MLP {
	const op = "nn.NewMLP"
	c := readOptions(op, opts, "Hidden", "Final", "Weights", "Bias", "NoBias", "Precision")
	if len(sizes) < 2 {
		graph.Throw(op, "got sizes %v, want at least the input's and the output's", sizes)
	}
	m := MLP{Hidden: c.activation, Final: c.final}
	var dense []Option
	for _, o := range opts {
		if o.name != "Hidden" && o.name != "Final" {
			dense = append(dense, o)
		}
	}
	for i := range sizes[1:] {
		m.Layers = append(m.Layers, NewDense(random.FoldIn(key, i), sizes[i], sizes[i+1], dense...))
	}
	return m
}

// Apply maps x [in] to [out]; axes before the last one stay.
func (m MLP) Apply(x *graph.Array) *graph.Array {
	for i, l := range m.Layers {
		x = l.Apply(x)
		if i < len(m.Layers)-1 {
			x = m.Hidden.Apply(x)
		}
	}
	return m.Final.Apply(x)
}
