package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("eggroll", func() Strategy {
		return &Eggroll{LearningRate: settings.Num(.02), Sigma: settings.Num(.1), SigmaDecay: settings.Num(1), Rank: 1, Shaped: Shaped{Shaping: shapeRanks}}
	})
}

// Eggroll is the evolution strategy of Sarkar et al., "Evolution strategies at the hyperscale" (2025, arXiv 2511.16652): OpenES
// whose noise of a matrix W, f32[a, b], is A·Bᵀ/√rank of standard normal A, [a, rank], and B, [b, rank], so that a pair's draw is
// rank·(a + b) numbers in the place of a·b. Leaves that are no matrices, and matrices too small to gain, have noise of their own
// for every number. Its genomes are trees; whole numbers stay as they are.
//
// Draws are kept as A and B alone. The members' weights are formed from them, a tile's at a time: the product of a tile's shared
// weights with its observations is not shared between the members here, as the paper's implementation shares it.
type Eggroll struct {
	antithetic
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Sigma        settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	SigmaDecay   settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
	Rank         int             `set:"rank" min:"1" max:"4096" help:"rank of the noise of a matrix"`
	Shaped
}

// EggrollState is what Eggroll remembers between generations.
type EggrollState struct {
	Mean   any            // the genome
	Sigma  *graph.Array   // f32[]: of the next generation
	Count  *graph.Array   // i32[]: steps of Adam so far
	Mu, Nu []*graph.Array // f32, like the mean's leaves that are floats: Adam's running means
}

// factors are the draw of one leaf: A and B of a matrix, or the noise itself as A.
type factors struct {
	A *graph.Array
	B *graph.Array `tree:"optional"`
}

// noise is A·Bᵀ/√rank, or A.
func (f factors) noise() *graph.Array {
	if f.B == nil {
		return f.A
	}
	return graph.Div(graph.Dot(f.A, graph.MatrixTranspose(f.B)), float32(math.Sqrt(float64(f.A.Dim(1)))))
}

// eachFloat gives each leaf that is of floats, in order, to f and puts what it returns in its place.
func eachFloat(genome any, f func(i int, x *graph.Array) *graph.Array) any {
	i := -1
	return graph.MapTree(func(x *graph.Array) *graph.Array {
		if !x.DType().IsFloat() {
			return x
		}
		i++
		return f(i, x)
	}, genome)
}

// Init starts at the genome with Sigma.
func (e *Eggroll) Init(genome any, _ int) any {
	s := EggrollState{Mean: genome, Sigma: e.Sigma.Array(), Count: graph.Zeros(graph.ShapeOf(graph.Int32))}
	eachFloat(genome, func(_ int, x *graph.Array) *graph.Array {
		s.Mu = append(s.Mu, graph.Zeros(graph.ShapeOf(graph.Float32, x.Dims()...)))
		return x
	})
	s.Nu = s.Mu
	return s
}

// Sample draws the factors of every leaf of floats, leaf i with the keys FoldIn(key, 2·i) and FoldIn(key, 2·i + 1).
func (e *Eggroll) Sample(key random.Key, state any) any {
	draws := []factors{}
	eachFloat(state.(EggrollState).Mean, func(i int, x *graph.Array) *graph.Array {
		normal := func(k int, dims ...int) *graph.Array {
			return random.Normal(random.FoldIn(key, 2*i+k), graph.ShapeOf(graph.Float32, dims...))
		}
		d := x.Dims()
		if len(d) == 2 && e.Rank*(d[0]+d[1]) < d[0]*d[1] {
			draws = append(draws, factors{normal(0, d[0], e.Rank), normal(1, d[1], e.Rank)})
		} else {
			draws = append(draws, factors{A: normal(0, d...)})
		}
		return x
	})
	return draws
}

// Member is mean + σ·noise on side 0, mean - σ·noise on side 1.
func (e *Eggroll) Member(state, draw any, side *graph.Array) any {
	s, leaves := state.(EggrollState), draw.([]factors)
	factor := graph.Mul(s.Sigma, e.sign(side))
	return eachFloat(s.Mean, func(i int, x *graph.Array) *graph.Array {
		return graph.Convert(graph.Add(x, graph.Mul(factor, leaves[i].noise())), x.DType())
	})
}

// Tell follows the estimate Σ shaped fitness·noise / (population·σ) of the gradient of fitness by one Adam step.
func (e *Eggroll) Tell(state any, v Evaluation, draws population.Draws) any {
	s := state.(EggrollState)
	plus, minus := e.sides(e.shape(e, s, v.Fitness, draws))
	sums := population.SumOf(draws, graph.Sub(plus, minus), func(leaves []factors) []*graph.Array {
		all := make([]*graph.Array, len(leaves))
		for i, f := range leaves {
			all[i] = f.noise()
		}
		return all
	})
	scale := graph.Mul(s.Sigma, float32(v.Fitness.Dim(0)))
	next := EggrollState{Sigma: decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Count), Count: graph.Add(s.Count, 1)}
	next.Mean = eachFloat(s.Mean, func(i int, x *graph.Array) *graph.Array {
		adam, update := Adam{s.Count, s.Mu[i], s.Nu[i]}.step(graph.Div(sums[i], scale), e.LearningRate.Array())
		next.Mu, next.Nu = append(next.Mu, adam.Mu), append(next.Nu, adam.Nu)
		return graph.Convert(graph.Add(x, update), x.DType())
	})
	return next
}

// Centre is the mean.
func (*Eggroll) Centre(state any) any { return state.(EggrollState).Mean }
