package qd

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Tessellation cuts the space of descriptors into cells. Descriptors are scaled to [0, 1] by the bounds.
type Tessellation interface {
	// Cells returns the number of cells.
	Cells() int
	// Tables returns the arrays that Cell needs, a tree on the host. They are inputs of the program.
	Tables() any
	// Cell returns the cell, i32[], of a scaled descriptor, f32[d]. It is traced, for one descriptor.
	Cell(tables any, descriptor *graph.Array) *graph.Array
	// Centers returns a point of each cell, scaled: cells x d.
	Centers() [][]float64
	// Sides returns the number of equal parts of each number of the descriptor; nil: the cells are no such parts.
	Sides() []int
}

var archives = settings.NewRegistry[ArchiveMaker]("qd", "archive", "archive")

// MustRegisterArchive adds a kind of archive with its default settings, for --archive; Cells makes one of a
// Tessellation. It panics if the name is taken.
func MustRegisterArchive(name string, defaults ArchiveMaker) {
	archives.MustRegister(name, func() ArchiveMaker { return settings.Copy(defaults) })
}

// mostCells bounds the cells of an archive.
const mostCells = 1 << 24

// scaled returns a descriptor with the bounds at 0 and 1, and whether it was inside of them.
func scaled(space envs.Box, descriptor *graph.Array) (unit, inside *graph.Array) {
	low, high := boundsOf(space)
	unit = descriptor.Sub(graph.Float32s(low)).Div(graph.Float32s(widths(low, high)))
	return graph.Clamp(0., unit, 1.), unit.Ge(0).And(unit.Le(1)).All()
}

// boundsOf returns the bounds of each element.
func boundsOf(space envs.Box) (low, high []float32) {
	for i := range space.Dims[0] {
		l, h := space.Low[0], space.High[0]
		if len(space.Low) > 1 {
			l, h = space.Low[i], space.High[i]
		}
		low, high = append(low, float32(l)), append(high, float32(h))
	}
	return low, high
}

func widths(low, high []float32) (w []float32) {
	for i := range low {
		w = append(w, high[i]-low[i])
	}
	return w
}
