package nn

import "xlarun/graph"

// RecurrentLayer is a layer with a state S that runs along time, such as LSTM, GRU and RNN.
type RecurrentLayer[S any] interface {
	Start() S
	Apply(state S, x *graph.Array) (last S, outputs *graph.Array)
}

// Bidirectional runs one layer along time and another one against it (Schuster and Paliwal, "Bidirectional recurrent
// neural networks", 1997). S is the layers' state.
//
//	nn.Bidirectional[nn.LSTMState, nn.LSTM]{nn.NewLSTM(k1, 4, 8), nn.NewLSTM(k2, 4, 8)}.Apply(x)
type Bidirectional[S any, R RecurrentLayer[S]] struct{ Forward, Backward R }

// Apply maps inputs x [steps, in] to the outputs of both layers side by side, [steps, 2*hidden].
func (b Bidirectional[S, R]) Apply(x *graph.Array) *graph.Array {
	wantTime("nn.Bidirectional", x)
	_, forward := b.Forward.Apply(b.Forward.Start(), x)
	_, backward := b.Backward.Apply(b.Backward.Start(), graph.Reverse(x, 0))
	return graph.Concatenate(1, forward, graph.Reverse(backward, 0))
}
