package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("samrga", &SAMRGA{elitist: elitist[SAMRGAState]{EliteRatio: .5}, Sigma: settings.Num(1),
		Meta: settings.Num(2), SigmaMax: settings.Num(10)})
}

// SAMRGA is a genetic algorithm whose mutation rates are inherited and mutate, too: Clune et al., "Natural selection
// fails to optimize mutation rates for long-term adaptation on rugged fitness landscapes" (2008). Formulas and defaults
// are from evosax 0.3.2. A child is an elite plus σ times standard normal noise. Its σ is the elite's times meta^u, u
// uniform in [-1, 1). Child 0 comes from the best elite, the others from elites drawn uniformly. No elite is carried
// over.
type SAMRGA struct {
	elitist[SAMRGAState]
	Sigma    settings.Number `set:"sigma" above:"0" help:"standard deviation of a child's noise at first"`
	Meta     settings.Number `set:"meta" min:"1" help:"largest factor of a child's standard deviation against its parent's"`
	SigmaMin settings.Number `set:"sigma-min" min:"0" help:"smallest standard deviation"`
	SigmaMax settings.Number `set:"sigma-max" above:"0" help:"largest standard deviation"`
}

// Check refuses bounds in the wrong order.
func (g *SAMRGA) Check() error {
	if g.SigmaMin.Value > g.SigmaMax.Value {
		return settings.Wrong("strategy.sigma-min", g.SigmaMin.Value, "at most strategy.sigma-max, %g",
			g.SigmaMax.Value)
	}
	return nil
}

// SAMRGAState is the state of SAMRGA.
type SAMRGAState struct {
	Elites *graph.Array // f32[Elites, n], the best first
	Sigma  *graph.Array // f32[Elites]: with which each of them was made
}

// samrgaChild is a group's draw.
type samrgaChild struct {
	Genome *graph.Array // f32[n]
	Sigma  *graph.Array // f32[]
}

// Traits say that it keeps members, whose descent is known, and takes immigrants.
func (g *SAMRGA) Traits() (t Traits[SAMRGAState, *graph.Array, samrgaChild]) {
	t.Keeps, t.Immigrant = g.Keeps, g.Immigrant
	t.Parent, t.Places, t.Survivors = g.Parent, g.Keeps, g.Survivors
	return t
}

// Init fills the elites with copies of the genome.
func (g *SAMRGA) Init(genome *graph.Array, population int) SAMRGAState {
	first, elites := genome, g.Keeps(population)
	return SAMRGAState{first.BroadcastTo(elites, first.Dim(0)), g.Sigma.Array().BroadcastTo(elites)}
}

// Sample makes one child.
func (g *SAMRGA) Sample(key random.Key, s SAMRGAState, group *graph.Array) samrgaChild {
	k := random.SplitN(key, 3)
	elites, n := s.Elites.Dim(0), s.Elites.Dim(1)
	parent := random.Randint(k[0], graph.ShapeOf(graph.Int32), 0, elites)
	parent = graph.Select(group.Eq(0), 0, parent)
	u := random.Uniform(k[1], graph.ShapeOf(graph.Float32), -1, 1)
	sigma := graph.Take(s.Sigma, parent, 0).Mul(g.Meta.Array().Pow(u))
	sigma = sigma.Max(g.SigmaMin.Array()).Min(g.SigmaMax.Array())
	z := random.Normal(k[2], graph.ShapeOf(graph.Float32, n))
	return samrgaChild{graph.Take(s.Elites, parent, 0).Add(sigma.Mul(z)), sigma}
}

// Member returns the child.
func (*SAMRGA) Member(_ SAMRGAState, child samrgaChild, _ *graph.Array) *graph.Array {
	return child.Genome
}

// Tell keeps the best children, earlier ones first among equals. A child with NaN fitness becomes no elite. If all have
// NaN, the elites stay.
func (g *SAMRGA) Tell(s SAMRGAState, v Evaluation, children Draws[samrgaChild]) SAMRGAState {
	order, found := best(v.Fitness, s.Elites.Dim(0))
	all := children.All()
	keep := func(new, old *graph.Array) *graph.Array { return graph.Select(found, graph.Take(new, order, 0), old) }
	return SAMRGAState{keep(all.Genome, s.Elites), keep(all.Sigma, s.Sigma)}
}

// Mean returns the best elite.
func (*SAMRGA) Mean(state SAMRGAState) *graph.Array { return state.Elites.Index(0) }

// Immigrant is the genome, with the standard deviation of the best elite.
func (*SAMRGA) Immigrant(state SAMRGAState, genome *graph.Array) samrgaChild {
	return samrgaChild{genome, state.Sigma.Index(0)}
}

// Parent is the elite of Sample.
func (*SAMRGA) Parent(key random.Key, state SAMRGAState, group *graph.Array) *graph.Array {
	parent := random.Randint(random.SplitN(key, 3)[0], graph.ShapeOf(graph.Int32), 0, state.Elites.Dim(0))
	return graph.Select(group.Eq(0), 0, parent)
}
