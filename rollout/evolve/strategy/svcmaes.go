package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("svcmaes", &SVCMAES{CMAES: CMAES{Sigma: settings.Num(1)}, Searches: 2, Width: settings.Num(1),
		Repulsion: settings.Num(1)})
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

// Traits say that a group has a member of each search.
func (e *SVCMAES) Traits() (t Traits[SVCMAESState, *graph.Array, CMAESDraw]) {
	t.GroupSize, t.LeastPopulation, t.Steady = e.Searches, 2*e.Searches, true
	t.Keeps, t.Immigrant = everyone, e.Immigrant // each search needs the noise of its own members
	return t
}

// Init starts the searches near the genome.
func (e *SVCMAES) Init(mean *graph.Array, population int) SVCMAESState {
	z := random.Normal(seedOf(mean), graph.ShapeOf(graph.Float32, e.Searches, mean.Dim(0)))
	z = graph.Select(graph.Iota(e.Searches).Eq(0).ExpandDims(1), 0, z)
	means := mean.Add(e.Sigma.Array().Mul(z))
	all := graph.VMap(func(mean *graph.Array) CMAESState { return e.CMAES.Init(mean, population/e.Searches) })(means)
	return SVCMAESState{all, graph.Scalar(0, graph.Int32)}
}

// Sample draws for each search: leaves [searches, n].
func (e *SVCMAES) Sample(key random.Key, state SVCMAESState, _ *graph.Array) CMAESDraw {
	return graph.VMap2(CMAESState.draw)(state.Searches, random.Normal(key, state.Searches.Mean.Shape()))
}

// Member returns mean + σ·B·(D·z) of a search.
func (e *SVCMAES) Member(state SVCMAESState, draws CMAESDraw, search *graph.Array) *graph.Array {
	return e.CMAES.Member(population.At(state.Searches, search), population.At(draws, search), nil)
}

// Tell updates each search by its members.
func (e *SVCMAES) Tell(s SVCMAESState, v Evaluation, draws Draws[CMAESDraw]) SVCMAESState {
	type search struct {
		State   CMAESState
		Fitness *graph.Array
		Draws   CMAESDraw
	}
	fitness := v.Fitness.SplitAxis(0, e.Searches, draws.Items())
	all := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Transpose(1, 0, 2) }, draws.All())
	next := graph.VMap(func(one search) CMAESState {
		own := one.State
		// A step size that is 0 would make the drift infinite.
		drift := e.repulsion(s.Searches.Mean, own.Mean).Div(own.Sigma.Max(minVariance))
		draws := DrawsOf[CMAESDraw](population.Whole(one.Draws))
		return graph.SelectTree(saysNothing(one.Fitness), own, e.tell(own, one.Fitness, draws, drift))
	})(search{s.Searches, fitness, all})
	best := WorstIfNaN(fitness).ReduceMax(1)
	return SVCMAESState{next, best.ArgMax(0)}
}

// repulsion returns the mean gradient of the kernel at a mean, with respect to the other means.
func (e *SVCMAES) repulsion(means, mean *graph.Array) *graph.Array {
	square := e.Width.Array().Square()
	away := mean.ExpandDims(0).Sub(means) // [searches, n]
	kernel := away.Square().Sum(1).Div(square.Mul(-2)).Exp()
	return e.Repulsion.Array().Mul(kernel.ExpandDims(1).Mul(away).Div(square).Mean(0))
}

// Mean returns the mean of the distribution whose members were best in the last generation.
func (*SVCMAES) Mean(s SVCMAESState) *graph.Array {
	return graph.Take(s.Searches.Mean, s.Best, 0)
}

// Immigrant is D⁻¹·Bᵀ·(genome - mean)/σ of the first search, for all of them.
func (e *SVCMAES) Immigrant(state SVCMAESState, genome *graph.Array) CMAESDraw {
	one := e.CMAES.Immigrant(population.At(state.Searches, graph.Scalar(0, graph.Int32)), genome)
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return a.ExpandDims(0).BroadcastTo(e.Searches, a.Dim(0))
	}, one)
}
