package main

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
)

// net is 784 pixels, a layer of LIF neurons whose time constants are learned, and leaky integrators that read it.
type net struct {
	In  nn.Dense
	LIF nn.LIF
	Out nn.Dense
	LI  nn.LI
}

func newNet(key random.Key, hidden int) net {
	k := random.SplitN(key, 3)
	return net{
		// Few pixels send at a time: weights of nine times the usual variance let neurons spike from the start.
		In:  nn.NewDense(k[0], pixels, hidden, nn.Weights(nn.VarianceScaling(9, nn.FanIn, nn.NormalDraws))),
		LIF: nn.NewLIF(k[1], hidden, nn.Spikes(nn.Surrogate{Kind: "fast-sigmoid", Slope: 5})),
		Out: nn.NewDense(k[2], hidden, classes), LI: nn.NewLI(classes),
	}
}

// apply maps one picture's spikes [steps, pixels] to logits [classes]: the mean potentials of the readout.
func (n net) apply(spikes *graph.Array) *graph.Array {
	arrives := graph.SparseDot(spikes, n.In.W).Add(n.In.B) // n.In.Apply, without the zeros
	_, hidden := n.LIF.Apply(n.LIF.Start(n.In.W.Dim(1)), arrives)
	_, read := n.LI.Apply(n.LI.Start(classes), n.Out.Apply(hidden))
	return read.Mean(0)
}

// coded are a picture's spikes [steps, pixels], by latency: one of each pixel that is not black, the brighter the
// sooner; or by rate: in each step with the pixel's brightness as the probability.
func (o options) coded(key random.Key, picture *graph.Array) *graph.Array {
	bright := picture.Convert(graph.Float32).Div(255)
	if o.code == "rate" {
		return nn.RateCode(key, bright, o.steps)
	}
	return nn.LatencyCode(bright, o.steps, .01)
}

// learner is a net with its optimizer's state and the key of its data order.
type learner struct {
	Net net
	Opt optim.State
	Key random.Key
}

// optimizer is Adam, whose rate falls to a tenth over all epochs.
func (o options) optimizer() optim.Transform {
	return optim.Adam(optim.Cosine(o.rate, o.epochs*o.batches(), .1))
}

// newLearner makes learner number i, whose draws, order of data included, follow from the seed and i alone.
func (o options) newLearner(i *graph.Array) learner {
	of := random.SplitN(random.FoldIn(random.New(o.seed), i), 2)
	n := newNet(of[0], o.hidden)
	return learner{n, o.optimizer().Init(n), of[1]}
}

// epoch takes a learner through all pictures once, in an order of its own, and gives the mean loss of the batches.
func (o options) epoch(l learner, number *graph.Array, d pictures) (learner, *graph.Array) {
	key := random.FoldIn(l.Key, number)
	order := random.Permutation(random.FoldIn(key, 0), o.train)
	batches := graph.SliceAxis(order, 0, 0, o.batches()*o.batch).Reshape(o.batches(), o.batch)
	type step struct{ Number, Batch *graph.Array }
	l, losses := graph.Scan(func(l learner, s step) (learner, *graph.Array) {
		x, y := graph.Take(d.X, s.Batch, 0), graph.Take(d.Y, s.Batch, 0)
		keys := random.Split(random.FoldIn(random.FoldIn(key, 1), s.Number), o.batch)
		spikes := graph.VMap2(o.coded)(keys, x)
		loss, g := graph.ValueAndGrad(func(n net) *graph.Array {
			return graph.VMap2(func(spikes, y *graph.Array) *graph.Array {
				return nn.CrossEntropy(n.apply(spikes), y)
			})(spikes, y).Mean()
		})(l.Net)
		l.Net, l.Opt = optim.Step(o.optimizer(), l.Net, g, l.Opt)
		return l, loss
	}, l, step{graph.Iota(o.batches()), batches})
	return l, losses.Mean()
}

// accuracy is the part of the pictures that a net tells right. They are looked at in batches, which must divide them.
func (o options) accuracy(n net, d pictures) *graph.Array {
	all := d.Y.Dim(0)
	rows := func(a *graph.Array) *graph.Array {
		return a.Reshape(append([]int{all / judged, judged}, a.Dims()[1:]...)...)
	}
	type batch struct{ Number, X, Y *graph.Array }
	type picture struct {
		Key  random.Key
		X, Y *graph.Array
	}
	_, right := graph.Scan(func(_ graph.None, b batch) (graph.None, *graph.Array) {
		keys := random.Split(random.FoldIn(random.New(o.seed), b.Number), judged)
		return graph.None{}, graph.VMap(func(p picture) *graph.Array {
			return n.apply(o.coded(p.Key, p.X)).ArgMax(0).Eq(p.Y).Convert(graph.Float32)
		})(picture{keys, b.X, b.Y})
	}, graph.None{}, batch{graph.Iota(all / judged), rows(d.X), rows(d.Y)})
	return right.Mean()
}
