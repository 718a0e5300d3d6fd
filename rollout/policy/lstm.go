package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() { MustRegister("lstm", func() Maker { return &LSTMSettings{Memory{32}} }) }

// LSTMSettings are those of the policy "lstm".
type LSTMSettings struct{ Memory }

// Make makes an LSTM.
func (s *LSTMSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	r, err := newRecurrent[nn.LSTMState, nn.LSTM, lstmGates](s.Memory, observation, outputs)
	return &LSTM{r}, err
}

// LSTM is a long short-term memory (nn.LSTM: Hochreiter and Schmidhuber, 1997) and a linear layer behind it. Its
// parameters are Recurrent[nn.LSTM], its carry is an nn.LSTMState of two f32[units]. Discrete observations go in one-hot,
// boxes flat.
type LSTM struct {
	recurrent[nn.LSTMState, nn.LSTM, lstmGates]
}

// Init draws weights from the normal distribution of variance 1/in. The bias of the forget gate is 1, so that the memory
// lasts at first (Jozefowicz et al., "An empirical exploration of recurrent network architectures", 2015); others are zero.
func (l *LSTM) Init(key random.Key) any {
	return drawn(key, l.units, l.outputs, func(key random.Key) nn.LSTM {
		return nn.NewLSTM(key, l.inputs, l.units, draws(nn.ForgetBias(1))...)
	})
}

// Prepare takes the gates apart, pads layers to whole vector registers and turns the last one where it is narrow.
func (l *LSTM) Prepare(params any) any { return l.prepare(laying{}, params) }

// PrepareShared takes the gates apart.
func (l *LSTM) PrepareShared(s Shared) any { return l.prepare(layingOf(s), s.Params) }

func (l *LSTM) prepare(lay laying, params any) any {
	p := parametersOf[nn.LSTM]("LSTM.Prepare", params)
	g := lay.gatesOf(4, p.Cell.Wx, p.Cell.Wh, p.Cell.B)
	return ready[lstmGates]{lstmGates{I: g[0], F: g[1], G: g[2], O: g[3]}, lay.out(p.Out)}
}

// lstmGates is an nn.LSTM with its gates apart.
type lstmGates struct{ I, F, G, O gate }

// Start is the state before the first step: zeros.
func (l lstmGates) Start() nn.LSTMState {
	zeros := graph.ZerosLike(l.I.B)
	return nn.LSTMState{C: zeros, H: zeros}
}

// Step is nn.LSTM's. A unit that fills the layer up keeps a memory of zero: what it would write is tanh(0).
func (l lstmGates) Step(s nn.LSTMState, x *graph.Array) nn.LSTMState {
	write := graph.Mul(nn.Sigmoid(l.I.apply(x, s.H)), graph.Tanh(l.G.apply(x, s.H)))
	c := graph.Add(graph.Mul(nn.Sigmoid(l.F.apply(x, s.H)), s.C), write)
	return nn.LSTMState{C: c, H: graph.Mul(nn.Sigmoid(l.O.apply(x, s.H)), graph.Tanh(c))}
}
