package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// learner is what learning changes.
type learner struct {
	Weights   *graph.Array // f32[parameters]
	Optimizer any
	Scale     precision.LossScale
	Updates   *graph.Array // i32[]: training steps so far
}

// rates are the numbers of a training step, f32[].
type rates struct{ Rate, L2, Value, MaxNorm *graph.Array }

// rates of an iteration: progress is the part of the run that is behind, 0 to 1.
func (c *Config) rates(progress *graph.Array) rates {
	r := rates{c.LearningRate.Array(), c.L2.Array(), c.ValueWeight.Array(), c.MaxGradNorm.Array()}
	switch c.Schedule {
	case "linear":
		r.Rate = graph.Mul(r.Rate, graph.Sub(1, progress))
	case "cosine":
		r.Rate = graph.Mul(r.Rate, graph.Mul(.5, graph.Add(1, graph.Cos(graph.Mul(progress, math.Pi)))))
	}
	return r
}

func optimizer(r rates) optim.Transform {
	return optim.Chain(optim.ClipByGlobalNorm(r.MaxNorm), optim.Adam(r.Rate))
}

func (p *program) newLearner(key random.Key) learner {
	w := p.weights.Ravel(p.network.Init(key))
	scale := precision.Static(1)
	if p.config.Precision == "float16" {
		scale = precision.Dynamic()
	}
	return learner{Weights: w, Optimizer: optimizer(p.config.rates(graph.Scalar(0))).Init(w), Scale: scale, Updates: graph.Of(int32(0))}
}

// example is what a position teaches.
type example struct {
	Observation *graph.Array
	Legal       *graph.Array // bool[actions]
	Policy      *graph.Array // f32[actions]
	Worth       *graph.Array // f32[]: to the player to move
}

// examples reads rows, u32[n, words], each as its symmetry, i32[n], shows it.
func (p *program) examples(rows, symmetry *graph.Array) example {
	e := graph.VMap(p.example)(rows)
	if p.game.symmetries.count() > 0 {
		cells, actions := p.game.symmetries.tables()
		e.Observation = permuted(e.Observation, cells, symmetry)
		e.Policy, e.Legal = permuted(e.Policy, actions, symmetry), permuted(e.Legal, actions, symmetry)
	}
	return e
}

// example reads a row.
func (p *program) example(row *graph.Array) example {
	g := p.game
	state := g.state.unpack(graph.SliceAxis(row, 0, 0, g.state.words))
	e := example{Observation: g.env.Observe(state, g.params)}
	e.Legal = graph.FullLike(graph.Iota(g.actions), 1)
	e.Legal = graph.Gt(e.Legal, 0)
	if g.parts.Masker != nil {
		e.Legal = g.parts.Masker.Legal(state, g.params)
	}
	at := g.state.words
	e.Policy = p.unpackPolicy(graph.SliceAxis(row, 0, at, at+p.policy))
	e.Worth = graph.Bitcast(graph.Index(row, p.words()-1), graph.Float32)
	return e
}

// batch are the rows of positions, i32[n]: position number n of all that the replay has.
func (p *program) batch(r replay, positions *graph.Array) *graph.Array {
	length := graph.Flatten1D(r.Length)
	until := graph.CumSum(length, 0)
	game := graph.SearchSorted(until, positions, true)
	before := graph.Sub(graph.Take(until, game, 0), graph.Take(length, game, 0))
	at := graph.Add(graph.Mul(game, p.game.moves), graph.Sub(positions, before))
	rows := graph.Reshape(r.Rows, length.Size()*p.game.moves, p.words())
	return graph.Take(rows, at, 0)
}

// drawn are the numbers of n positions and of the symmetries that show them.
func (p *program) drawn(key random.Key, n int, positions *graph.Array) (at, symmetry *graph.Array) {
	keys := random.SplitN(key, 2)
	at = random.Randint(keys[0], graph.ShapeOf(graph.Int32, n), 0, positions)
	symmetry = random.Randint(keys[1], graph.ShapeOf(graph.Int32, n), 0, max(1, p.game.symmetries.count()))
	both := graph.Barrier(at, symmetry)
	return both[0], both[1]
}

// prepared is one of a device's parts of the batch that was drawn.
func (p *program) prepared(l layout, r replay, at, symmetry, local *graph.Array) example {
	n := p.config.TrainingBatchSize / p.config.Accumulate
	first := graph.Mul(graph.Add(l.chunks.First(), local), n)
	cut := func(a *graph.Array) *graph.Array { return graph.DynamicSlice(a, []*graph.Array{first}, []int{n}) }
	return p.examples(graph.Barrier(p.batch(r, cut(at)))[0], cut(symmetry))
}

// learnFigures are the figures of training, in their order.
var learnFigures = []string{"loss", "policy_loss", "value_loss", "gradient_norm", "learning_rate", "skipped"}

// statistics of a part of a batch.
const partFigures = 3

// losses of examples along axis 0, by logits [n, actions] and values [n] in any float dtype: the cross-entropy with the searches' policies, and
// the squared error of the values, float32 scalars.
func losses(e example, logits, value *graph.Array) (policy, far *graph.Array) {
	logits, value = graph.Convert(logits, graph.Float32), graph.Convert(value, graph.Float32)
	logits = graph.Select(e.Legal, logits, illegal)
	policy = graph.Neg(graph.Mean(graph.Sum(graph.Mul(e.Policy, graph.LogSoftmax(logits, 1)), 1)))
	return policy, graph.Mean(graph.Square(graph.Sub(value, e.Worth)))
}

// illegal is the logit of an action that may not be played.
const illegal = -1e9

// part is the gradient of a part of a batch, and its figures behind it: f32[parameters + partFigures].
func (p *program) part(w *graph.Array, scale precision.LossScale, e example, r rates) *graph.Array {
	loss := func(w, observation *graph.Array) (scaled, figures *graph.Array) {
		params := precision.CastToCompute(p.precision, p.weights.Unravel(w))
		type out struct{ Logits, Value *graph.Array }
		o := graph.VMap(func(x *graph.Array) out {
			logits, v := p.network.Apply(params, x)
			return out{logits, v}
		})(observation)
		policy, far := losses(e, o.Logits, o.Value)
		l := graph.Add(policy, graph.Mul(r.Value, far))
		return scale.Scale(l), graph.Stack([]*graph.Array{l, policy, far}, 0)
	}
	_, figures, gradient := graph.ValueAndGradAux(loss)(w, precision.CastToCompute(p.precision, e.Observation))
	return graph.Concatenate(0, precision.Unscale(scale, gradient), figures)
}

// train takes so many training steps.
func (p *program) train(l layout, s learner, rp replay, key random.Key, iteration, steps, progress, parts *graph.Array) (learner, *graph.Array) {
	c := p.config
	r := c.rates(progress)
	key = random.FoldIn(key, iteration)
	size := p.weights.Size()
	positions := graph.Max(graph.Sum(rp.Length), 1)
	adam := optimizer(r)
	type loop struct {
		I       *graph.Array
		Learner learner
		Sum     *graph.Array // f32[len(learnFigures)]
	}
	end := graph.NamedWhile("steps", func(x loop) *graph.Array { return graph.Lt(x.I, steps) }, func(x loop) loop {
		at, symmetry := p.drawn(random.FoldIn(key, x.I), c.TrainingBatchSize, positions)
		part := func(local *graph.Array) *graph.Array {
			return p.part(x.Learner.Weights, x.Learner.Scale, p.prepared(l, rp, at, symmetry, local), r)
		}
		rows := population.Each(l.chunks, parts, l.chunks.Rows(graph.Float32, size+partFigures), part)
		sum := graph.Div(l.chunks.Sum(rows), c.Accumulate)
		w := x.Learner.Weights
		gradient := graph.Add(graph.SliceAxis(sum, 0, 0, size), graph.Mul(w, graph.Mul(2, r.L2)))
		norm := optim.GlobalNorm(gradient)
		finite := graph.IsFinite(norm)
		next := x.Learner
		next.Weights, next.Optimizer = optim.StepIf(finite, adam, w, gradient, x.Learner.Optimizer)
		next.Scale = x.Learner.Scale.Adjust(finite)
		next.Updates = graph.Add(x.Learner.Updates, 1)
		weight := graph.Mul(r.L2, graph.Sum(graph.Square(w)))
		f := []*graph.Array{graph.Add(graph.Index(sum, size), weight), graph.Index(sum, size+1), graph.Index(sum, size+2), norm}
		for i, a := range f {
			f[i] = graph.Select(finite, a, 0)
		}
		f = append(f, graph.Scalar(0), graph.Select(finite, 0., graph.Scalar(1)))
		return loop{graph.Add(x.I, 1), next, graph.Add(x.Sum, graph.Stack(f, 0))}
	}, loop{graph.Of(int32(0)), s, graph.Zeros(graph.ShapeOf(graph.Float32, len(learnFigures)))})
	last := len(learnFigures) - 1
	skipped := graph.Index(end.Sum, last)
	mean := graph.Div(end.Sum, graph.Max(graph.Sub(graph.Convert(steps, graph.Float32), skipped), 1))
	return end.Learner, graph.Concatenate(0, graph.SliceAxis(mean, 0, 0, last-1), graph.Reshape(r.Rate, 1), graph.Reshape(skipped, 1))
}
