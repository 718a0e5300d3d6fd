// Command spikingmnist trains spiking networks on MNIST by surrogate gradients: pictures become spike trains of 28 x 28
// pixels and T steps, an epoch of all members is one compiled program. One net learns to tell 97 % of the test
// pictures; with -members 64 a population does at once, to 95 % in the mean, each member with weights and an order of
// the data of its own.
//
//	go run ./examples/spikingmnist
//	go run ./examples/spikingmnist -members 64 -hidden 64 -epochs 2
//
// MNIST is fetched on first use (11 MB).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/rollout/dataset"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

const (
	pixels, classes = 28 * 28, 10

	judged = 100 // pictures in a batch of the judge's
)

type options struct {
	members, hidden, steps, epochs, batch int
	rate                                  float64
	seed                                  int64
	code                                  string
	train, test                           int // pictures
}

// batches is the number of them in an epoch.
func (o options) batches() int { return o.train / o.batch }

// pictures are X, u8[n, pixels], and what they show, Y, i32[n].
type pictures struct{ X, Y *graph.Array }

func main() {
	o := options{train: 60000, test: 10000}
	flag.IntVar(&o.members, "members", 1, "nets that learn at once")
	flag.IntVar(&o.hidden, "hidden", 128, "spiking neurons")
	flag.IntVar(&o.steps, "steps", 10, "steps of a spike train")
	flag.IntVar(&o.epochs, "epochs", 4, "times through all pictures")
	flag.IntVar(&o.batch, "batch", 100, "pictures in a batch")
	flag.Float64Var(&o.rate, "rate", 3e-3, "Adam's learning rate at first")
	flag.Int64Var(&o.seed, "seed", 0, "of all draws")
	flag.StringVar(&o.code, "code", "latency", "latency or rate")
	flag.Parse()
	if _, err := o.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "spikingmnist:", err)
		os.Exit(1)
	}
}

func (o options) check() error {
	for _, s := range []struct {
		name     string
		got, max int
	}{{"members", o.members, 1 << 20}, {"hidden", o.hidden, 1 << 20}, {"steps", o.steps, 1 << 16},
		{"epochs", o.epochs, 1 << 20}, {"batch", o.batch, o.train}} {
		if s.got < 1 || s.got > s.max {
			return fmt.Errorf("-%s got %d, wants a whole number from 1 to %d", s.name, s.got, s.max)
		}
	}
	if o.code != "latency" && o.code != "rate" {
		return fmt.Errorf("-code got %q, wants latency or rate", o.code)
	}
	if !(o.rate > 0) {
		return fmt.Errorf("-rate got %v, wants a number above 0", o.rate)
	}
	return nil
}

// result is what a run came to.
type result struct {
	losses   []float64 // of each epoch, the members' mean
	accuracy []float64 // of each member, on the test pictures
}

// run trains and judges all members.
func (o options) run(ctx context.Context, out io.Writer) (r result, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	dir, err := dataset.Folder(ctx, "mnist", dataset.Request{})
	if err != nil {
		return r, err
	}
	mnist, err := sparse.ReadIDX(dir)
	if err != nil {
		return r, err
	}
	client, err := xlabridge.Open(ctx, xlabridge.Options{Backend: "cpu"})
	if err != nil {
		return r, err
	}
	defer func() { _ = client.Close() }()
	set, err := xlabridge.Put(client, 1, struct{ Train, Test pictures }{o.pictures(mnist.Train, o.train),
		o.pictures(mnist.Test, o.test)})
	if err != nil {
		return r, err
	}
	fmt.Fprintf(out, "%d x %d-%d-%d LIF, %d steps, %s code, %d pictures, batches of %d\n", o.members, pixels, o.hidden,
		classes, o.steps, o.code, o.train, o.batch)

	start := xlabridge.Jit(client, func(members *graph.Array) learner { return graph.VMap(o.newLearner)(members) })
	type state struct {
		Learner learner
		Loss    *graph.Array
	}
	type input struct {
		Learner  learner
		Number   *graph.Array
		Pictures pictures
	}
	epoch := xlabridge.Jit(client, func(in input) state {
		return graph.VMap(func(l learner) state {
			l, loss := o.epoch(l, in.Number, in.Pictures)
			return state{l, loss}
		})(in.Learner)
	})
	judge := xlabridge.Jit2(client, func(n net, d pictures) *graph.Array {
		return graph.VMap(func(n net) *graph.Array { return o.accuracy(n, d) })(n)
	})

	l, err := start(graph.Iota(o.members))
	if err != nil {
		return r, err
	}
	begin := time.Now()
	for i := range o.epochs {
		s, err := epoch(input{l, graph.Of(int32(i)), set.Train})
		if err != nil {
			return r, err
		}
		l = s.Learner
		losses, err := graph.Floats(s.Loss)
		if err != nil {
			return r, err
		}
		right, err := judge(l.Net, set.Test)
		if err != nil {
			return r, err
		}
		if r.accuracy, err = graph.Floats(right); err != nil {
			return r, err
		}
		r.losses = append(r.losses, mean(losses))
		fmt.Fprintf(out, "epoch %d: loss %.4f, %s of the test pictures told right, %.1f s\n", i+1, mean(losses),
			percent(r.accuracy), time.Since(begin).Seconds())
	}
	return r, nil
}

// pictures are the first n of a set.
func (o options) pictures(m sparse.Images, n int) pictures {
	m = m.Head(n)
	labels := make([]int32, m.Len())
	for i, y := range m.Labels {
		labels[i] = int32(y)
	}
	return pictures{graph.FromBytes(graph.ShapeOf(graph.Uint8, m.Len(), pixels), m.Data), graph.Int32s(labels)}
}

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// percent says how much the members tell right.
func percent(accuracy []float64) string {
	if len(accuracy) == 1 {
		return fmt.Sprintf("%.2f %%", 100*accuracy[0])
	}
	return fmt.Sprintf("%.2f %% (mean; least %.2f, most %.2f)", 100*mean(accuracy), 100*slices.Min(accuracy),
		100*slices.Max(accuracy))
}
