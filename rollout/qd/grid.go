package qd

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() { MustRegisterArchive("grid", &Grid{Sides: []int{32}}) }

// Grid divides each number of the descriptor into equal parts (MAP-Elites of Mouret and Clune, 2015).
type Grid struct {
	Sides []int `set:"sides" args:"" min:"1" max:"16777216" wants:"the parts of each number of the descriptor, or one number for all, with commas between" help:"parts of each number of the descriptor, or one number for all"`
}

// Make returns the archive of the cells.
func (g *Grid) Make(of Measures) (Container, error) {
	t, err := g.Divide(of.Descriptor)
	if err != nil {
		return nil, err
	}
	return Cells(t, of), nil
}

// Needs implements ArchiveMaker.
func (*Grid) Needs() Needs { return Needs{Cells: true, Descriptor: true} }

// Divide returns the cells, the last number of the descriptor changing fastest.
func (g *Grid) Divide(d int) (Tessellation, error) {
	sides := g.Sides
	if len(sides) == 1 {
		sides = nil
		for range d {
			sides = append(sides, g.Sides[0])
		}
	}
	if len(sides) != d {
		return nil, settings.Wrong("archive.sides", len(sides), "%d numbers, one for each number of the descriptor, "+
			"or one for all", d)
	}
	cells := 1
	for _, n := range sides {
		if cells > mostCells/n {
			return nil, settings.Wrong("archive.sides", g.text(), "at most %d cells in all", mostCells)
		}
		cells *= n
	}
	return grid(sides), nil
}

func (g *Grid) text() string {
	f, _ := settings.Lookup(g, "sides")
	return f.Text()
}

// grid has the number of parts of each number.
type grid []int

func (g grid) Cells() int {
	cells := 1
	for _, n := range g {
		cells *= n
	}
	return cells
}

// Sides are the numbers of parts.
func (g grid) Sides() []int { return g }

func (grid) Tables() any { return graph.None{} }

func (g grid) Cell(_ any, descriptor *graph.Array) *graph.Array {
	cell := graph.Scalar(0, graph.Int32)
	for i, n := range g {
		part := descriptor.Index(i).Mul(n).Floor().Convert(graph.Int32).Min(n - 1)
		cell = cell.Mul(n).Add(part)
	}
	return cell
}

func (g grid) Centers() [][]float64 {
	all := make([][]float64, g.Cells())
	for cell := range all {
		all[cell] = make([]float64, len(g))
		for i, rest := len(g)-1, cell; i >= 0; i-- {
			all[cell][i] = (float64(rest%g[i]) + .5) / float64(g[i])
			rest /= g[i]
		}
	}
	return all
}
