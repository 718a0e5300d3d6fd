package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// LSTM is a long short-term memory (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000). The
// weights of its gates are side by side:
//
//	i, f, o = sigmoid(x·Wx + h·Wh + B), g = tanh(x·Wx + h·Wh + B)
//	c' = f*c + i*g
//	h' = o*tanh(c')
type LSTM struct {
	Wx        *graph.Array // [in, 4*hidden]: i, f, g, o
	Wh        *graph.Array // [hidden, 4*hidden]: i, f, g, o
	B         *graph.Array // [4*hidden]: i, f, g, o
	Precision precision.Policy
}

// LSTMState is the cell state and the output of an LSTM.
type LSTMState struct{ C, H *graph.Array } // [hidden] each

// NewLSTM makes a unit from in features to hidden features. Options: Weights, Recurrent, Bias, ForgetBias, Precision.
// Parameters are drawn from random.SplitN(key, 9): Wx and Wh gate by gate, then B.
func NewLSTM(key random.Key, in, hidden int, opts ...Option) LSTM {
	const op = "nn.NewLSTM"
	c := readOptions(op, opts, "Weights", "Recurrent", "Bias", "ForgetBias", "Precision")
	wantSize(op, "in", in)
	wantSize(op, "hidden", hidden)
	k := random.SplitN(key, 9)
	l := LSTM{
		Wx:        gates(c.weights, k[:4], c.shape(in, hidden)),
		Wh:        gates(c.recurrent, k[4:8], c.shape(hidden, hidden)),
		B:         c.bias(k[8], c.shape(4*hidden)),
		Precision: c.precision,
	}
	if c.forgetBias != 0 {
		zeros := graph.Zeros(c.shape(hidden))
		l.B = l.B.Add(graph.Concatenate(0, zeros, graph.FullLike(zeros, c.forgetBias), zeros, zeros))
	}
	return l
}

// Hidden is the size of the state.
func (l LSTM) Hidden() int { return l.Wh.Dim(0) }

// Start is the state before the first step: zeros, in the parameters' type.
func (l LSTM) Start() LSTMState {
	zeros := graph.Zeros(graph.ShapeOf(l.Wh.DType(), l.Hidden()))
	return LSTMState{zeros, zeros}
}

// Step maps the state and an input x [in] to the next state, which keeps the state's type; axes before the last one
// stay.
func (l LSTM) Step(s LSTMState, x *graph.Array) LSTMState {
	return l.step(s, affine("nn.LSTM", l.Precision, x, l.Wx, l.B))
}

// step is Step after the product x·Wx + B.
func (l LSTM) step(s LSTMState, fromX *graph.Array) LSTMState {
	p := l.Precision
	wantLast("nn.LSTM", "state H", s.H, l.Hidden())
	wantLast("nn.LSTM", "state C", s.C, l.Hidden())
	gate := graph.Split(fromX.Add(toCompute(p, s.H).Dot(toCompute(p, l.Wh))), 4, -1)
	i, f, g, o := Sigmoid(gate[0]), Sigmoid(gate[1]), gate[2].Tanh(), Sigmoid(gate[3])
	// The cell state accumulates over time, so it keeps its own type.
	c := f.Mul(s.C).Add(i.Mul(g)).Convert(s.C.DType())
	return LSTMState{c, o.Mul(c.Tanh()).Convert(s.H.DType())}
}

// Apply runs along time: from a state and inputs x [steps, in] to the last state and all outputs H [steps, hidden].
// The products with the inputs are one product before the loop.
func (l LSTM) Apply(s LSTMState, x *graph.Array) (last LSTMState, outputs *graph.Array) {
	wantTime("nn.LSTM", x)
	return graph.Scan(func(s LSTMState, fromX *graph.Array) (LSTMState, *graph.Array) {
		s = l.step(s, fromX)
		return s, toOutput(l.Precision, s.H)
	}, s, affine("nn.LSTM", l.Precision, x, l.Wx, l.B))
}
