package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	MustRegister("nres", &NRES{unrolled{gaussian: defaultGaussian(),
		Shaped: Shaped{Shaping: shapeRanks}, Generations: 10}})
}

// NRES is the noise-reuse evolution strategy of Li et al., "Noise-reuse in online evolution strategies" (2023), with
// the formulas of evosax 0.3.2: OpenES whose pairs keep their noise for some generations. It was made for members that
// play a part of their episode in each generation. Here each generation plays whole episodes.
type NRES struct{ unrolled }

// unrolled is shared by NRES and PES, whose noise belongs to several generations.
type unrolled struct {
	gaussian
	Shaped
	Generations int `set:"unrolls" min:"1" max:"1000000" help:"generations of one history of noise: parts of an episode in the paper"`
}

// UnrolledState is the state of NRES and PES.
type UnrolledState struct {
	Search     GaussianState
	Noise      *graph.Array // f32[pairs, n]: of the last generation, or summed up since the history began
	Generation *graph.Array // i32[]: generations so far
}

// Traits say that it has pairs, keeps their noise and takes immigrants.
func (e *unrolled) Traits() (t Traits[UnrolledState, *graph.Array, *graph.Array]) {
	t.GroupSize, t.Immigrant = 2, e.Immigrant
	t.Keeps = func(population int) int { return population / 2 } // the noise of each pair
	return t
}

// Init starts at the genome with Sigma, without noise.
func (e *unrolled) Init(genome *graph.Array, population int) UnrolledState {
	s := e.gaussian.Init(genome, population)
	return UnrolledState{s, graph.Zeros(graph.ShapeOf(graph.Float32, population/2, s.Mean.Dim(0))),
		graph.Scalar(0, graph.Int32)}
}

// Sample draws z.
func (*unrolled) Sample(key random.Key, state UnrolledState, _ *graph.Array) *graph.Array {
	return random.Normal(key, state.Search.Mean.Shape())
}

// Member returns mean + σ·z on side 0, mean - σ·z on side 1.
func (e *unrolled) Member(state UnrolledState, noise, side *graph.Array) *graph.Array {
	return e.gaussian.Member(state.Search, noise, side)
}

// Mean returns the mean of the distribution.
func (*unrolled) Mean(state UnrolledState) *graph.Array { return state.Search.Mean }

// Immigrant is (genome - mean)/σ.
func (e *unrolled) Immigrant(state UnrolledState, genome *graph.Array) *graph.Array {
	return e.gaussian.Immigrant(state.Search, genome)
}

// turn returns the number of a generation in its history, i32[].
func (e *unrolled) turn(s UnrolledState) *graph.Array { return s.Generation.Rem(e.Generations) }

// Sample draws z when a history begins, and else repeats that of the pair.
func (e *NRES) Sample(key random.Key, s UnrolledState, pair *graph.Array) *graph.Array {
	return graph.Select(e.turn(s).Eq(0), e.unrolled.Sample(key, s, pair), graph.Take(s.Noise, pair, 0))
}

// Tell makes one step of Adam along Σ shaped fitness·z / (population·σ).
func (e *NRES) Tell(s UnrolledState, v Evaluation, noise Draws[*graph.Array]) UnrolledState {
	plus, minus := e.sides(shape(e.Shaped, e, s, v.Fitness, noise))
	all := noise.All()
	gradient := plus.Sub(minus).Dot(all).Div(s.Search.Sigma.Mul(float32(v.Fitness.Dim(0))))
	return UnrolledState{e.ascend(s.Search, gradient), all, s.Generation.Add(1)}
}
