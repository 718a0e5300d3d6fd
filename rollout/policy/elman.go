package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// elman is the policy "elman": a simple recurrent network (nn.RNN: Elman, "Finding structure in time", 1990) and a
// linear layer. The state is the tanh of a sum over the observation and the last state. Its carry is the state,
// f32[units].
var elman = cellKind[*graph.Array, nn.RNN, elmanGate]{
	name: "elman",
	draw: func(key random.Key, inputs, units int) nn.RNN { return nn.NewRNN(key, inputs, units, cellDraws()...) },
	lay:  func(l laying, c nn.RNN) elmanGate { return elmanGate{l.gatesOf(1, c.Wx, c.Wh, c.B)[0]} },
}

func init() { elman.register() }

// elmanGate is an nn.RNN as Prepare lays it out.
type elmanGate struct{ Gate gate }

// Start returns zeros.
func (e elmanGate) Start() *graph.Array { return graph.ZerosLike(e.Gate.B) }

// Step is nn.RNN's.
func (e elmanGate) Step(h, x *graph.Array) *graph.Array { return e.Gate.apply(x, h).Tanh() }
