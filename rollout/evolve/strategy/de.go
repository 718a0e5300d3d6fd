package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("de", &DE{Sigma: settings.Num(1), CrossoverRate: settings.Num(.9), Weight: settings.Num(.8),
		Base: deBest})
}

// DE is the differential evolution of Storn and Price, "Differential evolution, a simple and efficient heuristic for
// global optimization over continuous spaces" (1997), with the formulas and defaults of evosax 0.3.2 (best/1/bin,
// without dithering). The trial of member i has base + weight·(b - c) for parameters that cross over, at least one, and
// member i's parameters elsewhere; b and c are two other members. It replaces member i if it is no worse. The first
// trials are start + σ·z.
type DE struct {
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

// DEState is the state of DE. Row i belongs to member i.
type DEState struct {
	Members    *graph.Array // f32[population, n]; the start before the first generation
	Fitness    *graph.Array // f32[population]; -Inf before the first generation
	Generation *graph.Array // i32[]: generations so far
}

// Traits say that it keeps the whole population, whose descent is known, and takes immigrants.
func (e *DE) Traits() (t Traits[DEState, *graph.Array, *graph.Array]) {
	t.LeastPopulation = 4 // a member, the base and the two of the difference
	t.Keeps, t.Immigrant, t.Standing = everyone, itself[DEState], e.Standing
	t.Parent, t.Places, t.Survivors = e.Parent, everyone, e.Survivors
	return t
}

// Init makes all members the genome.
func (*DE) Init(start *graph.Array, population int) DEState {
	return DEState{start.BroadcastTo(population, start.Dim(0)),
		graph.Full(graph.ShapeOf(graph.Float32, population), math.Inf(-1)),
		graph.Scalar(0, graph.Int32)}
}

// Sample makes one member's trial.
func (e *DE) Sample(key random.Key, s DEState, member *graph.Array) *graph.Array {
	n := s.Members.Dim(1)
	k := random.SplitN(key, 5)
	a, b, c := e.choose(k[0], k[1], s, member)
	row := func(i *graph.Array) *graph.Array { return graph.Take(s.Members, i, 0) }
	current := row(member)
	crosses := random.Uniform(k[2], graph.ShapeOf(graph.Float32, n), 0, 1).Lt(e.CrossoverRate.Array())
	forced := graph.Iota(n).Eq(random.Randint(k[3], graph.ShapeOf(graph.Int32), 0, n))
	trial := row(a).Add(e.Weight.Array().Mul(row(b).Sub(row(c)))).Clamp(-maxValue, maxValue)
	trial = graph.Select(crosses.Or(forced), trial, current)
	first := current.Add(e.Sigma.Array().Mul(random.Normal(k[4], current.Shape())))
	return graph.Select(s.Generation.Eq(0), first, trial)
}

// choose returns the base and two other members, int32 scalars. None is the given member, except a base that is the
// best.
func (e *DE) choose(baseKey, key random.Key, s DEState, member *graph.Array) (a, b, c *graph.Array) {
	population := s.Members.Dim(0)
	// skip maps a number that counts members without one of them to a number that counts all.
	skip := func(i, out *graph.Array) *graph.Array {
		return i.Add(i.Ge(out).Convert(graph.Int32))
	}
	scalar := graph.ShapeOf(graph.Int32)
	a = s.Fitness.ArgMax(0)
	if e.Base == deRandom {
		a = skip(random.Randint(baseKey, scalar, 0, population-1), member)
	}
	same := a.Eq(member)
	left := graph.Sub(population-2, graph.Select(same, -1, 0)) // members except this one and the base
	k := random.SplitN(key, 2)
	b = random.Randint(k[0], scalar, 0, left)
	c = skip(random.Randint(k[1], scalar, 0, left.Sub(1)), b)
	past := func(i *graph.Array) *graph.Array {
		i = skip(i, a.Min(member))
		return graph.Select(same, i, skip(i, a.Max(member)))
	}
	return a, past(b), past(c)
}

// Member returns the trial.
func (*DE) Member(_ DEState, trial, _ *graph.Array) *graph.Array { return trial }

// Tell replaces members by trials that are no worse. A trial with NaN fitness replaces no member.
func (e *DE) Tell(s DEState, v Evaluation, trials Draws[*graph.Array]) DEState {
	better := v.Fitness.Ge(s.Fitness) // false for NaN
	return DEState{graph.Select(better.ExpandDims(1), trials.All(), s.Members),
		graph.Select(better, v.Fitness, s.Fitness), s.Generation.Add(1)}
}

// Mean returns the best member.
func (*DE) Mean(s DEState) *graph.Array {
	return graph.DynamicIndex(s.Members, s.Fitness.ArgMax(0), 0)
}

// Parent is the base of the trial, or its own member in the first generation.
func (e *DE) Parent(key random.Key, s DEState, group *graph.Array) *graph.Array {
	k := random.SplitN(key, 5)
	base, _, _ := e.choose(k[0], k[1], s, group)
	return graph.Select(s.Generation.Eq(0), group, base)
}

// Survivors are the trials that replace members.
func (*DE) Survivors(state DEState, fitness *graph.Array) *graph.Array {
	return graph.Select(fitness.Ge(state.Fitness), graph.Iota(fitness.Dim(0)), -1)
}

// Standing is a place's fitness after the trial.
func (*DE) Standing(state DEState, fitness *graph.Array) *graph.Array {
	return WorstIfNaN(fitness).Max(state.Fitness)
}
