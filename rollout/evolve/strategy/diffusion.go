package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("diffusion", &Diffusion{Sigma: settings.Num(1), Noise: settings.Num(1), Temperature: settings.Num(1),
		Generations: 128})
}

// Diffusion is "Diffusion models are evolutionary algorithms" of Zhang et al. (2024) with the formulas and defaults of
// evosax 0.3.2 (cosine schedule, denoising in the space of the genomes): each member is a noisy sample. It estimates
// its origin as the mean of all members, weighted by fitness and nearness, and takes one denoising step towards it. A
// member's weight is exp(fitness/temperature). After Generations the members stay. Coordinates are those around the
// start, in units of sigma. The first members are start + σ·z.
type Diffusion struct {
	Sigma       settings.Number `set:"sigma" above:"0" help:"standard deviation of the first members around the start"`
	Noise       settings.Number `set:"noise" min:"0" max:"1" help:"weight of new noise in a step"`
	Temperature settings.Number `set:"temperature" above:"0" help:"fitness that makes a member weigh e times as much"`
	Generations int             `set:"schedule" min:"2" max:"1000000" help:"generations from noise to the last members"`
}

// DiffusionState is the state of Diffusion. Row i belongs to member i.
type DiffusionState struct {
	Start      *graph.Array // f32[n]
	Members    *graph.Array // f32[population, n]: in units of sigma around the start
	Fitness    *graph.Array // f32[population]; -Inf before the first generation
	Generation *graph.Array // i32[]: generations so far
}

// Traits say that it keeps the whole population.
func (*Diffusion) Traits() (t Traits[DiffusionState, *graph.Array, *graph.Array]) {
	t.LeastPopulation, t.Keeps = 2, everyone
	return t
}

// Init puts all members on the genome.
func (*Diffusion) Init(start *graph.Array, population int) DiffusionState {
	return DiffusionState{start, graph.Zeros(graph.ShapeOf(graph.Float32, population, start.Dim(0))),
		graph.Full(graph.ShapeOf(graph.Float32, population), math.Inf(-1)), graph.Scalar(0, graph.Int32)}
}

// alpha returns the share of the signal after a number of generations, f32[]: the cosine schedule, backwards.
func (e *Diffusion) alpha(generation *graph.Array) *graph.Array {
	const least = 1e-3
	t := graph.Sub(e.Generations-1, generation.Min(e.Generations-1)).Convert(graph.Float32)
	cosine := t.Mul(float32(math.Pi / float64(e.Generations-1))).Cos().Add(1).Div(2)
	return cosine.Add(float32(least)).Mul(float32((1 - least) / (1 + least)))
}

// Sample takes one member's step: the next member.
func (e *Diffusion) Sample(key random.Key, s DiffusionState, member *graph.Array) *graph.Array {
	z := random.Normal(key, s.Start.Shape())
	now := s.Generation.Sub(1).Max(0)
	alpha, next := e.alpha(now), e.alpha(now.Add(1))
	x := graph.Take(s.Members, member, 0)
	origin := e.origin(s, x, alpha)
	spread := graph.Sub(1, next).Div(graph.Sub(1, alpha)).Mul(graph.Sub(1, alpha.Div(next)))
	sigma := e.Noise.Array().Mul(spread.Max(0).Sqrt())
	noise := x.Sub(alpha.Sqrt().Mul(origin)).Div(graph.Sub(1, alpha).Sqrt())
	step := next.Sqrt().Mul(origin).Add(graph.Sub(1, next).Sub(sigma.Square()).Max(0).Sqrt().Mul(noise))
	return graph.Select(s.Generation.Eq(0), z, step.Add(sigma.Mul(z)))
}

// origin estimates where a member comes from (equation 8).
func (e *Diffusion) origin(s DiffusionState, x, alpha *graph.Array) *graph.Array {
	best := s.Fitness.ReduceMax()
	weight := graph.Select(s.Fitness.Gt(math.Inf(-1)), s.Fitness.Sub(best).Div(e.Temperature.Array()).Add(5).Exp(), 0)
	// |x - √alpha·m|², multiplied out, so that no difference of all members with all is stored.
	square := x.Square().Sum().Add(alpha.Mul(s.Members.Square().Sum(1)))
	square = square.Sub(alpha.Sqrt().Mul(2).Mul(s.Members.Dot(x))).Max(0)
	weight = weight.Mul(square.Div(graph.Sub(1, alpha).Mul(-2)).Exp())
	return weight.Dot(s.Members).Div(weight.Sum().Max(float32(1e-8)))
}

// Member returns start + σ·x.
func (e *Diffusion) Member(state DiffusionState, x, _ *graph.Array) *graph.Array {
	return state.Start.Add(e.Sigma.Array().Mul(x))
}

// Tell keeps the members.
func (*Diffusion) Tell(s DiffusionState, v Evaluation, members Draws[*graph.Array]) DiffusionState {
	next := DiffusionState{s.Start, members.All(),
		WorstIfNaN(v.Fitness).Min(float32(math.MaxFloat32)), s.Generation.Add(1)}
	return graph.SelectTree(v.Fitness.IsNaN().All(), s, next)
}

// Mean returns the best member.
func (e *Diffusion) Mean(s DiffusionState) *graph.Array {
	return e.Member(s, graph.DynamicIndex(s.Members, s.Fitness.ArgMax(0), 0), nil)
}
