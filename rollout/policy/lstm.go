package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// lstm is the policy "lstm": a long short-term memory (nn.LSTM: Hochreiter and Schmidhuber, 1997) and a linear layer.
// Its carry is an nn.LSTMState of two f32[units]. The bias of the forget gate is 1 at first, so that the memory lasts
// (Jozefowicz et al., "An empirical exploration of recurrent network architectures", 2015).
var lstm = cellKind[nn.LSTMState, nn.LSTM, lstmGates]{
	name: "lstm",
	draw: func(key random.Key, inputs, units int) nn.LSTM {
		return nn.NewLSTM(key, inputs, units, cellDraws(nn.ForgetBias(1))...)
	},
	lay: func(l laying, c nn.LSTM) lstmGates {
		g := l.gatesOf(4, c.Wx, c.Wh, c.B)
		return lstmGates{I: g[0], F: g[1], G: g[2], O: g[3]}
	},
}

func init() { lstm.register() }

// lstmGates is an nn.LSTM with separate gates.
type lstmGates struct{ I, F, G, O gate }

// Start returns zeros.
func (l lstmGates) Start() nn.LSTMState {
	zeros := graph.ZerosLike(l.I.B)
	return nn.LSTMState{C: zeros, H: zeros}
}

// Step is nn.LSTM's. A unit that pads the layer keeps a memory of zero: it would write tanh(0).
func (l lstmGates) Step(s nn.LSTMState, x *graph.Array) nn.LSTMState {
	write := nn.Sigmoid(l.I.apply(x, s.H)).Mul(l.G.apply(x, s.H).Tanh())
	c := nn.Sigmoid(l.F.apply(x, s.H)).Mul(s.C).Add(write)
	return nn.LSTMState{C: c, H: nn.Sigmoid(l.O.apply(x, s.H)).Mul(c.Tanh())}
}
