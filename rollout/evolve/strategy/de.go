package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("de", func() Strategy {
		return &DE{Sigma: settings.Num(1), CrossoverRate: settings.Num(.9), Weight: settings.Num(.8), Base: deBest}
	})
}

// DE is the differential evolution of Storn and Price, "Differential evolution, a simple and efficient heuristic for global
// optimization over continuous spaces" (1997), with the formulas and defaults of evosax 0.3.2 (best/1/bin, without dithering):
// the trial of member i has base + weight·(b - c) where the crossover takes it, one parameter at least, else what member i has;
// b and c are two other members. It replaces member i where it is no worse. The first trials lie around the start, start + σ·z.
type DE struct {
	single
	Vectors
	Sigma         settings.Number `set:"sigma" above:"0" help:"standard deviation of the first members around the start"`
	CrossoverRate settings.Number `set:"crossover-rate" min:"0" max:"1" help:"probability that a parameter is the trial's own"`
	Weight        settings.Number `set:"differential-weight" min:"0" max:"2" help:"weight of the difference of two members"`
	Base          string          `set:"base" oneof:"best,random" help:"member to which the difference is added: the best, or any other"`
}

// Values of DE.Base.
const (
	deBest   = "best"
	deRandom = "random"
)

// DEState is what DE remembers between generations, row i of member i.
type DEState struct {
	Members *graph.Array // f32[population, n]; the start while the member has no fitness
	Fitness *graph.Array // f32[population]; -Inf while it has none
	Told    *graph.Array // i32[]: generations so far
}

// LeastPopulation is 4: a member, the base and the two of the difference.
func (*DE) LeastPopulation() int { return 4 }

// Keeps is the whole population.
func (*DE) Keeps(population int) int { return population }

// Init makes all members the genome.
func (*DE) Init(genome any, population int) any {
	start := genome.(*graph.Array)
	return DEState{graph.BroadcastTo(start, population, start.Dim(0)), graph.Full(graph.ShapeOf(graph.Float32, population), math.Inf(-1)),
		graph.Zeros(graph.ShapeOf(graph.Int32))}
}

// Sample makes the trial of member 0.
func (e *DE) Sample(key random.Key, state any) any {
	return e.SampleAt(key, state, graph.Zeros(graph.ShapeOf(graph.Int32)))
}

// SampleAt makes one member's trial.
func (e *DE) SampleAt(key random.Key, state any, member *graph.Array) any {
	s := state.(DEState)
	n := s.Members.Dim(1)
	k := random.SplitN(key, 5)
	a, b, c := e.choose(k[0], k[1], s, member)
	at := func(i *graph.Array) *graph.Array { return graph.Take(s.Members, i, 0) }
	own := at(member)
	crosses := graph.Lt(random.Uniform(k[2], graph.ShapeOf(graph.Float32, n), 0, 1), e.CrossoverRate.Array())
	sure := graph.Eq(graph.Iota(n), random.Randint(k[3], graph.ShapeOf(graph.Int32), 0, n))
	trial := graph.Add(at(a), graph.Mul(e.Weight.Array(), graph.Sub(at(b), at(c))))
	trial = graph.Select(graph.Or(crosses, sure), trial, own)
	first := graph.Add(own, graph.Mul(e.Sigma.Array(), random.Normal(k[4], own.Shape())))
	return graph.Select(graph.Eq(s.Told, 0), first, trial)
}

// choose gives the base and two more members, all of them others than the given one but for the base, which may be it where it
// is the best: int32 scalars.
func (e *DE) choose(baseKey, key random.Key, s DEState, member *graph.Array) (a, b, c *graph.Array) {
	population := s.Members.Dim(0)
	// skip makes of a number among those that are left one of all: what is left out is counted past, the lower one first.
	skip := func(i, out *graph.Array) *graph.Array {
		return graph.Add(i, graph.Convert(graph.Ge(i, out), graph.Int32))
	}
	scalar := graph.ShapeOf(graph.Int32)
	a = graph.ArgMax(s.Fitness, 0)
	if e.Base == deRandom {
		a = skip(random.Randint(baseKey, scalar, 0, population-1), member)
	}
	same := graph.Eq(a, member)
	left := graph.Sub(population-2, graph.Select(same, -1, 0)) // members beside this one and the base
	k := random.SplitN(key, 2)
	b = random.Randint(k[0], scalar, 0, left)
	c = skip(random.Randint(k[1], scalar, 0, graph.Sub(left, 1)), b)
	past := func(i *graph.Array) *graph.Array {
		i = skip(i, graph.Min(a, member))
		return graph.Select(same, i, skip(i, graph.Max(a, member)))
	}
	return a, past(b), past(c)
}

// Member is the trial.
func (*DE) Member(_, trial any, _ *graph.Array) any { return trial }

// Tell replaces members by trials that are no worse. One whose fitness is NaN replaces nobody.
func (e *DE) Tell(state any, v Evaluation, trials population.Draws) any {
	s := state.(DEState)
	better := graph.Ge(v.Fitness, s.Fitness) // false for NaN
	return DEState{graph.Select(graph.ExpandDims(better, 1), trials.All().(*graph.Array), s.Members),
		graph.Select(better, v.Fitness, s.Fitness), graph.Add(s.Told, 1)}
}

// Centre is the best member.
func (*DE) Centre(state any) any {
	s := state.(DEState)
	return graph.DynamicIndex(s.Members, graph.ArgMax(s.Fitness, 0), 0)
}
