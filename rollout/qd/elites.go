package qd

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Elites is an Archive with one elite in each cell, the best genome that was found there (Mouret and Clune,
// "Illuminating search spaces by mapping elites", 2015).
type Elites struct {
	Genomes    *graph.Array // f32[cells, n]; 0 in empty cells
	Fitness    *graph.Array // f32[cells]; -Inf in empty cells
	Descriptor *graph.Array // f32[cells, d]: the elite's own, within the bounds; 0 in empty cells
	Generation *graph.Array // i32[cells]: when the elite was found, from 0
	// Threshold, f32[cells], is what the fitness of a member has to exceed to be accepted. It is the fitness of the
	// elite, or below it with Annealing.
	Threshold *graph.Array
	// Filled lists the cells with an elite in the order in which they were filled: i32[cells], of which the first Count
	// count. So an elite is drawn in one step, however many cells are empty.
	Filled *graph.Array
	Count  *graph.Array // i32[]
}

// newElites returns an archive without elites, for genomes of n numbers and descriptors of d.
func newElites(cells, n, d int, a Annealing) Elites {
	whole := graph.ShapeOf(graph.Int32, cells)
	return Elites{Genomes: graph.Zeros(graph.ShapeOf(graph.Float32, cells, n)),
		Fitness:    graph.Full(graph.ShapeOf(graph.Float32, cells), math.Inf(-1)),
		Threshold:  a.first().BroadcastTo(cells),
		Descriptor: graph.Zeros(graph.ShapeOf(graph.Float32, cells, d)),
		Generation: graph.Zeros(whole), Filled: graph.Zeros(whole), Count: graph.Scalar(0, graph.Int32)}
}

// Cells returns the number of cells.
func (a Elites) Cells() int { return a.Fitness.Dim(0) }

// Size returns the number of elites.
func (a Elites) Size() *graph.Array { return a.Count }

// Places has a row for each cell.
func (a Elites) Places() Places {
	return Places{Cell: graph.Iota(a.Cells()), Genomes: a.Genomes, Fitness: a.Fitness, Generation: a.Generation,
		Descriptor: a.Descriptor}
}

// Draw returns the genome of an elite, drawn uniformly: f32[n]. It is 0 if the archive has none.
func (a Elites) Draw(key random.Key) *graph.Array {
	i := random.Randint(key, graph.ShapeOf(graph.Int32), 0, a.Count.Max(1))
	return graph.Take(a.Genomes, graph.Take(a.Filled, i, 0), 0)
}

// Insert puts the members into their cells; see insert.
func (a Elites) Insert(b Batch, generation *graph.Array, s Scoring) (Archive, Change) {
	return a.insert(b, generation, s.Annealing)
}

// insert puts the members into their cells. A member becomes the elite of its cell if its fitness is higher than that
// of the elite before, and than the threshold. Of several in a cell the one with the highest fitness does, and of equal
// ones the first. Members that are not valid are dropped.
func (a Elites) insert(b Batch, generation *graph.Array, annealing Annealing) (Elites, Change) {
	before, threshold := graph.Take(a.Fitness, b.Cell, 0), graph.Take(a.Threshold, b.Cell, 0)
	c := Change{Accepted: b.Valid.And(b.Fitness.Gt(threshold)), Empty: before.Eq(math.Inf(-1)),
		Improvement: graph.Select(threshold.Gt(math.Inf(-1)), b.Fitness.Sub(threshold), b.Fitness)}
	c.Improvement = graph.Select(b.Valid, c.Improvement, math.Inf(-1))
	c.Added = firstBest(a.Cells(), b.Cell, b.Fitness, b.Valid.And(b.Fitness.Gt(before)).And(c.Accepted))
	c.New = c.Added.And(c.Empty)

	to := graph.Select(c.Added, b.Cell, a.Cells()) // beyond the end: dropped
	number := c.New.Convert(graph.Int32)
	place := graph.Select(c.New, graph.CumSum(number, 0).Add(a.Count.Sub(1)), a.Cells())
	next := Elites{
		Genomes:    graph.ScatterSet(a.Genomes, to, b.Genomes),
		Fitness:    graph.ScatterSet(a.Fitness, to, b.Fitness),
		Descriptor: graph.ScatterSet(a.Descriptor, to, b.Descriptor),
		Generation: graph.ScatterSet(a.Generation, to, generation.BroadcastTo(to.Dims()...)),
		Filled:     graph.ScatterSet(a.Filled, place, b.Cell),
		Count:      a.Count.Add(number.Sum()),
	}
	next.Threshold = annealing.next(a.Threshold, next.Fitness, b, c.Accepted)
	return next, c
}

// firstBest returns for each cell the first member with the highest fitness, of those that count: bool[batch].
func firstBest(cells int, cell, fitness, counts *graph.Array) *graph.Array {
	n := cell.Dim(0)
	of := graph.Select(counts, cell, cells) // beyond the end: dropped
	best := graph.ScatterMax(graph.Full(graph.ShapeOf(graph.Float32, cells), math.Inf(-1)), of, fitness)
	equal := counts.And(fitness.Eq(graph.Take(best, cell, 0)))
	number := graph.Iota(n)
	none := graph.Full(graph.ShapeOf(graph.Int32, cells), n)
	first := graph.ScatterMin(none, graph.Select(equal, cell, cells), number)
	return equal.And(graph.Take(first, cell, 0).Eq(number))
}
