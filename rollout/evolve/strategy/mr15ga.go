package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("mr15ga", &MR15GA{Sigma: settings.Num(1), Share: settings.Num(.2)})
}

// MR15GA is a genetic algorithm with Rechenberg's rule of the success of a fifth ("Evolutionsstrategien", 1978), with
// the formulas and defaults of evosax 0.3.2: each parent has one child, the parent plus σ·z. If more than a fifth of
// the children are better than their parents, σ is doubled, else it is halved. The best of parents and children are the
// next parents.
type MR15GA struct {
	Sigma settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of a child's noise at first"`
	Share settings.Number `set:"success-share" min:"0" max:"1" help:"share of children that are better than their parents, above which sigma rises"`
}

// MR15GAState is the state of MR15GA.
type MR15GAState struct {
	Parents *graph.Array // f32[population, n], the best first; the start before the first generation
	Fitness *graph.Array // f32[population]; -Inf before the first generation
	Sigma   *graph.Array // f32[]: of the next generation
}

// Traits say that it keeps the parents.
func (*MR15GA) Traits() (t Traits[MR15GAState, *graph.Array, *graph.Array]) {
	t.Keeps = everyone
	return t
}

// Init makes all parents the genome.
func (g *MR15GA) Init(start *graph.Array, population int) MR15GAState {
	return MR15GAState{start.BroadcastTo(population, start.Dim(0)),
		graph.Full(graph.ShapeOf(graph.Float32, population), math.Inf(-1)), g.Sigma.Array()}
}

// Sample makes one parent's child.
func (*MR15GA) Sample(key random.Key, s MR15GAState, parent *graph.Array) *graph.Array {
	z := random.Normal(key, graph.ShapeOf(graph.Float32, s.Parents.Dim(1)))
	return graph.Take(s.Parents, parent, 0).Add(s.Sigma.Mul(z))
}

// Member returns the child.
func (*MR15GA) Member(_ MR15GAState, child *graph.Array, _ *graph.Array) *graph.Array { return child }

// Tell keeps the best of children and parents, children first among equals. A child with NaN fitness becomes no parent.
func (g *MR15GA) Tell(s MR15GAState, v Evaluation, children Draws[*graph.Array]) MR15GAState {
	fitness := WorstIfNaN(v.Fitness)
	better := fitness.Gt(s.Fitness).Convert(graph.Float32).Mean()
	sigma := s.Sigma.Mul(graph.Select(better.Gt(g.Share.Array()), float32(2), float32(.5))).Min(maxDeviation)
	// Failed children stand after all parents, also after those that have no fitness yet.
	failed := graph.Concatenate(0, v.Fitness.IsNaN(), graph.Full(graph.ShapeOf(graph.Bool, v.Fitness.Dim(0)), false))
	values := graph.Concatenate(0, fitness, s.Fitness)
	count := fitness.Dim(0)
	order := graph.ArgSort(graph.Select(failed, math.Inf(1), values.Neg().Min(math.MaxFloat32)), 0)
	order = graph.SliceAxis(order, 0, 0, count)
	all := graph.Concatenate(0, children.All(), s.Parents)
	return MR15GAState{graph.Take(all, order, 0), graph.Take(values, order, 0), sigma}
}

// Mean returns the best parent.
func (*MR15GA) Mean(state MR15GAState) *graph.Array { return state.Parents.Index(0) }
