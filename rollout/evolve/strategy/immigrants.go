package strategy

import (
	"math"

	"xlarun/graph"
)

// likely returns noise z, f32[n], cut to a length of √n + 2·n/(n + 2), Hansen's bound for injected solutions.
func likely(z *graph.Array) *graph.Array {
	n := float64(z.Dim(0))
	most := float32(math.Sqrt(n) + 2*n/(n+2))
	unit := magnitude(z) // squares of large numbers overflow
	length := unit.Mul(z.Div(unit).Square().Sum().Sqrt())
	return graph.Select(length.Gt(most), z.Div(length).Mul(most), z)
}

// noiseOf returns the likely noise z with which mean + scale·z is a genome.
func noiseOf(genome, mean, scale *graph.Array) *graph.Array {
	return likely(genome.Sub(mean).Div(scale))
}
