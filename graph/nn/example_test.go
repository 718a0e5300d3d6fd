package nn_test

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Net is a custom network: a tree and a function.
type Net struct{ Hidden, Out nn.Dense }

func NewNet(key random.Key) Net {
	k1, k2 := random.Split2(key)
	return Net{
		Hidden: nn.NewDense(k1, 4, 64, nn.Weights(nn.HeNormal)),
		Out:    nn.NewDense(k2, 64, 2, nn.Weights(nn.Orthogonal(0.01)), nn.NoBias()),
	}
}

func (n Net) Apply(x *graph.Array) *graph.Array { return n.Out.Apply(nn.Relu(n.Hidden.Apply(x))) }

func Example() {
	net := NewNet(random.New(42))
	fmt.Print(nn.Summary(net))

	// The loss of one example; VMap makes it a batch's.
	loss := func(n Net, batch *graph.Array) *graph.Array {
		return graph.VMap(func(x *graph.Array) *graph.Array {
			return nn.CrossEntropy(n.Apply(x), graph.Of(1))
		})(batch).Mean()
	}
	grads := graph.Grad2(loss)(net, graph.Zeros(graph.ShapeOf(graph.Float32, 8, 4)))
	fmt.Println(grads.Hidden.W.Shape(), grads.Out.W.Shape())

	cell := nn.NewGRU(random.New(43), 2, 3) // a gated recurrent unit, whose state goes from step to step
	memory := cell.Step(cell.Start(), net.Apply(graph.Ones(graph.ShapeOf(graph.Float32, 4))))
	fmt.Println(memory.Shape())
	// Output:
	// parameter  dtype  shape   count  bytes
	// Hidden.W   f32    [4,64]    256   1024
	// Hidden.B   f32    [64]       64    256
	// Out.W      f32    [64,2]    128    512
	// total                       448   1792
	// f32[4,64] f32[64,2]
	// f32[3]
}
