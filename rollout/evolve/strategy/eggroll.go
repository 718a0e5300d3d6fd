package strategy

import (
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("eggroll", &Eggroll{LearningRate: settings.Num(.02), Sigma: settings.Num(.1),
		SigmaDecay: settings.Num(1), Rank: 1, Optimizer: eggrollAdam, Shaped: Shaped{Shaping: shapeRanks}})
}

// Eggroll is the evolution strategy of Sarkar et al., "Evolution strategies at the hyperscale" (2025, arXiv
// 2511.16652): OpenES whose noise for a matrix W, f32[a, b], is Aᵀ·B/√rank with standard normal A, [rank, a], and B,
// [rank, b], so that a pair's draw has rank·(a + b) numbers instead of a·b. Small matrices and other leaves have one
// number of noise for each of their own. Genomes are trees. Whole numbers do not change.
//
// If the policy has a policy.Form with Shared, members are not formed: a layer multiplies the mean's matrix by the
// vectors of all members of a tile at once, and adds the product with each member's A and B.
type Eggroll struct {
	antithetic
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Sigma        settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	SigmaDecay   settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
	Rank         int             `set:"rank" min:"1" max:"4096" help:"rank of the noise of a matrix"`
	Optimizer    string          `set:"optimizer" oneof:"adam,sgd" help:"optimizer of the mean: adam, or sgd, which has no state (for large members)"`
	Shaped
}

// EggrollState is the state of Eggroll.
type EggrollState struct {
	Mean   any            // the genome
	Sigma  *graph.Array   // f32[]: of the next generation
	Count  *graph.Array   // i32[]: steps so far
	Mu, Nu []*graph.Array // f32, like the mean's floating-point leaves: Adam's running means; none with sgd
}

// Values of Eggroll.Optimizer.
const (
	eggrollAdam = "adam"
	eggrollSGD  = "sgd"
)

// factors are the draw of one leaf: A and B of a matrix, or the noise itself as A.
type factors struct {
	A *graph.Array
	B *graph.Array `tree:"optional"`
}

// fewRanksOfNoise is the largest rank whose noise is a sum of elementwise products, which needs no memory of its own
// when it is added to something.
const fewRanksOfNoise = 8

// noise returns Aᵀ·B/√rank, or A.
func (f factors) noise() *graph.Array {
	if f.B == nil {
		return f.A
	}
	rank := f.A.Dim(0)
	root := float32(math.Sqrt(float64(rank)))
	if rank > fewRanksOfNoise {
		return f.A.Transpose(1, 0).Dot(f.B).Div(root)
	}
	var sum *graph.Array
	for k := range rank {
		term := f.A.Index(k).ExpandDims(1).Mul(f.B.Index(k).ExpandDims(0))
		if sum == nil {
			sum = term
		} else {
			sum = sum.Add(term)
		}
	}
	return sum.Div(root)
}

// eachFloat replaces each floating-point leaf by the result of f, in order.
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

// Traits say that it has pairs whose members share their matrices.
func (e *Eggroll) Traits() (t Traits[EggrollState, any, []factors]) {
	t.GroupSize, t.Shared = 2, e.Shared
	return t
}

// Init starts at the genome with Sigma.
func (e *Eggroll) Init(genome any, _ int) EggrollState {
	s := EggrollState{Mean: genome, Sigma: e.Sigma.Array(), Count: graph.Scalar(0, graph.Int32)}
	if e.Optimizer == eggrollSGD {
		return s
	}
	eachFloat(genome, func(_ int, x *graph.Array) *graph.Array {
		s.Mu = append(s.Mu, graph.Zeros(graph.ShapeOf(graph.Float32, x.Dims()...)))
		return x
	})
	s.Nu = s.Mu
	return s
}

// Sample draws the numbers of all floating-point leaves at once, in order: for a matrix A, then B.
func (e *Eggroll) Sample(key random.Key, state EggrollState, _ *graph.Array) []factors {
	var draws []factors
	n := 0
	eachFloat(state.Mean, func(_ int, x *graph.Array) *graph.Array {
		if d := x.Dims(); e.factored(x) {
			n += e.Rank * (d[0] + d[1])
		} else {
			n += x.Size()
		}
		return x
	})
	all := random.Normal(key, graph.ShapeOf(graph.Float32, n))
	end := 0
	next := func(dims ...int) *graph.Array {
		from := end
		end += graph.ShapeOf(graph.Float32, dims...).Size()
		return graph.SliceAxis(all, 0, from, end).Reshape(dims...)
	}
	eachFloat(state.Mean, func(_ int, x *graph.Array) *graph.Array {
		if d := x.Dims(); e.factored(x) {
			draws = append(draws, factors{next(e.Rank, d[0]), next(e.Rank, d[1])})
		} else {
			draws = append(draws, factors{A: next(d...)})
		}
		return x
	})
	return draws
}

// Member returns mean + σ·noise on side 0, mean - σ·noise on side 1.
func (e *Eggroll) Member(s EggrollState, leaves []factors, side *graph.Array) any {
	factor := s.Sigma.Mul(e.sign(side))
	return eachFloat(s.Mean, func(i int, x *graph.Array) *graph.Array {
		return x.Add(factor.Mul(leaves[i].noise())).Convert(x.DType())
	})
}

// Shared returns the member with the mean's matrices and its own factors.
func (e *Eggroll) Shared(s EggrollState, leaves []factors, side *graph.Array) policy.Shared {
	factor := s.Sigma.Mul(e.sign(side))
	m := policy.Shared{}
	floats := 0
	m.Params = graph.MapTree(func(x *graph.Array) *graph.Array {
		lowRank := policy.Factors{}
		if x.DType().IsFloat() {
			f := leaves[floats]
			floats++
			if f.B != nil && x.DType() == graph.Float32 {
				lowRank = policy.Factors{A: f.A, B: f.B, Scale: factor.Div(float32(math.Sqrt(float64(e.Rank))))}
			} else {
				x = x.Add(factor.Mul(f.noise())).Convert(x.DType())
			}
		}
		m.Factors = append(m.Factors, lowRank)
		return x
	}, s.Mean)
	return m
}

// gradient returns Σ weight·noise over the pairs for each floating-point leaf. For a matrix it is one product of the
// factors of all pairs.
func (e *Eggroll) gradient(s EggrollState, weights *graph.Array, draws Draws[[]factors]) []*graph.Array {
	root := float32(math.Sqrt(float64(e.Rank)))
	// The factors of all pairs, and the sums of other leaves.
	thin := MapOf(draws, func(leaves []factors) []factors {
		return slices.DeleteFunc(slices.Clone(leaves), func(f factors) bool { return f.B == nil })
	})
	whole := SumOf(draws, weights, func(leaves []factors) (sums []*graph.Array) {
		for _, f := range leaves {
			if f.B == nil {
				sums = append(sums, f.A)
			}
		}
		return sums
	})
	var sums []*graph.Array
	eachFloat(s.Mean, func(_ int, x *graph.Array) *graph.Array {
		if !e.factored(x) {
			sums, whole = append(sums, whole[0]), whole[1:]
			return x
		}
		weighted := thin[0].A.Mul(weights.Reshape(-1, 1, 1).Div(root)) // [pairs, rank, a]
		sums = append(sums, graph.DotGeneral(weighted.Reshape(-1, x.Dim(0)),
			thin[0].B.Reshape(-1, x.Dim(1)), nil, nil, []int{0}, []int{0}))
		thin = thin[1:]
		return x
	})
	return sums
}

// factored reports whether a leaf's noise has low rank.
func (e *Eggroll) factored(x *graph.Array) bool {
	d := x.Dims()
	return len(d) == 2 && e.Rank*(d[0]+d[1]) < d[0]*d[1]
}

// Tell follows the estimate Σ shaped fitness·noise / (population·σ) of the gradient of fitness by one step of the
// optimizer.
func (e *Eggroll) Tell(s EggrollState, v Evaluation, draws Draws[[]factors]) EggrollState {
	plus, minus := e.sides(shape(e.Shaped, e, s, v.Fitness, draws))
	scale := s.Sigma.Mul(float32(v.Fitness.Dim(0)))
	gradient := e.gradient(s, plus.Sub(minus).Div(scale), draws)
	next := EggrollState{Sigma: decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Count), Count: s.Count.Add(1)}
	next.Mean = eachFloat(s.Mean, func(i int, x *graph.Array) *graph.Array {
		if e.Optimizer == eggrollSGD {
			return x.Add(e.LearningRate.Array().Mul(gradient[i])).Convert(x.DType())
		}
		adam, update := Adam{s.Count, s.Mu[i], s.Nu[i]}.step(gradient[i], e.LearningRate.Array())
		next.Mu, next.Nu = append(next.Mu, adam.Mu), append(next.Nu, adam.Nu)
		return x.Add(update).Convert(x.DType())
	})
	return next
}

// Mean returns the mean of the distribution.
func (*Eggroll) Mean(state EggrollState) any { return state.Mean }
