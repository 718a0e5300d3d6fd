package qd

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Archive holds the elites of quality-diversity search: in each cell the best genome that was found there (Mouret and
// Clune, "Illuminating search spaces by mapping elites", 2015). It is a tree, the same on every device.
type Archive struct {
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

// Annealing makes the thresholds of an archive rise slowly, so that a search stays longer in a cell (CMA-MAE of
// Fontaine and Nikolaidis, "Covariance matrix adaptation MAP-annealing", 2023). With k members of mean fitness m
// accepted in a cell, its threshold t becomes (1-Rate)ᵏ·t + (1 - (1-Rate)ᵏ)·m, as in pyribs 0.12. Unlike there, the
// archive always keeps the best member of a cell: there is no second archive of results.
type Annealing struct {
	Rate settings.Number `set:"learning-rate" min:"0" max:"1"`
	_    struct{}        `help:"how far the threshold of a cell moves to the fitness of accepted members (CMA-MAE); 1:"`
	_    struct{}        `help:"the threshold is the elite's fitness (MAP-Elites)"`
	Min  settings.Number `set:"threshold-min" needs:"learning-rate=!1"`
	_    struct{}        `help:"threshold of empty cells, with a learning rate below 1"`
}

// first returns the threshold of an empty cell, f32[].
func (a Annealing) first() *graph.Array {
	return graph.Select(a.Rate.Array().Lt(1), a.Min.Array(), math.Inf(-1))
}

// next returns the thresholds after an insertion, given the elites' fitness after it.
func (a Annealing) next(threshold, fitness *graph.Array, b Batch, accepted *graph.Array) *graph.Array {
	zeros, of := graph.ZerosLike(threshold), graph.Select(accepted, b.Cell, threshold.Dim(0))
	count := graph.ScatterAdd(zeros, of, graph.OnesLike(b.Fitness))
	mean := graph.ScatterAdd(zeros, of, b.Fitness).Div(count)
	stays := graph.Sub(1, a.Rate.Array()).Pow(count)
	annealed := stays.Mul(threshold).Add(graph.Sub(1, stays).Mul(mean))
	return graph.Select(a.Rate.Array().Lt(1), graph.Select(count.Gt(0), annealed, threshold), fitness)
}

// NewArchive returns an archive without elites, for genomes of n numbers and descriptors of d.
func NewArchive(cells, n, d int, a Annealing) Archive {
	whole := graph.ShapeOf(graph.Int32, cells)
	return Archive{Genomes: graph.Zeros(graph.ShapeOf(graph.Float32, cells, n)),
		Fitness:    graph.Full(graph.ShapeOf(graph.Float32, cells), math.Inf(-1)),
		Threshold:  a.first().BroadcastTo(cells),
		Descriptor: graph.Zeros(graph.ShapeOf(graph.Float32, cells, d)),
		Generation: graph.Zeros(whole), Filled: graph.Zeros(whole), Count: graph.Zeros(graph.ShapeOf(graph.Int32))}
}

// Cells returns the number of cells.
func (a Archive) Cells() int { return a.Fitness.Dim(0) }

// Elite returns the genome of the i-th cell that was filled, i32[].
func (a Archive) Elite(i *graph.Array) *graph.Array {
	return graph.Take(a.Genomes, graph.Take(a.Filled, i, 0), 0)
}

// Batch are the members of a generation.
type Batch struct {
	Genomes    *graph.Array // f32[batch, n]
	Fitness    *graph.Array // f32[batch]
	Descriptor *graph.Array // f32[batch, d], within the bounds
	Unit       *graph.Array // f32[batch, d]: the descriptor with its bounds at 0 and 1
	Cell       *graph.Array // i32[batch]: where the descriptor lies; any number of members that are not Valid
	Valid      *graph.Array // bool[batch]: fitness and descriptor are finite
}

// Change says what an insertion did.
type Change struct {
	Added *graph.Array // bool[batch]: the member is the new elite of its cell
	New   *graph.Array // bool[batch]: and the cell was empty
	// Accepted, bool[batch], says that the member's fitness exceeds the threshold of its cell before the insertion, and
	// Empty that the cell had no elite then.
	Accepted, Empty *graph.Array
	// Improvement, f32[batch], is the member's fitness less the threshold of its cell before the insertion. It is the
	// fitness itself where there was no threshold, and -Inf for members that are not valid.
	Improvement *graph.Array
}

// Insert puts the members into their cells. A member becomes the elite of its cell if its fitness is higher than that
// of the elite before, and than the threshold. Of several in a cell the one with the highest fitness does, and of equal
// ones the first. Members that are not valid are dropped.
func (a Archive) Insert(b Batch, generation *graph.Array, how Annealing) (Archive, Change) {
	before, threshold := graph.Take(a.Fitness, b.Cell, 0), graph.Take(a.Threshold, b.Cell, 0)
	c := Change{Accepted: b.Valid.And(b.Fitness.Gt(threshold)), Empty: before.Eq(math.Inf(-1)),
		Improvement: graph.Select(threshold.Gt(math.Inf(-1)), b.Fitness.Sub(threshold), b.Fitness)}
	c.Improvement = graph.Select(b.Valid, c.Improvement, math.Inf(-1))
	c.Added = firstBest(a.Cells(), b.Cell, b.Fitness, b.Valid.And(b.Fitness.Gt(before)).And(c.Accepted))
	c.New = c.Added.And(c.Empty)

	to := graph.Select(c.Added, b.Cell, a.Cells()) // beyond the end: dropped
	number := c.New.Convert(graph.Int32)
	place := graph.Select(c.New, graph.CumSum(number, 0).Add(a.Count.Sub(1)), a.Cells())
	next := Archive{
		Genomes:    graph.ScatterSet(a.Genomes, to, b.Genomes),
		Fitness:    graph.ScatterSet(a.Fitness, to, b.Fitness),
		Descriptor: graph.ScatterSet(a.Descriptor, to, b.Descriptor),
		Generation: graph.ScatterSet(a.Generation, to, generation.BroadcastTo(to.Dims()...)),
		Filled:     graph.ScatterSet(a.Filled, place, b.Cell),
		Count:      a.Count.Add(number.Sum()),
	}
	next.Threshold = how.next(a.Threshold, next.Fitness, b, c.Accepted)
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

// Score sums an archive up.
type Score struct {
	Coverage *graph.Array // f32[]: share of the cells that have an elite
	QD       *graph.Array // f32[]: sum of the elites' fitness, each plus an offset
	Best     *graph.Array // f32[]: the highest fitness; -Inf of an empty archive
	Mean     *graph.Array // f32[]: of the elites; NaN of an empty archive
}

// Score returns coverage and QD score (Pugh et al., "Quality diversity: a new frontier for evolutionary computation",
// 2016). With an offset below which no fitness lies, filling a cell never lowers the QD score.
func (a Archive) Score(offset *graph.Array) Score {
	filled := a.Fitness.Gt(math.Inf(-1))
	sum := graph.Select(filled, a.Fitness, graph.ZerosLike(a.Fitness)).Sum()
	count := a.Count.Convert(graph.Float32)
	return Score{Coverage: count.Div(float32(a.Cells())), QD: sum.Add(offset.Mul(count)), Best: a.Fitness.ReduceMax(),
		Mean: sum.Div(count)}
}
