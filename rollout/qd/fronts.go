package qd

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
)

// Fronts is an Archive with a Pareto front in each cell: members that do not dominate each other (multi-objective
// MAP-Elites of Pierrot et al., "Multi-objective quality diversity optimization", 2022).
type Fronts struct {
	Genomes    *graph.Array // f32[cells·front, n], cell after cell
	Fitness    *graph.Array // f32[cells·front]: mean return
	Descriptor *graph.Array // f32[cells·front, d]
	Generation *graph.Array // i32[cells·front]: when the elite was found, from 0
	Objectives *graph.Array // f32[cells, front, k]; -Inf where there is no elite
	Filled     *graph.Array // i32[cells]: cells with an elite in the order in which they were filled, the first Count
	Count      *graph.Array // i32[]
}

// frontCells is the Container of Fronts.
type frontCells struct {
	Tessellation
	of Measures
}

// Traits say that an insertion needs much memory.
func (c frontCells) Traits() ContainerTraits { return ContainerTraits{Workspace: c.Workspace} }

// Most is the number of places.
func (c frontCells) Most() int { return c.Cells() * c.of.Front }

// Empty returns fronts without members.
func (c frontCells) Empty(n int, _ Scoring) Archive {
	places, cells, k := c.Most(), c.Cells(), len(c.of.names())
	whole := graph.ShapeOf(graph.Int32, places)
	return Fronts{Genomes: graph.Zeros(graph.ShapeOf(graph.Float32, places, n)),
		Fitness:    graph.Full(graph.ShapeOf(graph.Float32, places), math.Inf(-1)),
		Descriptor: graph.Zeros(graph.ShapeOf(graph.Float32, places, c.of.Descriptor)), Generation: graph.Zeros(whole),
		Objectives: graph.Full(graph.ShapeOf(graph.Float32, cells, c.of.Front, k), math.Inf(-1)),
		Filled:     graph.Zeros(graph.ShapeOf(graph.Int32, cells)), Count: graph.Scalar(0, graph.Int32)}
}

// Workspace returns the bytes of an insertion, which compares members with the fronts of their cells, or of the
// hypervolumes.
func (c frontCells) Workspace(batch, _ int) int64 {
	k, front := len(c.of.names()), c.of.Front
	compared := 4 * int64(batch) * int64(front) * int64(2*k+2)
	changed := 4 * int64(c.Most()) * int64(2*k+1)
	return max(compared+changed, int64(c.Cells())*hypervolumeBytes(front, k), hypervolumeBytes(c.Most(), k))
}

// Metrics names the numbers of Fronts.Metrics.
func (frontCells) Metrics() []string {
	return []string{"coverage", "moqd_score", "hypervolume", "elites", "best_fitness", "new_cells", "added"}
}

// Summary says how many cells and elites there are.
func (c frontCells) Summary(metric func(name string) float64) string {
	return fmt.Sprintf("%.0f of %s filled by %s, hypervolume %.6g, of all cells together %.6g%s",
		metric("coverage")*float64(c.Cells()), quantity.Count(c.Cells(), "cell", "cells"),
		quantity.Count(metric("elites"), "elite", "elites"), metric("hypervolume"), metric("moqd_score"),
		c.of.remark(metric("hypervolume"), metric("elites")))
}

// Size returns the number of cells with an elite.
func (a Fronts) Size() *graph.Array { return a.Count }

// front returns the number of places of a cell.
func (a Fronts) front() int { return a.Objectives.Dim(1) }

// occupied returns which places of fronts, f32[…, front, k], have an elite.
func occupied(objectives *graph.Array) *graph.Array {
	return objectives.Gt(math.Inf(-1)).All(objectives.Rank() - 1)
}

// Places has a row for each place of each front.
func (a Fronts) Places() Places {
	return Places{Cell: graph.Quo(graph.Iota(a.Genomes.Dim(0)), a.front()), Genomes: a.Genomes, Fitness: a.Fitness,
		Generation: a.Generation, Descriptor: a.Descriptor, Objectives: a.Objectives.MergeAxes(0, 2)}
}

// Draw draws a cell, then one of its elites, both uniformly.
func (a Fronts) Draw(key random.Key) *graph.Array {
	// Keys and the cell are computed once: XLA would otherwise compile for minutes.
	first, second := random.Split2(key)
	cell := graph.Once(graph.Take(a.Filled, random.Randint(first, graph.ShapeOf(graph.Int32), 0, a.Count.Max(1)), 0))
	upTo := graph.CumSum(occupied(graph.Take(a.Objectives, cell, 0)).Convert(graph.Int32), 0)
	number := random.Randint(second, graph.ShapeOf(graph.Int32), 0, upTo.ReduceMax().Max(1))
	place := upTo.Gt(number).Convert(graph.Int32).ArgMax(0)
	return graph.Take(a.Genomes, cell.Mul(a.front()).Add(place), 0)
}

// insertCarry is the carry of the loop that inserts members.
type insertCarry struct {
	Turn       *graph.Array // i32[]
	Objectives *graph.Array // f32[cells, front, k]
	Owner      *graph.Array // i32[cells, front]: the member that took the place; -1: none of these
	Place      *graph.Array // i32[batch]: in the front of its cell; -1: it was dominated, or found no place
}

// Insert puts the members into the fronts of their cells, one after the other. A member that an elite dominates is
// dropped. Otherwise the elites that it dominates leave, and it takes the first free place. It is dropped if there is
// none. That is the rule of QDax 0.5.0.
//
// Members of different cells do not meet, so the first members of all cells are inserted together, then the second
// ones, and so on.
func (a Fronts) Insert(b Batch, generation *graph.Array, _ Scoring) (Archive, Change) {
	cells, front, batch := a.Objectives.Dim(0), a.front(), b.Cell.Dim(0)
	turn := turns(graph.Select(b.Valid, b.Cell, cells))
	last := graph.Select(b.Valid, turn, -1).ReduceMax()
	member := b.Objectives.ExpandDims(1)
	end := graph.While(func(c insertCarry) *graph.Array { return c.Turn.Le(last) }, func(c insertCarry) insertCarry {
		elites := graph.Once(graph.Take(c.Objectives, b.Cell, 0)) // [batch, front, k]
		free := dominates(member, elites)                         // or empty
		enters := b.Valid.And(turn.Eq(c.Turn)).And(dominates(elites, member).Any(1).Not()).And(free.Any(1))
		place := free.Convert(graph.Int32).ArgMax(1)
		mine := graph.Iota(front).ExpandDims(0).Eq(place.ExpandDims(1))
		next := graph.Select(free.ExpandDims(2), math.Inf(-1), elites)
		next = graph.Select(mine.ExpandDims(2), member, next)
		owner := graph.Select(free, -1, graph.Take(c.Owner, b.Cell, 0))
		owner = graph.Select(mine, graph.Iota(batch).ExpandDims(1), owner)
		to := graph.Select(enters, b.Cell, cells) // beyond the end: dropped
		return insertCarry{c.Turn.Add(1), graph.ScatterSet(c.Objectives, to, next),
			graph.ScatterSet(c.Owner, to, owner), graph.Select(enters, place, c.Place)}
	}, insertCarry{graph.Scalar(0, graph.Int32), a.Objectives,
		graph.Full(graph.ShapeOf(graph.Int32, cells, front), -1), graph.Full(graph.ShapeOf(graph.Int32, batch), -1)})

	at := b.Cell.Mul(front).Add(end.Place.Max(0))
	c := Change{Accepted: end.Place.Ge(0), Empty: occupied(graph.Take(a.Objectives, b.Cell, 0)).Any(1).Not()}
	c.Added = c.Accepted.And(graph.Take(end.Owner.Reshape(cells*front), at, 0).Eq(graph.Iota(batch)))
	c.New = b.Valid.And(c.Empty).And(turn.Eq(0)) // the first member of an empty cell
	c.Improvement = graph.Select(b.Valid, b.Fitness, math.Inf(-1))

	to := graph.Select(c.Added, at, cells*front)
	number := c.New.Convert(graph.Int32)
	filled := graph.Select(c.New, graph.CumSum(number, 0).Add(a.Count.Sub(1)), cells)
	next := Fronts{
		Genomes:    graph.ScatterSet(a.Genomes, to, b.Genomes),
		Fitness:    graph.ScatterSet(a.Fitness, to, b.Fitness),
		Descriptor: graph.ScatterSet(a.Descriptor, to, b.Descriptor),
		Generation: graph.ScatterSet(a.Generation, to, generation.BroadcastTo(batch)),
		Objectives: end.Objectives,
		Filled:     graph.ScatterSet(a.Filled, filled, b.Cell),
		Count:      a.Count.Add(number.Sum()),
	}
	next.Fitness = graph.Select(occupied(next.Objectives).Reshape(cells*front), next.Fitness, math.Inf(-1))
	return next, c
}

// turns returns for each member how many before it are in the same cell: i32[batch].
func turns(cell *graph.Array) *graph.Array {
	n := cell.Dim(0)
	sorted := graph.SortKV([]*graph.Array{cell, graph.Iota(n)}, 0, 1)
	place := graph.Iota(n)
	begins := sorted[0].Ne(graph.Take(sorted[0], place.Sub(1).Max(0), 0)).Or(place.Eq(0))
	first := graph.CumMax(graph.Select(begins, place, 0), 0)
	return graph.ScatterSet(graph.ZerosLike(place), sorted[1], place.Sub(first))
}

// Metrics returns the numbers of frontCells.Metrics. moqd_score is the sum of the hypervolumes of the fronts,
// hypervolume that of all elites together.
func (a Fronts) Metrics(c Change, s Scoring) []*graph.Array {
	point, cells := s.reference(), a.Objectives.Dim(0)
	each := graph.VMap(func(front *graph.Array) *graph.Array { return hypervolume(front, point) })(a.Objectives)
	return []*graph.Array{a.Count.Convert(graph.Float32).Div(float32(cells)), each.Sum(),
		hypervolume(a.Objectives.MergeAxes(0, 2), point), count(occupied(a.Objectives)), a.Fitness.ReduceMax(),
		count(c.New), count(c.Added)}
}
