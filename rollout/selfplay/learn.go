package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// learner is the state of training.
type learner struct {
	Weights   *graph.Array // f32[parameters]
	Optimizer any
	Scale     precision.LossScale
	Updates   *graph.Array // i32[]: training steps so far
}

// rates are the hyperparameters of a training step, f32[] each.
type rates struct{ Rate, L2, Value, MaxNorm *graph.Array }

// rates returns the rates of an iteration. progress, f32[], is the part of the run that is done, 0 to 1.
func (c *Config) rates(progress *graph.Array) rates {
	r := rates{c.LearningRate.Array(), c.L2.Array(), c.ValueWeight.Array(), c.MaxGradNorm.Array()}
	switch c.Schedule {
	case "linear":
		r.Rate = r.Rate.Mul(graph.Sub(1, progress))
	case "cosine":
		r.Rate = r.Rate.Mul(graph.Mul(.5, graph.Add(1, progress.Mul(math.Pi).Cos())))
	}
	return r
}

func optimizer(r rates) optim.Transform {
	return optim.Chain(optim.ClipByGlobalNorm(r.MaxNorm), optim.Adam(r.Rate))
}

func (p *program) newLearner(key random.Key) learner {
	w := p.weights.Ravel(p.network.Init(key))
	scale := precision.Static(1)
	if p.config.Precision == "f16" {
		scale = precision.Dynamic()
	}
	return learner{Weights: w, Optimizer: optimizer(p.config.rates(graph.Scalar(0))).Init(w), Scale: scale,
		Updates: graph.Of(int32(0))}
}

// example is one position to learn from. A batch has leaves [examples, …].
type example struct {
	Observation *graph.Array
	Legal       *graph.Array // bool[actions]
	Policy      *graph.Array // f32[actions]: target
	Value       *graph.Array // f32[]: target, the return for the player to move
}

// batch is positions of the replay, each with the symmetry under which it is learned: i32[n] each.
type batch struct{ Position, Symmetry *graph.Array }

// sample draws a batch. positions, i32[], is the number of positions in the replay.
func (p *program) sample(key random.Key, positions *graph.Array) batch {
	keys := random.SplitN(key, 2)
	shape := graph.ShapeOf(graph.Int32, p.config.TrainingBatchSize)
	return graph.Once(batch{random.Randint(keys[0], shape, 0, positions),
		random.Randint(keys[1], shape, 0, max(1, p.game.symmetries.count()))})
}

// minibatch returns the examples of a part of a batch. local, i32[], is its number among this device's parts.
func (p *program) minibatch(l layout, r replay, b batch, local *graph.Array) example {
	n := p.config.TrainingBatchSize / p.config.Accumulate
	first := l.batchTiles.First().Add(local).Mul(n)
	cut := func(a *graph.Array) *graph.Array { return graph.DynamicSlice(a, []*graph.Array{first}, []int{n}) }
	return p.examples(graph.Once(p.gather(r, cut(b.Position))), cut(b.Symmetry))
}

// gather returns the rows, u32[n, words], of positions, i32[n], which are numbered through all games of the replay.
func (p *program) gather(r replay, positions *graph.Array) *graph.Array {
	length := graph.Flatten1D(r.Length)
	ends := graph.CumSum(length, 0)
	game := graph.SearchSorted(ends, positions, true)
	begin := graph.Take(ends, game, 0).Sub(graph.Take(length, game, 0))
	indices := game.Mul(p.game.moves).Add(positions.Sub(begin))
	rows := r.Rows.Reshape(length.Size()*p.game.moves, p.words())
	return graph.Take(rows, indices, 0)
}

// examples returns the examples of rows, u32[n, words], each under its symmetry, i32[n].
func (p *program) examples(rows, symmetry *graph.Array) example {
	e := graph.VMap(p.example)(rows)
	if p.game.symmetries.count() > 0 {
		cells, actions := p.game.symmetries.tables()
		e.Observation = permute(e.Observation, cells, symmetry)
		e.Policy, e.Legal = permute(e.Policy, actions, symmetry), permute(e.Legal, actions, symmetry)
	}
	return e
}

// example returns the example of a row, u32[words].
func (p *program) example(row *graph.Array) example {
	g, stateSize := p.game, p.game.stateWords()
	state := g.unpack(graph.SliceAxis(row, 0, 0, stateSize))
	e := example{Observation: g.env.Observe(state, g.params)}
	e.Legal = graph.FullLike(graph.Iota(g.actions), 1).Gt(0)
	if g.traits.Legal != nil {
		e.Legal = g.traits.Legal(state, g.params)
	}
	e.Policy = p.unpackPolicy(graph.SliceAxis(row, 0, stateSize, stateSize+p.policyWords))
	e.Value = graph.Bitcast(row.Index(p.words()-1), graph.Float32)
	return e
}

// illegalLogit is the logit of an illegal action.
const illegalLogit = -1e9

// losses returns the cross-entropy with the policy targets and the squared error of the values, f32[] each. logits are
// [n, actions], value [n], in any float dtype.
func losses(e example, logits, value *graph.Array) (policyLoss, valueLoss *graph.Array) {
	logits, value = logits.Convert(graph.Float32), value.Convert(graph.Float32)
	logits = graph.Select(e.Legal, logits, illegalLogit)
	policyLoss = e.Policy.Mul(graph.LogSoftmax(logits, 1)).Sum(1).Mean().Neg()
	return policyLoss, value.Sub(e.Value).Square().Mean()
}

// gradientMetrics is the number of metrics after the gradient: loss, policy loss and value loss.
const gradientMetrics = 3

// gradient returns the gradient of a minibatch and its metrics, f32[parameters + gradientMetrics].
func (p *program) gradient(w *graph.Array, scale precision.LossScale, e example, r rates) *graph.Array {
	loss := func(w, observation *graph.Array) (scaled, metrics *graph.Array) {
		params := precision.CastToCompute(p.precision, p.weights.Unravel(w))
		logits, value := graph.VMap(func(x *graph.Array) graph.Pair[*graph.Array, *graph.Array] {
			return graph.PairOf(p.network.Apply(params, x))
		})(observation).Unpack()
		policyLoss, valueLoss := losses(e, logits, value)
		total := policyLoss.Add(r.Value.Mul(valueLoss))
		return scale.Scale(total), graph.Stack([]*graph.Array{total, policyLoss, valueLoss}, 0)
	}
	_, metrics, gradient := graph.ValueAndGradAux(loss)(w, precision.CastToCompute(p.precision, e.Observation))
	return graph.Concatenate(0, precision.Unscale(scale, gradient), metrics)
}

// trainMetrics are the metrics of training. Only "skipped" counts skipped steps.
var trainMetrics = []string{"loss", "policy_loss", "value_loss", "gradient_norm", "learning_rate", "skipped"}

// trainStep is one training step by the mean gradient over the batch. It is skipped if the gradient is not finite. The
// metrics are f32[len(trainMetrics)]; the learning rate is 0, which train replaces.
func (p *program) trainStep(l layout, s learner, r rates, parts *graph.Array,
	minibatch func(local *graph.Array) example) (learner, *graph.Array) {
	size := p.weights.Size()
	rows := population.Each(l.batchTiles, parts, l.batchTiles.Rows(graph.Float32, size+gradientMetrics),
		func(local *graph.Array) *graph.Array { return p.gradient(s.Weights, s.Scale, minibatch(local), r) })
	mean := l.batchTiles.Sum(rows).Div(p.config.Accumulate)

	w := s.Weights
	gradient := graph.SliceAxis(mean, 0, 0, size).Add(w.Mul(graph.Mul(2, r.L2)))
	norm := optim.GlobalNorm(gradient)
	finite := norm.IsFinite()
	next := s
	next.Weights, next.Optimizer = optim.StepIf(finite, optimizer(r), w, gradient, s.Optimizer)
	next.Scale = s.Scale.Adjust(finite)
	next.Updates = s.Updates.Add(1)

	decay := r.L2.Mul(w.Square().Sum())
	metrics := []*graph.Array{mean.Index(size).Add(decay), mean.Index(size + 1), mean.Index(size + 2), norm}
	for i, a := range metrics {
		metrics[i] = graph.Select(finite, a, 0)
	}
	metrics = append(metrics, graph.Scalar(0), graph.Select(finite, 0., graph.Scalar(1)))
	return next, graph.Stack(metrics, 0)
}

// train takes training steps and returns their mean metrics, f32[len(trainMetrics)]; "skipped" is a count.
func (p *program) train(l layout, s learner, in trainInputs) (learner, *graph.Array) {
	rates := p.config.rates(in.Progress)
	key := random.FoldIn(in.Key, in.Iteration)
	positions := in.Replay.Length.Sum().Max(1)
	type loop struct {
		I       *graph.Array
		Learner learner
		Sum     *graph.Array // of metrics
	}
	start := loop{graph.Of(int32(0)), s, graph.Zeros(graph.ShapeOf(graph.Float32, len(trainMetrics)))}
	end := graph.NamedWhile("steps", func(x loop) *graph.Array { return x.I.Lt(in.Steps) }, func(x loop) loop {
		b := p.sample(random.FoldIn(key, x.I), positions)
		next, metrics := p.trainStep(l, x.Learner, rates, in.Parts, func(local *graph.Array) example {
			return p.minibatch(l, in.Replay, b, local)
		})
		return loop{x.I.Add(1), next, x.Sum.Add(metrics)}
	}, start)
	last := len(trainMetrics) - 1
	skipped := end.Sum.Index(last)
	mean := end.Sum.Div(in.Steps.Convert(graph.Float32).Sub(skipped)) // NaN if all were skipped
	return end.Learner, graph.Concatenate(0, graph.SliceAxis(mean, 0, 0, last-1), rates.Rate.Reshape(1),
		skipped.Reshape(1))
}
