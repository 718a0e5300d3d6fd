package qd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/internal/long"
)

// edgeMembers are members whose descriptors lie on borders, outside or nowhere, and whose fitness and objectives tie.
type edgeMembers struct{ genome, fitness, descriptor, objectives []float32 }

func drawEdgeMembers(r *rand.Rand, count, side, first int) (m edgeMembers) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	zero := float32(math.Copysign(0, -1))
	pick := func(from ...float32) float32 { return from[r.IntN(len(from))] }
	for i := range count {
		m.genome = append(m.genome, float32(first+i))
		m.fitness = append(m.fitness, pick(0, zero, 1, 1, -1, 2, float32(r.IntN(5)), 3e38, -3e38, nan, inf, -inf))
		for range 2 {
			border := float32(r.IntN(side+1)) / float32(side)
			m.descriptor = append(m.descriptor, pick(border, border, r.Float32(), zero, 1, 1.5, -2,
				math.Nextafter32(border, 2), math.Nextafter32(border, -1), pick(.5, nan, inf, -inf)))
			m.objectives = append(m.objectives, pick(0, zero, 1, 2, 3, pick(1, nan, inf)))
		}
	}
	return m
}

// valid says whether all numbers of a member are finite.
func (m edgeMembers) valid(i int, several bool) bool {
	all := []float32{m.fitness[i], m.descriptor[2*i], m.descriptor[2*i+1]}
	if several {
		all = append(all, m.objectives[2*i:2*i+2]...)
	}
	return !slices.ContainsFunc(all, func(x float32) bool {
		return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)
	})
}

// cell is the cell of a member in a grid of side x side cells over the unit square.
func (m edgeMembers) cell(i, side int) (cell int) {
	for _, x := range m.descriptor[2*i : 2*i+2] {
		part := int(min(max(x, 0), 1) * float32(side))
		cell = cell*side + min(part, side-1)
	}
	return cell
}

// Archives of elites and of fronts are those of a loop over the members, one after the other, in batches with ties,
// several members of a cell, descriptors at the borders and outside, and numbers that are not finite; with one cell, a
// few, and more than members.
func TestArchivesAtTheEdgesAreALoop(t *testing.T) {
	rounds := 2
	if long.On() {
		rounds = 100
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range rounds {
		for _, side := range []int{1, 3, 11} {
			const batch, front = 40, 3
			name := fmt.Sprint(side, " cells a side")
			of := Measures{2, Objectives{Front: front, Names: "a,b", Reference: []float64{0, 0}}}
			scoring := Scoring{Objectives: of.Objectives}
			cells := side * side
			elites, fronts := newElites(cells, 1, 2, bestOfCell), Cells(grid{side, side}, of).Empty(1, scoring)
			best, owner := slices.Repeat([]float64{math.Inf(-1)}, cells), make([]float64, cells)
			type elite struct{ genome, a, b float32 }
			want := make([][]elite, cells)
			for generation := range 3 {
				m := drawEdgeMembers(r, batch, side, 1+batch*generation)
				b := batchOf(grid{side, side}, envs.Positive(1, 1), graph.Float32s(m.genome, batch, 1),
					graph.Float32s(m.fitness), graph.Float32s(m.descriptor, batch, 2))
				elites, _ = elites.insert(b, graph.Of(int32(generation)), bestOfCell)
				b.Objectives = graph.Float32s(m.objectives, batch, 2)
				b.Valid = b.Valid.And(b.Objectives.IsFinite().All(1))
				fronts, _ = fronts.Insert(b, graph.Of(int32(generation)), scoring)
				for i := range batch {
					cell := m.cell(i, side)
					if f := float64(m.fitness[i]); m.valid(i, false) && f > best[cell] {
						best[cell], owner[cell] = f, float64(m.genome[i])
					}
					if !m.valid(i, true) {
						continue
					}
					x := elite{m.genome[i], m.objectives[2*i], m.objectives[2*i+1]}
					beats := func(x, y elite) bool {
						return x.a >= y.a && x.b >= y.b && (x.a > y.a || x.b > y.b)
					}
					if !slices.ContainsFunc(want[cell], func(y elite) bool { return beats(y, x) }) {
						want[cell] = slices.DeleteFunc(want[cell], func(y elite) bool { return beats(x, y) })
						if len(want[cell]) < front {
							want[cell] = append(want[cell], x)
						}
					}
				}
			}
			require.Equal(t, best, floats(t, elites.Fitness), name)
			require.Equal(t, owner, floats(t, elites.Genomes), name)
			filled, placed := 0, 0
			for cell := range cells {
				if !math.IsInf(best[cell], -1) {
					filled++
				}
				var genomes, mine []float64
				for _, x := range want[cell] {
					genomes = append(genomes, float64(x.genome))
				}
				objectives := floats(t, fronts.(Fronts).Objectives)
				for k := cell * front; k < (cell+1)*front; k++ {
					if !math.IsInf(objectives[2*k], -1) {
						mine = append(mine, floats(t, fronts.(Fronts).Genomes)[k])
					}
				}
				require.ElementsMatch(t, genomes, mine, "%s, cell %d", name, cell)
				placed += min(1, len(mine))
			}
			require.EqualValues(t, filled, floats(t, elites.Count)[0], name)
			require.EqualValues(t, placed, floats(t, fronts.Size())[0], name)
			listed := floats(t, elites.Filled)[:filled]
			slices.Sort(listed)
			require.Len(t, slices.Compact(listed), filled, "a cell is listed once")
		}
	}
}
