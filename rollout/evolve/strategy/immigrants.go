package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Receiving is a Strategy that takes in immigrants: members that another search has found, in the place of its own.
//
// For strategies that keep genomes (simplega, samrga, de, pso) an immigrant is one more member to choose from. A
// strategy with a distribution is told the noise that would have drawn it, as in Hansen, "Injecting external solutions
// into CMA-ES" (2011, arXiv 1110.4181): the inverse of Member, cut to a likely length, so that a distant immigrant
// turns the search without throwing it off.
type Receiving interface {
	Strategy
	// Immigrant returns the draw whose side 0 is the member with a genome, or the nearest one that is likely enough.
	Immigrant(state, genome any) any
}

// Lineal is a Strategy whose members each descend from one of the genomes that its state keeps.
type Lineal interface {
	Strategy
	// Parent returns the number of the kept genome from which a group's member comes, an int32 scalar; key and group
	// are the draw's. See Draw.
	Parent(key random.Key, state any, group *graph.Array) *graph.Array
	// Places returns the number of genomes that members descend from.
	Places(population int) int
	// Survivors returns the member that Tell puts in each place, i32[Places]; -1: the genome there stays.
	Survivors(state any, fitness *graph.Array) *graph.Array
}

// Settled is a Strategy whose groups have places of their own, which a member takes only if it is better. The worst
// group is the one with the worst place.
type Settled interface {
	Strategy
	// Standing returns the fitness of each group's place after a generation, f32[population].
	Standing(state any, fitness *graph.Array) *graph.Array
}

// likely returns noise z, f32[n], cut to a length of √n + 2·n/(n + 2), Hansen's bound for injected solutions.
func likely(z *graph.Array) *graph.Array {
	n := float64(z.Dim(0))
	most := float32(math.Sqrt(n) + 2*n/(n+2))
	unit := magnitude(z) // squares of large numbers overflow
	length := unit.Mul(z.Div(unit).Square().Sum().Sqrt())
	return graph.Select(length.Gt(most), z.Div(length).Mul(most), z)
}

// noiseOf returns the likely noise z with which mean + scale·z is a genome.
func noiseOf(genome any, mean, scale *graph.Array) *graph.Array {
	return likely((genome.(*graph.Array)).Sub(mean).Div(scale))
}

// Immigrant is (genome - mean)/std.
func (*PGPE) Immigrant(state, genome any) any {
	s := state.(PGPEState)
	return noiseOf(genome, s.Mean, s.Std)
}

// Immigrant is (genome - mean)/std.
func (*SNES) Immigrant(state, genome any) any {
	s := state.(SNESState)
	return noiseOf(genome, s.Mean, s.Std)
}

// Immigrant is (genome - mean)/(σ·√variance).
func (*SepCMAES) Immigrant(state, genome any) any {
	s := state.(SepCMAESState)
	return noiseOf(genome, s.Mean, s.Sigma.Mul(s.Variance.Sqrt()))
}

// Immigrant is D⁻¹·Bᵀ·(genome - mean)/σ.
func (*CMAES) Immigrant(state, genome any) any {
	s := state.(CMAESState)
	away := (genome.(*graph.Array)).Sub(s.Mean).Div(s.Sigma)
	return likely(graph.MatrixTranspose(s.Basis).Dot(away).Div(s.Scale))
}

// Immigrant solves σ·B·z = genome - mean.
func (*XNES) Immigrant(state, genome any) any {
	s := state.(XNESState)
	away := (genome.(*graph.Array)).Sub(s.Mean).Div(s.Sigma)
	return likely(graph.Solve(s.Shape, away))
}

// Immigrant is (1 + v·vᵀ)^-½·(genome - mean)/(σ·D).
func (*CRFMNES) Immigrant(state, genome any) any {
	s := state.(CRFMNESState)
	y := (genome.(*graph.Array)).Sub(s.Mean).Div(s.Sigma.Mul(s.Scale))
	axis := s.axis()
	along := graph.Div(1, graph.Add(1, axis.square).Sqrt()).Sub(1).Mul(y.Dot(axis.bar))
	return likely(y.Add(along.Mul(axis.bar)))
}

// Immigrant is the genome itself.
func (*SimpleGA) Immigrant(_, genome any) any { return genome }

// Parent is the elite of Sample.
func (*SimpleGA) Parent(key random.Key, state any, _ *graph.Array) *graph.Array {
	return random.Randint(random.SplitN(key, 2)[0], graph.ShapeOf(graph.Int32), 0, state.(SimpleGAState).Elites.Dim(0))
}

// Places is the number of elites.
func (g *SimpleGA) Places(population int) int { return g.Keeps(population) }

// Survivors are the best children.
func (*SimpleGA) Survivors(state any, fitness *graph.Array) *graph.Array {
	return elites(fitness, state.(SimpleGAState).Elites.Dim(0))
}

// elites returns the best members, -1 where no member has a fitness.
func elites(fitness *graph.Array, count int) *graph.Array {
	order, found := best(fitness, count)
	return graph.Select(found, order, -1)
}

// Immigrant is the genome, with the standard deviation of the best elite.
func (*SAMRGA) Immigrant(state, genome any) any {
	return samrgaChild{genome.(*graph.Array), state.(SAMRGAState).Sigma.Index(0)}
}

// Parent is the elite of SampleAt.
func (*SAMRGA) Parent(key random.Key, state any, group *graph.Array) *graph.Array {
	parent := random.Randint(random.SplitN(key, 3)[0], graph.ShapeOf(graph.Int32), 0, state.(SAMRGAState).Elites.Dim(0))
	return graph.Select(group.Eq(0), 0, parent)
}

// Places is the number of elites.
func (g *SAMRGA) Places(population int) int { return g.Keeps(population) }

// Survivors are the best children.
func (*SAMRGA) Survivors(state any, fitness *graph.Array) *graph.Array {
	return elites(fitness, state.(SAMRGAState).Elites.Dim(0))
}

// Immigrant is the genome as a trial.
func (*DE) Immigrant(_, genome any) any { return genome }

// Parent is the member that a trial's difference is added to; in the first generation it is the trial's own.
func (e *DE) Parent(key random.Key, state any, group *graph.Array) *graph.Array {
	s := state.(DEState)
	k := random.SplitN(key, 5)
	base, _, _ := e.choose(k[0], k[1], s, group)
	return graph.Select(s.Told.Eq(0), group, base)
}

// Places is the number of members.
func (*DE) Places(population int) int { return population }

// Survivors are the trials that replace members.
func (*DE) Survivors(state any, fitness *graph.Array) *graph.Array {
	return replacing(fitness, state.(DEState).Fitness)
}

// replacing returns the members that are no worse than the ones in their places, -1 for the others.
func replacing(fitness, before *graph.Array) *graph.Array {
	return graph.Select(fitness.Ge(before), graph.Iota(fitness.Dim(0)), -1)
}

// Standing is a place's fitness after the trial.
func (*DE) Standing(state any, fitness *graph.Array) *graph.Array {
	return WorstIfNaN(fitness).Max(state.(DEState).Fitness)
}

// Immigrant is a particle at rest there.
func (*PSO) Immigrant(_, genome any) any {
	return psoMove{genome.(*graph.Array), graph.ZerosLike(genome.(*graph.Array))}
}

// Parent is the particle itself.
func (*PSO) Parent(_ random.Key, _ any, group *graph.Array) *graph.Array { return group }

// Places is the number of particles.
func (*PSO) Places(population int) int { return population }

// Survivors are all particles, wherever they have moved.
func (*PSO) Survivors(_ any, fitness *graph.Array) *graph.Array { return graph.Iota(fitness.Dim(0)) }

// Standing is the fitness of a particle's best place.
func (*PSO) Standing(state any, fitness *graph.Array) *graph.Array {
	return WorstIfNaN(fitness).Max(state.(PSOState).Fitness)
}
