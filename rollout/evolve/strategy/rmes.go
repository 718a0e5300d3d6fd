package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("rmes", &RmES{Sigma: settings.Num(1), Paths: 2})
}

// RmES is the rank-m evolution strategy of Li and Zhang, "A simple yet efficient evolution strategy for large-scale
// black-box optimization" (2018): members mean + σ·y, whose noise y is stretched along a few evolution paths of earlier
// generations, and a step size that follows how the parents rank among those of the generation before. In evosax 0.3.2
// all members share the numbers along the paths, and the step size always falls, because it ranks weights and not
// fitness.
type RmES struct {
	Sigma settings.Number `set:"sigma" min:"1e-3" max:"1e8" help:"standard deviation of the noise at first"`
	Paths int             `set:"paths" min:"1" max:"64" help:"evolution paths that stretch the noise"`
}

// RmESState is the state of RmES.
type RmESState struct {
	Mean       *graph.Array // f32[n]
	Sigma      *graph.Array // f32[]: step size of the next generation
	Path       *graph.Array // f32[n]: evolution path
	Success    *graph.Array // f32[]: running mean of how far the parents' ranks rise, less the wanted 0.3
	Paths      *graph.Array // f32[Paths, n]: earlier evolution paths, the newest last
	Times      *graph.Array // i32[Paths]: their generations
	Parents    *graph.Array // f32[population/2]: fitness of the last parents, the best first; Inf before there are any
	Generation *graph.Array // i32[]: generations so far
}

// The paper's constants: rate of Success, wanted share of it, and the generations between two kept paths.
const (
	rmesRate            = .3
	rmesGoal            = .3
	rmesGap             = 20
	rmesLeast, rmesMost = 1e-3, 1e8 // bounds of the step size, evosax's
)

// rmesDraw is a member's noise: of all parameters, f32[n], and along each path, f32[Paths].
type rmesDraw struct{ Z, Along *graph.Array }

// Traits say that it ranks members.
func (*RmES) Traits() (t Traits[RmESState, *graph.Array, rmesDraw]) {
	t.LeastPopulation, t.Steady = 2, true
	return t
}

// Init starts at the genome with Sigma.
func (e *RmES) Init(mean *graph.Array, population int) RmESState {
	whole, one := graph.ShapeOf(graph.Int32), graph.ShapeOf(graph.Float32)
	return RmESState{mean, e.Sigma.Array(), graph.ZerosLike(mean), graph.Zeros(one),
		graph.Zeros(graph.ShapeOf(graph.Float32, e.Paths, mean.Dim(0))),
		graph.Zeros(graph.ShapeOf(graph.Int32, e.Paths)),
		graph.Full(graph.ShapeOf(graph.Float32, max(1, population/2)), math.Inf(1)), graph.Zeros(whole)}
}

// Sample draws both.
func (e *RmES) Sample(key random.Key, state RmESState, _ *graph.Array) rmesDraw {
	k := random.SplitN(key, 2)
	return rmesDraw{random.Normal(k[0], state.Mean.Shape()),
		random.Normal(k[1], graph.ShapeOf(graph.Float32, e.Paths))}
}

// covariance is the rate at which the paths enter the covariance.
func (*RmES) covariance(n int) float64 { return 1 / (3*math.Sqrt(float64(n)) + 5) }

// step returns y = √(1-c)^m·z + √c·Σ √(1-c)^(m-i)·r_i·p_i, i from 1 to m (equation 10).
func (e *RmES) step(s RmESState, draw rmesDraw) *graph.Array {
	c := e.covariance(s.Mean.Dim(0))
	y := graph.Mul(float32(math.Pow(1-c, float64(e.Paths)/2)), draw.Z)
	factors := make([]float32, e.Paths)
	for i := range factors {
		factors[i] = float32(math.Sqrt(c) * math.Pow(1-c, float64(e.Paths-1-i)/2))
	}
	return y.Add(graph.Float32s(factors).Mul(draw.Along).Dot(s.Paths))
}

// Member returns mean + σ·y.
func (e *RmES) Member(s RmESState, draw rmesDraw, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(e.step(s, draw)))
}

// Tell recombines the better half, and moves the path, the kept paths and the step size (algorithm 2).
func (e *RmES) Tell(s RmESState, v Evaluation, draws Draws[rmesDraw]) RmESState {
	members, n := v.Fitness.Dim(0), s.Mean.Dim(0)
	r := recombine(members, n, false)
	step := e.step(s, SumOf(draws, r.weights.apply(v.Fitness), func(d rmesDraw) rmesDraw { return d }))
	r.cPath = 2 / float64(n+7)
	path := r.follow(r.cPath, s.Path, step).Clamp(-maxDeviation, maxDeviation) // it is a part of later steps

	sorted := graph.Sort(WorstIfNaN(v.Fitness).Neg(), 0).Neg()
	parents := graph.SliceAxis(sorted, 0, 0, s.Parents.Dim(0))
	success := graph.Mul(float32(1-rmesRate), s.Success).Add(graph.Mul(float32(rmesRate),
		e.rise(r, s.Parents, parents).Sub(float32(rmesGoal))))
	sigma := s.Sigma.Mul(success.Exp()).Clamp(float32(rmesLeast), float32(rmesMost))
	next := RmESState{s.Mean.Add(s.Sigma.Mul(step)), sigma, path, success, nil, nil, parents, s.Generation.Add(1)}
	next.Paths, next.Times = e.keep(s, path)
	return next
}

// rise returns the weighted mean of how many places the parents are above those of the generation before, over their
// number: 1 if all are better (equation 12). Before there are any, it is -1, as in evosax.
func (*RmES) rise(r recombination, before, now *graph.Array) *graph.Array {
	count := now.Dim(0)
	weights := make([]float32, count)
	for place := range weights {
		weights[place] = float32(max(0, r.weights.weight(place)))
	}
	// Twice the ranks, from the worst on: the better a parent, the higher.
	twice := twiceRanks(graph.Concatenate(0, before, now)).Convert(graph.Float32)
	change := graph.SliceAxis(twice, 0, count, 2*count).Sub(graph.SliceAxis(twice, 0, 0, count))
	return graph.Float32s(weights).Dot(change).Div(float32(2 * count))
}

// keep returns the kept paths and their generations with a new path, instead of the oldest, or of the one that is
// nearest to its successor if the paths lie close together.
func (e *RmES) keep(s RmESState, path *graph.Array) (paths, times *graph.Array) {
	m := e.Paths
	first := graph.Scalar(0, graph.Int32)
	if m > 1 {
		gaps := graph.SliceAxis(s.Times, 0, 1, m).Sub(graph.SliceAxis(s.Times, 0, 0, m-1))
		apart := gaps.ReduceMin().Gt(rmesGap).Or(s.Generation.Lt(m))
		first = graph.Select(apart, 0, gaps.ArgMin(0))
	}
	moves := graph.Iota(m).Ge(first)
	paths = graph.Select(moves.ExpandDims(1), graph.Roll(s.Paths, -1, 0), s.Paths)
	times = graph.Select(moves, graph.Roll(s.Times, -1, 0), s.Times)
	last := graph.Iota(m).Eq(m - 1)
	return graph.Select(last.ExpandDims(1), path.ExpandDims(0), paths), graph.Select(last, s.Generation, times)
}

// Mean returns the mean of the distribution.
func (*RmES) Mean(state RmESState) *graph.Array { return state.Mean }
