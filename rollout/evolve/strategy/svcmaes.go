package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("svcmaes", func() Strategy {
		return &SVCMAES{CMAES: CMAES{Sigma: settings.Num(1)}, Searches: 2, Width: settings.Num(1),
			Repulsion: settings.Num(1)}
	})
}

// SVCMAES is the Stein variational CMA-ES of Braun et al., "Stein variational evolution strategies" (2024), with the
// formulas of evosax 0.3.2: several searches by CMA-ES share the population, and their means repel each other by the
// gradient of a kernel, exp(-distance²/(2·width²)). The first search begins at the genome, the others at the genome
// plus sigma times standard normal noise.
type SVCMAES struct {
	CMAES
	Searches  int             `set:"searches" min:"1" max:"1024" help:"searches that share the population"`
	Width     settings.Number `set:"kernel-width" above:"0" help:"distance at which means repel each other most"`
	Repulsion settings.Number `set:"repulsion" min:"0" help:"weight of the repulsion"`
}

// SVCMAESState is the state of SVCMAES.
type SVCMAESState struct {
	Searches CMAESState   // leaves [searches, …]
	Best     *graph.Array // i32[]: the search whose members were best last
}

// GroupSize is the number of searches: a group has a member of each.
func (e *SVCMAES) GroupSize() int { return e.Searches }

// LeastPopulation is two members a search.
func (e *SVCMAES) LeastPopulation() int { return 2 * e.Searches }

// Init starts the searches near the genome.
func (e *SVCMAES) Init(genome any, population int) any {
	mean := genome.(*graph.Array)
	z := random.Normal(seedOf(mean), graph.ShapeOf(graph.Float32, e.Searches, mean.Dim(0)))
	z = graph.Select(graph.Iota(e.Searches).Eq(0).ExpandDims(1), 0, z)
	means := mean.Add(e.Sigma.Array().Mul(z))
	all := graph.VMap(func(mean *graph.Array) any { return e.CMAES.Init(mean, population/e.Searches) })(means)
	return SVCMAESState{all.(CMAESState), graph.Scalar(0, graph.Int32)}
}

// Sample draws z for each search, f32[searches, n].
func (e *SVCMAES) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(SVCMAESState).Searches.Mean.Shape())
}

// Member returns mean + σ·B·(D·z) of a search.
func (e *SVCMAES) Member(state, noise any, search *graph.Array) any {
	s := population.At(state.(SVCMAESState).Searches, search)
	return e.CMAES.Member(s, graph.Take(noise.(*graph.Array), search, 0), nil)
}

// Tell updates each search by its members.
func (e *SVCMAES) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(SVCMAESState)
	type search struct{ State, Fitness, Noise any }
	fitness := v.Fitness.SplitAxis(0, e.Searches, noise.Items())
	all := noise.All().(*graph.Array).Transpose(1, 0, 2) // [searches, groups, n]
	next := graph.VMap(func(one search) any {
		own := one.State.(CMAESState)
		// A step size that is 0 would make the drift infinite.
		drift := e.repulsion(s.Searches.Mean, own.Mean).Div(own.Sigma.Max(minVariance))
		fitness := one.Fitness.(*graph.Array)
		return graph.SelectTree(saysNothing(fitness), own, e.tell(own, fitness, population.Whole(one.Noise), drift))
	})(search{s.Searches, fitness, all})
	best := WorstIfNaN(fitness).ReduceMax(1)
	return SVCMAESState{next.(CMAESState), best.ArgMax(0)}
}

// repulsion returns the mean gradient of the kernel at a mean, with respect to the other means.
func (e *SVCMAES) repulsion(means, mean *graph.Array) *graph.Array {
	square := e.Width.Array().Square()
	away := mean.ExpandDims(0).Sub(means) // [searches, n]
	kernel := away.Square().Sum(1).Div(square.Mul(-2)).Exp()
	return e.Repulsion.Array().Mul(kernel.ExpandDims(1).Mul(away).Div(square).Mean(0))
}

// Mean returns the mean of the distribution whose members were best in the last generation.
func (*SVCMAES) Mean(state any) any {
	s := state.(SVCMAESState)
	return graph.Take(s.Searches.Mean, s.Best, 0)
}

// Keeps returns the noise of all members: each search needs its own.
func (*SVCMAES) Keeps(population int) int { return population }

// Immigrant is D⁻¹·Bᵀ·(genome - mean)/σ of the first search, for all of them.
func (e *SVCMAES) Immigrant(state, genome any) any {
	s := state.(SVCMAESState).Searches
	one := e.CMAES.Immigrant(population.At(s, graph.Scalar(0, graph.Int32)), genome).(*graph.Array)
	return one.ExpandDims(0).BroadcastTo(e.Searches, one.Dim(0))
}
