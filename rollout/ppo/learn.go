package ppo

import (
	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/ppo/value"
)

// experience is what is learned of one step of one environment.
type experience struct {
	Observation *graph.Array
	Legal       *graph.Array `tree:"optional"`
	Draw        *graph.Array
	Key         random.Key
	First       *graph.Array // bool[]
	Target      *graph.Array // f32[]: of the value
	// What follows some algorithms have no use for.
	LogProb   *graph.Array `tree:"optional"` // f32[]: of the draw, as it was drawn
	Value     *graph.Array `tree:"optional"` // f32[]: as it was estimated
	Advantage *graph.Array `tree:"optional"` // f32[]; NaN: there is nothing to learn of it
	Counts    *graph.Array `tree:"optional"` // bool[]: there is something to learn of it
}

// sequence is the experience of one environment in all steps of an update, and what the networks remembered before them.
type sequence struct {
	Actor, Critic any
	Steps         experience // leaves [steps, …]
}

// figures are what is known of the minibatches of an update, each f32[]: sums in the loop, then means, but for those that count. Skipped are minibatches whose
// gradient is no number: they move nothing and count for nothing else.
type figures struct {
	PolicyLoss, ValueLoss, Entropy, KL, ClipFraction, GradientNorm, Minibatches, Skipped *graph.Array
}

// learner moves parameters by experience.
type learner struct {
	*network
	*numbers
	algorithm algorithm
	head      value.Head
	state     any // of the value head
	// tiles are how a minibatch is cut over devices, nil: not at all; ofDevice is the number of those of a device, i32[].
	tiles    *population.Tiles
	ofDevice *graph.Array
	// What follows is for NewSlowly.
	branch  *graph.Array // bool[]: which value head it is; nil: that was decided when the program was traced
	unfused bool         // the optimiser goes through the parameters' leaves one by one
}

// numbers are the hyper-parameters, as inputs of the program or constants, f32[].
type numbers struct {
	Rate, Gamma, Lambda, Clip, ValueClip, Entropy, Value, MaxNorm, TargetKL *graph.Array
	clipValues, stops, normalize                                            bool
}

// spread is that of a minibatch's advantages: they are taken less Mean, over Deviation.
type spread struct{ Mean, Deviation *graph.Array }

// spreadIn is that of some rows; nil where advantages are taken as they are, or there are none.
func (l *learner) spreadIn(of experiences, rows *graph.Array) *spread {
	if !l.normalize || of.advantages == nil {
		return nil
	}
	return spreadOf(of.advantages(rows))
}

// spreadOf is that of advantages f32[…], but for those that are NaN.
func spreadOf(advantages *graph.Array) *spread {
	some := graph.Not(graph.IsNaN(advantages))
	n := graph.Max(graph.Sum(graph.Convert(some, graph.Float32)), 1)
	mean := func(x *graph.Array) *graph.Array { return graph.Div(graph.Sum(graph.Select(some, x, 0.)), n) }
	middle := mean(advantages)
	return &spread{middle, graph.Add(graph.Sqrt(mean(graph.Square(graph.Sub(advantages, middle)))), 1e-8)}
}

// optimizer is the algorithm's, behind a clip of the gradient's norm.
func (l *learner) optimizer() optim.Transform {
	step := optim.Chain(optim.ClipByGlobalNorm(l.MaxNorm), l.algorithm.optimizer(l.Rate))
	if l.unfused {
		return step
	}
	return optim.Flattened(step)
}

// trained is what epochs hand from one to the next.
type trained struct {
	Params    Params
	Optimizer any
	Scale     *precision.LossScale // nil: losses are not scaled
	Figures   figures
	Epoch     *graph.Array // i32[]
	Stop      *graph.Array // bool[]: the policy has moved far enough
}

// sums are a gradient and its figures.
type sums struct {
	Gradient Params
	Figures  figures
}

// gradient is that of a minibatch whose rows i32[rows] are given, with its figures, in parts whose gradients are added up.
func (l *learner) gradient(p Params, scale *precision.LossScale, rows *graph.Array, parts int, of experiences) (Params, figures) {
	return l.partial(p, scale, rows, parts, of, l.spreadIn(of, rows))
}

// tiled is the same where a minibatch is cut: each tile of the rows is computed by itself, and what they come to, a vector of each as the layout says, is
// then what use gets to add up in order, on each device.
func (l *learner) tiled(t trained, rows *graph.Array, parts int, of experiences, use func(t trained, s sums) (trained, figures)) (trained, figures) {
	n := l.tiles.Items
	layout := population.LayoutOf(sums{t.Params, nothing()})
	mine := l.tiles.First() // within the loop it would keep the compiler from making one function of it
	type given struct {
		Params Params
		Scale  *precision.LossScale
		Rows   *graph.Array
		Local  *graph.Array
	}
	gradients := population.Each(*l.tiles, l.ofDevice, l.tiles.Rows(graph.Float32, layout.Size()), func(local *graph.Array) *graph.Array {
		in := once(given{t.Params, t.Scale, rows, local}) // what does not depend on the tile would be taken out of the loop, op by op
		cut := graph.Reshape(in.Rows, n, rows.Dim(0)/n)
		g, f := l.partial(in.Params, in.Scale, graph.DynamicIndex(cut, graph.Add(mine, in.Local), 0), parts, of, l.spreadIn(of, in.Rows))
		return layout.Ravel(sums{g, f})
	})
	all := l.tiles.PairSum(gradients)
	type both struct {
		Trained trained
		Figures figures
	}
	after := inOne(l.ofDevice, both{t, nothing()}, all, func(b both, all *graph.Array) both {
		mean := layout.Unravel(graph.Div(all, float64(n))).(sums)
		mean.Figures.Minibatches = graph.Scalar(1)
		b.Trained, b.Figures = use(b.Trained, mean)
		return b
	})
	return after.Trained, after.Figures
}

// inOne is f of what is carried and of what is given, as a loop of one turn, which the compiler makes one function: some, i32[], is a number above 0 that it does not know.
func inOne[T, G any](some *graph.Array, carry T, given G, f func(T, G) T) T {
	type loop struct {
		I     *graph.Array
		Carry T
	}
	type turn struct {
		I     *graph.Array
		Given G
	}
	zero := graph.Zeros(graph.ShapeOf(graph.Int32))
	return graph.While(func(c loop) *graph.Array { return graph.Lt(c.I, graph.Min(some, 1)) }, func(c loop) loop {
		return loop{graph.Add(c.I, 1), f(c.Carry, once(turn{c.I, given}).Given)} // behind the barrier nothing is taken out of the loop
	}, loop{zero, carry}).Carry
}

// partial is the gradient of some of a minibatch's rows, in parts whose gradients are added up, with the means of their figures.
func (l *learner) partial(p Params, scale *precision.LossScale, rows *graph.Array, parts int, of experiences, by *spread) (Params, figures) {
	one := func(rows *graph.Array) (Params, figures) {
		loss := of.loss(once(rows), by)
		_, f, gradient := graph.ValueAndGradAux(func(p Params, _ graph.None) (*graph.Array, figures) {
			total, f := loss(p)
			if scale != nil {
				total = scale.Scale(total)
			}
			return total, f
		})(p, graph.None{})
		if scale != nil {
			gradient = precision.Unscale(*scale, gradient)
		}
		return gradient, f
	}
	if parts == 1 {
		return one(rows)
	}
	add := func(sum, x *graph.Array) *graph.Array { return graph.Add(sum, graph.Div(x, float64(parts))) }
	rows = graph.Reshape(rows, parts, rows.Dim(0)/parts)
	zero := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Zeros(a.Shape()) }, sums{p, nothing()})
	all, _ := graph.Scan(func(sum sums, rows *graph.Array) (sums, graph.None) {
		g, f := one(rows)
		return graph.MapTree2(add, sum, sums{g, f}), graph.None{}
	}, zero, rows, graph.LoopName(partsLoop))
	all.Figures.Minibatches = graph.Scalar(1)
	return all.Gradient, all.Figures
}

// nothing are figures of no minibatch.
func nothing() figures {
	zero := graph.Scalar(0)
	return figures{zero, zero, zero, zero, zero, zero, zero, zero}
}

// epochs goes through the experience several times, by minibatches in an order of each epoch's own, each in parts.
func (l *learner) epochs(key random.Key, first trained, epochs, minibatches, parts int, of experiences) trained {
	rows := of.rows
	orders := graph.VMap(func(key random.Key) *graph.Array { return random.Permutation(key, rows) })(once(random.Split(key, epochs)))
	orders = once(graph.Reshape(orders, epochs, minibatches, rows/minibatches))
	adam := l.optimizer()
	move := func(t trained, s sums) (trained, figures) {
		gradient, f := s.Gradient, s.Figures
		f.GradientNorm = optim.GlobalNorm(optim.Joined(gradient)) // as the optimiser has it
		learns := graph.IsFinite(f.GradientNorm)
		t.Params, t.Optimizer = optim.StepIf(learns, adam, t.Params, gradient, t.Optimizer)
		f = graph.MapTree(func(x *graph.Array) *graph.Array { return graph.Select(learns, x, 0.) }, f)
		f.Skipped = graph.Select(learns, 0., graph.Scalar(1))
		if t.Scale != nil {
			next := t.Scale.Adjust(learns)
			t.Scale = &next
		}
		t.Figures = graph.MapTree2(func(sum, x *graph.Array) *graph.Array { return graph.Add(sum, x) }, t.Figures, f)
		return t, f
	}
	step := func(t trained, rows *graph.Array) (trained, figures) {
		if l.tiles != nil && l.tiles.Items > 1 {
			return l.tiled(t, rows, parts, of, move)
		}
		g, f := l.gradient(t.Params, t.Scale, rows, parts, of)
		return move(t, sums{g, f})
	}
	epoch := func(t trained, order *graph.Array) trained {
		t, each := graph.Scan(step, t, order, graph.LoopName(minibatchesLoop))
		t.Epoch = graph.Add(t.Epoch, 1)
		if l.stops {
			t.Stop = graph.Gt(graph.Sum(each.KL), graph.Mul(l.TargetKL, graph.Sum(each.Minibatches))) // those that were skipped say nothing
		}
		return t
	}
	first.Figures, first.Epoch, first.Stop = nothing(), graph.Zeros(graph.ShapeOf(graph.Int32)), graph.Zeros(graph.ShapeOf(graph.Bool))
	var last trained
	if l.stops {
		last = graph.NamedWhile(epochsLoop, func(t trained) *graph.Array {
			return graph.And(graph.Lt(t.Epoch, epochs), graph.Not(t.Stop))
		}, func(t trained) trained { return epoch(t, graph.DynamicIndex(orders, t.Epoch, 0)) }, first)
	} else {
		last, _ = graph.Scan(func(t trained, order *graph.Array) (trained, graph.None) { return epoch(t, order), graph.None{} }, first, orders, graph.LoopName(epochsLoop))
	}
	n := graph.Max(last.Figures.Minibatches, 1)
	means := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Div(a, n) }, last.Figures)
	means.Minibatches, means.Skipped = last.Figures.Minibatches, last.Figures.Skipped
	last.Figures = means
	return last
}

// Names of loops.
const (
	epochsLoop      = "epochs"
	minibatchesLoop = "minibatches"
	partsLoop       = "parts"
)
