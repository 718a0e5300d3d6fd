package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Receiving is a Strategy that takes in immigrants, members of another search, instead of some of its own.
//
// For strategies that keep genomes (simplega, samrga, de, pso) an immigrant is one more member to choose from. For a
// strategy with a distribution it is the noise that would have drawn it, as in Hansen, "Injecting external solutions
// into CMA-ES" (2011, arXiv 1110.4181): the inverse of Member, cut to a likely length, so that a distant immigrant does
// not throw the search off.
type Receiving interface {
	Strategy
	// Immigrant returns the draw whose side 0 is the member with a genome, or the nearest likely one.
	Immigrant(state, genome any) any
}

// Lineal is a Strategy whose members each descend from one of the genomes in its state.
type Lineal interface {
	Strategy
	// Parent returns the number of the genome from which a group's member descends, an int32 scalar. key and group are
	// those of the draw; see Draw.
	Parent(key random.Key, state any, group *graph.Array) *graph.Array
	// Places returns the number of genomes that members descend from.
	Places(population int) int
	// Survivors returns the member that Tell puts in each place, i32[Places]; -1: the genome there stays.
	Survivors(state any, fitness *graph.Array) *graph.Array
}

// Settled is a Strategy whose groups have places in its state. A member takes its group's place only if it is better.
// Immigrants replace the groups with the worst places.
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
