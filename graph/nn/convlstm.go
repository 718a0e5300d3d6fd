package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// ConvLSTM is an LSTM whose states are images and whose products are convolutions, with 1 added to the forget gate
// (Shi et al., "Convolutional LSTM network: a machine learning approach for precipitation nowcasting", 2015, without
// peepholes).
type ConvLSTM struct {
	Input  Conv // [spatial…, in, 4*features]: i, g, f, o
	Hidden Conv // [spatial…, features, 4*features]
}

// NewConvLSTM makes a unit with kernels of the given sizes, one a spatial axis, from in features to features.
// Options: Weights, Bias, NoBias, Precision. Input is drawn from the first of random.Split2(key), Hidden from the
// second.
func NewConvLSTM(key random.Key, kernel []int, in, features int, opts ...Option) ConvLSTM {
	readOptions("nn.NewConvLSTM", opts, "Weights", "Bias", "NoBias", "Precision")
	wantSize("nn.NewConvLSTM", "features", features)
	k1, k2 := random.Split2(key)
	return ConvLSTM{NewConv(k1, kernel, in, 4*features, opts...), NewConv(k2, kernel, features, 4*features, opts...)}
}

// Start is the state before the first step, for images of the given dims: zeros, in the parameters' type.
func (l ConvLSTM) Start(spatial ...int) LSTMState {
	w := l.Hidden.W
	zeros := graph.Zeros(graph.ShapeOf(w.DType(), append(append([]int{}, spatial...), w.Dim(-2))...))
	return LSTMState{zeros, zeros}
}

// Step maps the state, [spatial…, features] twice, and an input x [spatial…, in] to the next state.
func (l ConvLSTM) Step(s LSTMState, x *graph.Array) LSTMState {
	gate := graph.Split(l.Input.Apply(x).Add(l.Hidden.Apply(s.H)), 4, -1)
	i, g, f, o := Sigmoid(gate[0]), gate[1].Tanh(), Sigmoid(gate[2].Add(1)), Sigmoid(gate[3])
	c := f.Mul(s.C).Add(i.Mul(g)).Convert(s.C.DType())
	return LSTMState{c, o.Mul(c.Tanh()).Convert(s.H.DType())}
}
