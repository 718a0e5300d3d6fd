package gradbench

import (
	"math"

	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/graph"
	"xlarun/graph/nn"
)

// glorot is a matrix or kernel of uniform numbers, its last two axes in and out.
func glorot(seed uint32, dims ...int) *graph.Array {
	n := 1
	for _, d := range dims[:len(dims)-1] {
		n *= d
	}
	return numbers.Uniform(seed, math.Sqrt(3/float64(n)), dims...)
}

func dense(seed uint32, in, out int) nn.Dense {
	return nn.Dense{W: glorot(seed, in, out), B: numbers.Uniform(seed+1, .1, out)}
}

// batch is a minibatch for a classifier: inputs [n, …] and labels [n].
type batch struct{ X, Y *graph.Array }

// meanLoss is the mean cross-entropy of an unbatched classifier over a batch.
func meanLoss[P any](net func(P, *graph.Array) *graph.Array) func(P, batch) *graph.Array {
	return func(p P, b batch) *graph.Array {
		one := func(x, y *graph.Array) *graph.Array { return nn.CrossEntropy(net(p, x), y) }
		return graph.Mean(graph.VMap2(one)(b.X, b.Y))
	}
}

// valueAndGrad is the function of a workload that is differentiated once.
func valueAndGrad[P, B any](loss func(P, B) *graph.Array) func(args []any) any {
	return func(args []any) any {
		l, g := graph.ValueAndGrad2(loss)(args[0].(P), args[1].(B))
		return Result{l, g}
	}
}

var mlp = Workload{
	Name: "mlp", What: "value and gradient of a perceptron 784-512-512-10, batch 256",
	Args: func() []any {
		net := nn.MLP{Layers: []nn.Dense{dense(1, 784, 512), dense(3, 512, 512), dense(5, 512, 10)}, Hidden: "relu"}
		return []any{net, batch{numbers.Uniform(7, 1, 256, 784), numbers.Classes(8, 10, 256)}}
	},
	Apply: valueAndGrad(meanLoss(nn.MLP.Apply)), Flops: 2 * 256 * (2*784*512 + 3*512*512 + 3*512*10),
}

// convNet is conv 3x3x16, conv 3x3x32 and a dense layer to 10 classes, over images [28, 28, 1].
type convNet struct {
	Conv1, Conv2 nn.Conv
	Out          nn.Dense
}

func newConvNet() convNet {
	return convNet{
		Conv1: nn.Conv{W: glorot(11, 3, 3, 1, 16), B: numbers.Uniform(12, .1, 16), Same: true},
		Conv2: nn.Conv{W: glorot(13, 3, 3, 16, 32), B: numbers.Uniform(14, .1, 32), Same: true},
		Out:   dense(15, 28*28*32, 10),
	}
}

func (n convNet) Apply(x *graph.Array) *graph.Array {
	x = nn.Relu(n.Conv1.Apply(x))
	x = nn.Relu(n.Conv2.Apply(x))
	return n.Out.Apply(graph.Flatten1D(x))
}

// cnnFlops is one minibatch of 128.
const cnnFlops = 2 * 128 * (28*28*9*(2*1*16+3*16*32) + 3*28*28*32*10)

var cnn = Workload{
	Flops: cnnFlops,
	Name:  "cnn", What: "value and gradient of conv 3x3x16, conv 3x3x32, dense 10 on images 28x28x1, batch 128",
	Args: func() []any {
		return []any{newConvNet(), batch{numbers.Uniform(17, 1, 128, 28, 28, 1), numbers.Classes(18, 10, 128)}}
	},
	Apply: valueAndGrad(meanLoss(convNet.Apply)),
}

var cnnScan = Workload{
	Flops: 8 * cnnFlops,
	Name:  "cnn-scan", What: "the same inside a scan over 8 minibatches of 128 with SGD", Loop: true,
	Args: func() []any {
		return []any{newConvNet(), batch{numbers.Uniform(17, 1, 8, 128, 28, 28, 1), numbers.Classes(18, 10, 8, 128)}}
	},
	Apply: func(args []any) any {
		net, losses := graph.Scan(func(net convNet, b batch) (convNet, *graph.Array) {
			l, g := graph.ValueAndGrad2(meanLoss(convNet.Apply))(net, b)
			return graph.MapTree2(func(p, d *graph.Array) *graph.Array {
				return graph.Sub(p, graph.Mul(d, .01))
			}, net, g), l
		}, args[0].(convNet), args[1].(batch))
		return Result{graph.Mean(losses), net}
	},
}

// sequences are inputs of a recurrent net [n, steps, features] and what its last state should be [n, hidden].
type sequences struct{ X, Y *graph.Array }

var gru = Workload{
	Flops: 2 * 64 * 100 * (2*64*384 + 3*128*384),
	Name:  "gru", What: "value and gradient of a GRU, 64 features, hidden 128, batch 64, 100 steps",
	Args: func() []any {
		net := nn.GRU{Wx: glorot(21, 64, 384), Wh: glorot(22, 128, 384), B: numbers.Uniform(23, .1, 384),
			BN: numbers.Uniform(24, .1, 128)}
		return []any{net, sequences{numbers.Uniform(25, 1, 64, 100, 64), numbers.Uniform(26, 1, 64, 128)}}
	},
	Apply: valueAndGrad(func(net nn.GRU, s sequences) *graph.Array {
		one := func(x, y *graph.Array) *graph.Array {
			_, states := net.Apply(net.Start(), x)
			return nn.MSE(graph.Mean(states, 0), y)
		}
		return graph.Mean(graph.VMap2(one)(s.X, s.Y))
	}),
}
