package qd

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegisterEmitter("sbx", &SBX{Crossover: settings.Num(.9), CrossoverIndex: settings.Num(15),
		MutationIndex: settings.Num(20), Mutated: settings.Num(1)})
}

// SBX is the variation of NSGA-II: simulated binary crossover of two elites (Deb and Agrawal, "Simulated binary
// crossover for continuous search space", 1995), then polynomial mutation (Deb and Goyal, "A combined genetic adaptive
// search (GeneAS) for engineering design", 1996). Numbers beyond the bounds are clipped.
type SBX struct {
	Bounds         []float64       `set:"bounds" zero:"none" wants:"the least and the greatest number of a genome: LOW,HIGH" help:"least and greatest number of a genome, which mutation needs"`
	Crossover      settings.Number `set:"crossover" min:"0" max:"1" help:"chance that a child has two parents"`
	CrossoverIndex settings.Number `set:"crossover-index" min:"0" help:"the larger, the nearer is a child to a parent"`
	MutationIndex  settings.Number `set:"mutation-index" min:"0" help:"the larger, the smaller are mutations"`
	Mutated        settings.Number `set:"mutated" min:"0" help:"mean count of the numbers of a genome that mutate"`
}

// Traits say that bounds are checked.
func (e *SBX) Traits() EmitterTraits { return EmitterTraits{Check: e.Check} }

// Check wants bounds, two numbers in order.
func (e *SBX) Check(int) error {
	if len(e.Bounds) == 2 && e.Bounds[0] < e.Bounds[1] {
		return nil
	}
	f, _ := settings.Lookup(e, "bounds")
	return settings.Wrong("emitter.bounds", f.Text(), "%s, the lower one first: mutation is a share of their distance."+
		" --emitter isoline needs none", f.Wants)
}

// Init has no state.
func (*SBX) Init(*graph.Array, int, Archive) any { return graph.None{} }

// Ask makes a child of two elites.
func (e *SBX) Ask(key random.Key, number *graph.Array, _ any, archive Archive) Child {
	keys := random.SplitN(random.FoldIn(key, number), 8)
	low, high := float32(e.Bounds[0]), float32(e.Bounds[1])
	x, y := archive.Draw(keys[0]), archive.Draw(keys[1])
	uniform := func(key random.Key) *graph.Array { return random.Uniform(key, x.Shape(), 0, 1) }

	u, power := uniform(keys[2]), graph.Div(1, e.CrossoverIndex.Array().Add(1))
	spread := graph.Select(u.Le(.5), u.Mul(2), graph.Div(.5, graph.Sub(1, u))).Pow(power)
	side := graph.Select(uniform(keys[3]).Lt(.5), 1., -1.) // which of the two children
	child := x.Add(y).Add(x.Sub(y).Mul(spread).Mul(side)).Mul(.5)
	// A number stays that of the first parent with chance 1/2, as in the program of the authors.
	crossed := uniform(keys[4]).Lt(.5).And(random.Uniform(keys[7], graph.ShapeOf(graph.Float32), 0, 1).Lt(
		e.Crossover.Array()))
	child = graph.Select(crossed, child, x)

	v, power := uniform(keys[5]), graph.Div(1, e.MutationIndex.Array().Add(1))
	step := graph.Select(v.Lt(.5), v.Mul(2).Pow(power).Sub(1), graph.Sub(1, graph.Sub(1, v).Mul(2).Pow(power)))
	mutates := uniform(keys[6]).Lt(e.Mutated.Array().Div(float32(x.Dim(0))))
	child = graph.Select(mutates, child.Add(step.Mul(high-low)), child)
	return Child{graph.Clamp(low, child, high), graph.None{}}
}

// Tell has nothing to learn.
func (*SBX) Tell(_ random.Key, state any, _ Archive, _ Child, _ Batch, _ Change) any { return state }
