package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() { MustRegister("elman", func() Maker { return &ElmanSettings{Memory{32}} }) }

// ElmanSettings are those of the policy "elman".
type ElmanSettings struct{ Memory }

// Make makes an Elman.
func (s *ElmanSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	r, err := newRecurrent[*graph.Array, nn.RNN, elmanGate](s.Memory, observation, outputs)
	return &Elman{r}, err
}

// Elman is a simple recurrent network (nn.RNN: Elman, "Finding structure in time", 1990): the state is the tanh of a sum
// over the observation and the state before, and a linear layer reads it. Its parameters are Recurrent[nn.RNN], its carry
// is the state, f32[units]. Discrete observations go in one-hot, boxes flat.
type Elman struct {
	recurrent[*graph.Array, nn.RNN, elmanGate]
}

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (e *Elman) Init(key random.Key) any {
	return drawn(key, e.units, e.outputs, func(key random.Key) nn.RNN { return nn.NewRNN(key, e.inputs, e.units, draws()...) })
}

// Prepare pads layers to whole vector registers and turns the last one where it is narrow.
func (e *Elman) Prepare(params any) any { return e.prepare(laying{}, params) }

// PrepareShared takes the layers as they are.
func (e *Elman) PrepareShared(s Shared) any { return e.prepare(layingOf(s), s.Params) }

func (e *Elman) prepare(lay laying, params any) any {
	p := parametersOf[nn.RNN]("Elman.Prepare", params)
	return ready[elmanGate]{elmanGate{lay.gatesOf(1, p.Cell.Wx, p.Cell.Wh, p.Cell.B)[0]}, lay.out(p.Out)}
}

// elmanGate is an nn.RNN as Prepare lays it out.
type elmanGate struct{ Gate gate }

// Start is the state before the first step: zeros.
func (e elmanGate) Start() *graph.Array { return graph.ZerosLike(e.Gate.B) }

// Step is nn.RNN's.
func (e elmanGate) Step(h, x *graph.Array) *graph.Array { return graph.Tanh(e.Gate.apply(x, h)) }
