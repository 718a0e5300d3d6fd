package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("gesmrga", &GESMRGA{elitist: elitist[GESMRGAState]{EliteRatio: .5}, Sigma: settings.Num(1),
		Meta: settings.Num(2)})
}

// GESMRGA is the genetic algorithm of Kumar et al., "Effective mutation rate adaptation through group elite selection"
// (2022), with the formulas and defaults of evosax 0.3.2: a child is an elite plus σ·z, and children in a group have
// one σ. The σ of the groups whose best child improved most upon its parent are inherited, times meta^u, u uniform in
// [-1, 1). Child 0 is the best elite itself.
type GESMRGA struct {
	elitist[GESMRGAState]
	Sigma  settings.Number `set:"sigma" above:"0" help:"standard deviation of a child's noise at first"`
	Meta   settings.Number `set:"meta" min:"1" help:"largest factor of a group's standard deviation against the one that it inherits"`
	Groups int             `set:"groups" min:"1" max:"16777216" zero:"the root of the population" help:"groups of children with one standard deviation, fewer than the population has members; 0 for the root of the population"`
}

// GESMRGAState is the state of GESMRGA.
type GESMRGAState struct {
	Elites  *graph.Array // f32[elites, n], the best first
	Fitness *graph.Array // f32[elites]; -Inf before the first generation
	Sigma   *graph.Array // f32[groups]
	Members *graph.Array // i32[]: the population, which groups share
}

// gesmrChild is a group's draw. Chance and Parent of child i decide what group i inherits.
type gesmrChild struct {
	Genome *graph.Array // f32[n]
	Before *graph.Array // f32[]: fitness of the parent
	Parent *graph.Array // f32[]: uniform in [0, 1)
	Chance *graph.Array // f32[]: uniform in [-1, 1)
}

// The largest σ.
const gesmrMost = 10

// groups returns the number of groups of a population.
func (g *GESMRGA) groups(population int) int {
	if g.Groups == 0 {
		return max(1, min(population-1, int(math.Sqrt(float64(population)))))
	}
	return g.Groups
}

// gesmrGroup returns the groups of children, i32 of child's shape. Child 0 belongs to none, and gets 0. The others fill
// the groups in order. members is the population, i32[].
func gesmrGroup(child *graph.Array, groups int, members *graph.Array) *graph.Array {
	place := child.Sub(1).Max(0).Convert(graph.Int64) // its product with groups can be beyond int32
	return graph.Quo(place.Mul(groups), members.Sub(1).Max(1).Convert(graph.Int64)).Convert(graph.Int32)
}

// Traits say that it keeps members.
func (g *GESMRGA) Traits() (t Traits[GESMRGAState, *graph.Array, gesmrChild]) {
	t.LeastPopulation = max(2, g.Groups+1) // a child for each group, and child 0, which belongs to none
	t.Keeps = g.Keeps
	return t
}

// Init fills the elites with copies of the genome.
func (g *GESMRGA) Init(genome *graph.Array, population int) GESMRGAState {
	first, elites := genome, g.Keeps(population)
	return GESMRGAState{first.BroadcastTo(elites, first.Dim(0)),
		graph.Full(graph.ShapeOf(graph.Float32, elites), math.Inf(-1)),
		g.Sigma.Array().BroadcastTo(g.groups(population)),
		graph.Of(int32(population))}
}

// Sample makes one child.
func (g *GESMRGA) Sample(key random.Key, s GESMRGAState, child *graph.Array) gesmrChild {
	k := random.SplitN(key, 4)
	scalar := graph.ShapeOf(graph.Float32)
	parent := graph.Select(child.Eq(0), 0, random.Randint(k[0], graph.ShapeOf(graph.Int32), 0, s.Elites.Dim(0)))
	group := gesmrGroup(child, s.Sigma.Dim(0), s.Members)
	sigma := graph.Select(child.Eq(0), 0, graph.Take(s.Sigma, group, 0))
	z := random.Normal(k[1], graph.ShapeOf(graph.Float32, s.Elites.Dim(1)))
	return gesmrChild{graph.Take(s.Elites, parent, 0).Add(sigma.Mul(z)), graph.Take(s.Fitness, parent, 0),
		random.Uniform(k[2], scalar, 0, 1), random.Uniform(k[3], scalar, -1, 1)}
}

// Member returns the child.
func (*GESMRGA) Member(_ GESMRGAState, child gesmrChild, _ *graph.Array) *graph.Array {
	return child.Genome
}

// Tell keeps the best children, earlier ones first among equals, and the σ of the best groups (equations 5 to 7). A
// child with NaN fitness becomes no elite. If all have NaN, the elites stay.
func (g *GESMRGA) Tell(s GESMRGAState, v Evaluation, children Draws[gesmrChild]) GESMRGAState {
	members, groups := v.Fitness.Dim(0), s.Sigma.Dim(0)
	all := children.All()
	fitness := WorstIfNaN(v.Fitness)
	gain := graph.Select(all.Before.Gt(math.Inf(-1)), fitness.Sub(all.Before), fitness)
	gain = graph.Select(gain.IsNaN(), math.Inf(-1), gain)
	group := gesmrGroup(graph.Iota(members), groups, graph.Of(int32(members)))
	group = graph.Select(graph.Iota(members).Eq(0), groups, group) // child 0 belongs to none
	highest := graph.ScatterMax(graph.Full(graph.ShapeOf(graph.Float32, groups), math.Inf(-1)), group, gain)
	order := graph.ArgSort(highest.Neg(), 0)
	first := func(x *graph.Array) *graph.Array { return graph.SliceAxis(x, 0, 0, groups) }
	kept := max(1, groups/2)
	place := first(all.Parent).Mul(kept).Floor().Convert(graph.Int32).Min(kept - 1)
	place = graph.Select(graph.Iota(groups).Eq(0), 0, place)
	sigma := graph.Take(s.Sigma, graph.Take(order, place, 0), 0).Mul(g.Meta.Array().Pow(first(all.Chance)))
	sigma = sigma.Min(float32(gesmrMost))

	elites, found := best(v.Fitness, s.Elites.Dim(0))
	keep := func(new, old *graph.Array) *graph.Array { return graph.Select(found, graph.Take(new, elites, 0), old) }
	return GESMRGAState{keep(all.Genome, s.Elites), keep(v.Fitness, s.Fitness), graph.Select(found, sigma, s.Sigma),
		s.Members}
}

// Mean returns the best elite.
func (*GESMRGA) Mean(state GESMRGAState) *graph.Array { return state.Elites.Index(0) }
