package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Receiving is a Strategy that takes in members which another search has found: they are told in the place of members of its own.
//
// Of strategies that keep genomes (simplega, samrga, de, pso) an immigrant is one member more to choose from. Those that have a distribution are told the noise
// that would have drawn it, as Hansen, "Injecting external solutions into CMA-ES" (2011, arXiv 1110.4181), does: the inverse of Member, and no longer
// than noise is likely to be, so that a stranger from afar turns the search but does not throw it (see likely).
type Receiving interface {
	Strategy
	// Immigrant is the draw whose side 0 is the member of a genome, or the one nearest to it that the search lets in.
	Immigrant(state, genome any) any
}

// Lineal is a Strategy whose members each descend from one of the genomes that its state keeps.
type Lineal interface {
	Strategy
	// Parent is the number of the kept genome from which a group's member comes, an int32 scalar; key and group are those of the draw. See Draw.
	Parent(key random.Key, state any, group *graph.Array) *graph.Array
	// Places is the number of genomes that members descend from.
	Places(population int) int
	// Survivors are, of these genomes as Tell keeps them, the numbers of the members that they are; -1: the genome stays that was there. i32[Places].
	Survivors(state any, fitness *graph.Array) *graph.Array
}

// Settled is a Strategy whose groups have places of their own that members take only if they are better: what a place is worth
// decides who is the worst.
type Settled interface {
	Strategy
	// Standing is what each group's place is worth after a generation, f32[population].
	Standing(state any, fitness *graph.Array) *graph.Array
}

// likely is noise z, f32[n], cut to a length of √n + 2·n/(n + 2), Hansen's bound for what is injected.
func likely(z *graph.Array) *graph.Array {
	n := float64(z.Dim(0))
	most := float32(math.Sqrt(n) + 2*n/(n+2))
	unit := magnitude(z) // the squares of large numbers are none
	length := graph.Mul(unit, graph.Sqrt(graph.Sum(graph.Square(graph.Div(z, unit)))))
	return graph.Select(graph.Gt(length, most), graph.Mul(graph.Div(z, length), most), z)
}

// noiseOf is the likely noise by which mean + scale·z is a genome.
func noiseOf(genome any, mean, scale *graph.Array) *graph.Array {
	return likely(graph.Div(graph.Sub(genome.(*graph.Array), mean), scale))
}

// Immigrant is (genome - mean)/σ.
func (*OpenES) Immigrant(state, genome any) any {
	s := state.(OpenESState)
	return noiseOf(genome, s.Mean, s.Sigma)
}

// Immigrant is (genome - mean)/σ.
func (*ARS) Immigrant(state, genome any) any {
	s := state.(ARSState)
	return noiseOf(genome, s.Mean, s.Sigma)
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
	return noiseOf(genome, s.Mean, graph.Mul(s.Sigma, graph.Sqrt(s.Variance)))
}

// Immigrant is D⁻¹·Bᵀ·(genome - mean)/σ.
func (*CMAES) Immigrant(state, genome any) any {
	s := state.(CMAESState)
	away := graph.Div(graph.Sub(genome.(*graph.Array), s.Mean), s.Sigma)
	return likely(graph.Div(graph.Dot(graph.MatrixTranspose(s.Basis), away), s.Scale))
}

// Immigrant solves σ·B·z = genome - mean.
func (*XNES) Immigrant(state, genome any) any {
	s := state.(XNESState)
	away := graph.Div(graph.Sub(genome.(*graph.Array), s.Mean), s.Sigma)
	return likely(graph.Solve(s.Shape, away))
}

// Immigrant is (1 + v·vᵀ)^-½·(genome - mean)/(σ·D).
func (*CRFMNES) Immigrant(state, genome any) any {
	s := state.(CRFMNESState)
	y := graph.Div(graph.Sub(genome.(*graph.Array), s.Mean), graph.Mul(s.Sigma, s.Scale))
	axis := s.axis()
	along := graph.Mul(graph.Sub(graph.Div(1, graph.Sqrt(graph.Add(1, axis.square))), 1), graph.Dot(y, axis.bar))
	return likely(graph.Add(y, graph.Mul(along, axis.bar)))
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

// elites are the best members, or nobody where none has a fitness.
func elites(fitness *graph.Array, count int) *graph.Array {
	order, found := best(fitness, count)
	return graph.Select(found, order, -1)
}

// Immigrant is the genome, with the standard deviation of the best elite.
func (*SAMRGA) Immigrant(state, genome any) any {
	return samrgaChild{genome.(*graph.Array), graph.Index(state.(SAMRGAState).Sigma, 0)}
}

// Parent is the elite of SampleAt.
func (*SAMRGA) Parent(key random.Key, state any, group *graph.Array) *graph.Array {
	parent := random.Randint(random.SplitN(key, 3)[0], graph.ShapeOf(graph.Int32), 0, state.(SAMRGAState).Elites.Dim(0))
	return graph.Select(graph.Eq(group, 0), 0, parent)
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
	return graph.Select(graph.Eq(s.Told, 0), group, base)
}

// Places is the number of members.
func (*DE) Places(population int) int { return population }

// Survivors are the trials that replace members.
func (*DE) Survivors(state any, fitness *graph.Array) *graph.Array {
	return replacing(fitness, state.(DEState).Fitness)
}

// replacing are the members that are no worse than who was in their places.
func replacing(fitness, before *graph.Array) *graph.Array {
	return graph.Select(graph.Ge(fitness, before), graph.Iota(fitness.Dim(0)), -1)
}

// Standing is a place's fitness after the trial.
func (*DE) Standing(state any, fitness *graph.Array) *graph.Array {
	return graph.Max(WorstIfNaN(fitness), state.(DEState).Fitness)
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
	return graph.Max(WorstIfNaN(fitness), state.(PSOState).Fitness)
}
