// Command spiking trains eight spiking networks at once by surrogate gradients. docs/explanation/spiking.md names it.
package main

import (
	"context"
	"fmt"
	"log"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

type net struct { // snn.Sequential(nnx.Linear(4, 16), snn.LIF((16,)), nnx.Linear(16, 2), snn.LI((2,)))
	In  nn.Dense
	LIF nn.LIF
	Out nn.Dense
	LI  nn.LI
}

func newNet(key random.Key) net {
	k := random.SplitN(key, 3)
	return net{nn.NewDense(k[0], 4, 16), nn.NewLIF(k[1], 16), nn.NewDense(k[2], 16, 2), nn.NewLI(2)}
}

// apply maps spikes [steps, 4] to logits [2].
func (n net) apply(x *graph.Array) *graph.Array {
	_, spikes := n.LIF.Apply(n.LIF.Start(16), n.In.Apply(x))
	_, read := n.LI.Apply(n.LI.Start(2), n.Out.Apply(spikes))
	return graph.Mean(read, 0)
}

// member trains one net: which half of four inputs spikes more?
func member(key random.Key) *graph.Array {
	type example struct{ X, Y *graph.Array }
	draw := func(key random.Key) example {
		k := random.SplitN(key, 2)
		y := graph.Convert(random.Bernoulli(k[0], .5), graph.Int32)
		rate := graph.Select(graph.Eq(graph.Quo(graph.Iota(4), 2), y), graph.Scalar(.6), graph.Scalar(.3))
		return example{nn.RateCode(k[1], rate, 40), y}
	}
	opt := optim.Adam(1e-2)
	n := newNet(key)
	type learner struct {
		Net net
		Opt optim.State
	}
	_, right := graph.Scan(func(l learner, step *graph.Array) (learner, *graph.Array) {
		batch := graph.VMap(draw)(random.Split(random.FoldIn(key, step), 32))
		logits := func(n net) *graph.Array { return graph.VMap(n.apply)(batch.X) }
		g := graph.Grad(func(n net) *graph.Array {
			return graph.Mean(graph.VMap2(nn.CrossEntropy)(logits(n), batch.Y))
		})(l.Net)
		hits := graph.Convert(graph.Eq(graph.ArgMax(logits(l.Net), 1), batch.Y), graph.Float32)
		l.Net, l.Opt = optim.Step(opt, l.Net, g, l.Opt)
		return l, graph.Mean(hits)
	}, learner{n, opt.Init(n)}, graph.Iota(200))
	return graph.Mean(graph.SliceAxis(right, 0, 180, 200))
}

func main() {
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	run := xlabridge.Jit(client, func(keys random.Key) *graph.Array { return graph.VMap(member)(keys) })
	right, err := run(random.Split(random.New(0), 8)) // eight members, each with its own weights and data
	if err != nil {
		log.Fatal(err)
	}
	least, _ := graph.Float(graph.ReduceMin(right, 0))
	fmt.Println("all members tell 9 of 10 trains:", least > .9)
}
