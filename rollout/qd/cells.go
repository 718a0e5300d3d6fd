package qd

import (
	"fmt"

	"xlarun/graph"
	"xlarun/internal/quantity"
)

// Cells returns the archive of a tessellation: with one elite in each cell, or a Pareto front if of.Front is not 0.
func Cells(t Tessellation, of Measures) Container {
	if of.Front > 0 {
		return frontCells{t, of}
	}
	return eliteCells{t, of.Descriptor}
}

// eliteCells is the Container of Elites.
type eliteCells struct {
	Tessellation
	d int
}

func (c eliteCells) Empty(n int, s Scoring) Archive { return newElites(c.Cells(), n, c.d, s.Annealing) }
func (c eliteCells) Most() int                      { return c.Cells() }
func (eliteCells) Metrics() []string                { return elitesMetrics }

func (c eliteCells) Summary(metric func(name string) float64) string {
	return fmt.Sprintf("%.0f of %s filled, QD score %.6g, best %.4g", metric("coverage")*float64(c.Cells()),
		quantity.Count(c.Cells(), "cell", "cells"), metric("qd_score"), metric("best_fitness"))
}

// Traits are none.
func (eliteCells) Traits() (t ContainerTraits) { return t }

// withoutCells is the Tessellation of an archive without cells, of so many places: each counts as a cell.
type withoutCells int

func (n withoutCells) Cells() int { return int(n) }
func (withoutCells) Tables() any  { return graph.None{} }
func (withoutCells) Cell(any, *graph.Array) *graph.Array {
	return graph.Scalar(0, graph.Int32)
}
func (withoutCells) Centers() [][]float64 { return nil }
func (withoutCells) Sides() []int         { return nil }
