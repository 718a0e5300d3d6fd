package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

func init() {
	MustRegister("nres", func() Strategy {
		return &NRES{unrolled{gaussian: defaultGaussian(),
			Shaped: Shaped{Shaping: shapeRanks}, Generations: 10}}
	})
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

// Keeps returns the noise of each pair.
func (unrolled) Keeps(population int) int { return population / 2 }

// Init starts at the genome with Sigma, without noise.
func (e *unrolled) Init(genome any, population int) any {
	s := e.gaussian.Init(genome, population).(GaussianState)
	return UnrolledState{s, graph.Zeros(graph.ShapeOf(graph.Float32, population/2, s.Mean.Dim(0))),
		graph.Scalar(0, graph.Int32)}
}

// Sample draws z.
func (*unrolled) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(UnrolledState).Search.Mean.Shape())
}

// Member returns mean + σ·z on side 0, mean - σ·z on side 1.
func (e *unrolled) Member(state, noise any, side *graph.Array) any {
	return e.gaussian.Member(state.(UnrolledState).Search, noise, side)
}

// Mean returns the mean of the distribution.
func (*unrolled) Mean(state any) any { return state.(UnrolledState).Search.Mean }

// Immigrant is (genome - mean)/σ.
func (e *unrolled) Immigrant(state, genome any) any {
	return e.gaussian.Immigrant(state.(UnrolledState).Search, genome)
}

// turn returns the number of a generation in its history, i32[].
func (e *unrolled) turn(s UnrolledState) *graph.Array { return s.Generation.Rem(e.Generations) }

// SampleAt draws z when a history begins, and else repeats that of the pair.
func (e *NRES) SampleAt(key random.Key, state any, pair *graph.Array) any {
	s := state.(UnrolledState)
	return graph.Select(e.turn(s).Eq(0), e.Sample(key, state).(*graph.Array), graph.Take(s.Noise, pair, 0))
}

// Tell makes one step of Adam along Σ shaped fitness·z / (population·σ).
func (e *NRES) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(UnrolledState)
	plus, minus := e.sides(e.shape(e, s, v.Fitness, noise))
	all := noise.All().(*graph.Array)
	gradient := plus.Sub(minus).Dot(all).Div(s.Search.Sigma.Mul(float32(v.Fitness.Dim(0))))
	return UnrolledState{e.ascend(s.Search, gradient), all, s.Generation.Add(1)}
}
