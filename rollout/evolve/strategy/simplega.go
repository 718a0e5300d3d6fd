package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("simplega", &SimpleGA{elitist: elitist[SimpleGAState]{EliteRatio: .5}, Sigma: settings.Num(.1),
		SigmaDecay: settings.Num(1)})
}

// SimpleGA is the genetic algorithm of Such et al., "Deep neuroevolution" (2017), as evosax 0.3.2's SimpleGA without
// crossover (its default): every child is one of the elites, drawn uniformly, plus σ times standard normal noise. The
// elites are the better half of the last generation; none of them is carried over.
type SimpleGA struct {
	elitist[SimpleGAState]
	Sigma      settings.Number `set:"sigma" above:"0" help:"standard deviation of a child's noise"`
	SigmaDecay settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
}

// SimpleGAState is the state of SimpleGA.
type SimpleGAState struct {
	Elites     *graph.Array // f32[Elites, n], the best first
	Sigma      *graph.Array // f32[]: of the next generation
	Generation *graph.Array // i32[]: generations so far
}

// Traits say that it keeps members, whose descent is known, and takes immigrants.
func (g *SimpleGA) Traits() (t Traits[SimpleGAState, *graph.Array, *graph.Array]) {
	t.Keeps, t.Immigrant = g.Keeps, itself[SimpleGAState]
	t.Parent, t.Places, t.Survivors = g.Parent, g.Keeps, g.Survivors
	return t
}

// Init fills the elites with copies of the genome.
func (g *SimpleGA) Init(first *graph.Array, population int) SimpleGAState {
	return SimpleGAState{Elites: first.BroadcastTo(g.Keeps(population), first.Dim(0)), Sigma: g.Sigma.Array(),
		Generation: graph.Scalar(0, graph.Int32)}
}

// Sample makes one child, which is the group's draw.
func (*SimpleGA) Sample(key random.Key, s SimpleGAState, _ *graph.Array) *graph.Array {
	k := random.SplitN(key, 2)
	parent := graph.Take(s.Elites, random.Randint(k[0], graph.ShapeOf(graph.Int32), 0, s.Elites.Dim(0)), 0)
	return parent.Add(s.Sigma.Mul(random.Normal(k[1], graph.ShapeOf(graph.Float32, s.Elites.Dim(1)))))
}

// Member returns the child.
func (*SimpleGA) Member(_ SimpleGAState, child, _ *graph.Array) *graph.Array {
	return child
}

// Tell keeps the best children, earlier ones first among equals. A child with NaN fitness becomes no elite. If all have
// NaN, the elites stay.
func (g *SimpleGA) Tell(s SimpleGAState, v Evaluation, children Draws[*graph.Array]) SimpleGAState {
	order, found := best(v.Fitness, s.Elites.Dim(0))
	elites := graph.Select(found, graph.Take(children.All(), order, 0), s.Elites)
	return SimpleGAState{Elites: elites, Sigma: decayed(g.Sigma.Array(), g.SigmaDecay.Array(), s.Generation),
		Generation: s.Generation.Add(1)}
}

// Mean returns the best elite.
func (*SimpleGA) Mean(state SimpleGAState) *graph.Array { return state.Elites.Index(0) }

// Parent is the elite of Sample.
func (*SimpleGA) Parent(key random.Key, state SimpleGAState, _ *graph.Array) *graph.Array {
	return random.Randint(random.SplitN(key, 2)[0], graph.ShapeOf(graph.Int32), 0, state.Elites.Dim(0))
}
