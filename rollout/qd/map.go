package qd

import (
	"math"

	"xlarun/graph"
)

// mapPlaces says which cell each point of a map shows.
type mapPlaces struct {
	width, height int
	cells         []float64 // row after row from the top
}

// Map returns the fitness of the elites by the first two numbers of their descriptors, as rows from top to bottom. Each
// point shows the cell that it lies in or, if descriptors have more numbers or an archive has no cells, the best of the
// elites that lie in it. It is nil without descriptors.
func (r *Run) Map(width, height int) ([][]float64, error) {
	if len(r.program.Space.Dims) == 0 {
		return nil, nil
	}
	state, err := r.Loop.State()
	if err != nil {
		return nil, err
	}
	places := state.(State).Archive.Places()
	fitness, err := graph.Floats(places.Fitness)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, height)
	for y := range rows {
		rows[y] = make([]float64, width)
		for x := range rows[y] {
			rows[y][x] = math.NaN()
		}
	}
	if r.program.Space.Dims[0] == 2 && r.program.Needs.Cells {
		return rows, r.fillCells(rows, fitness)
	}
	descriptors, err := graph.Floats(places.Descriptor)
	if err != nil {
		return nil, err
	}
	low, high := boundsOf(r.program.Space)
	d := len(low)
	at := func(i, axis, n int) int {
		unit := (descriptors[i*d+axis] - float64(low[axis])) / float64(high[axis]-low[axis])
		return max(0, min(n-1, int(unit*float64(n))))
	}
	for i, f := range fitness {
		if math.IsInf(f, -1) {
			continue
		}
		x, from, to := at(i, 0, width), 0, height
		if d > 1 {
			from = height - 1 - at(i, 1, height)
			to = from + 1
		}
		for y := from; y < to; y++ {
			if before := rows[y][x]; before != before || f > before {
				rows[y][x] = f
			}
		}
	}
	return rows, nil
}

// fillCells gives each point the best fitness in its cell. fitness has the same number of places for each cell.
func (r *Run) fillCells(rows [][]float64, fitness []float64) error {
	width, height, cells := len(rows[0]), len(rows), r.program.Container.Cells()
	if r.places.width != width || r.places.height != height {
		cells, err := r.cellsOf(width, height)
		if err != nil {
			return err
		}
		r.places = mapPlaces{width, height, cells}
	}
	each := len(fitness) / cells
	for i, place := range r.places.cells {
		cell := int(place)
		for _, f := range fitness[cell*each : (cell+1)*each] {
			if before := rows[i/width][i%width]; !math.IsInf(f, -1) && (before != before || f > before) {
				rows[i/width][i%width] = f
			}
		}
	}
	return nil
}

// cellsOf returns the cells of the middles of the points of a map.
func (r *Run) cellsOf(width, height int) (cells []float64, err error) {
	var middles []float32
	for y := range height {
		for x := range width {
			middles = append(middles, (float32(x)+.5)/float32(width), 1-(float32(y)+.5)/float32(height))
		}
	}
	var of *graph.Array
	err = graph.Try(func() {
		of = graph.VMap(func(unit *graph.Array) *graph.Array {
			return r.program.Container.Cell(r.inputs.Tables, unit)
		})(graph.Float32s(middles, width*height, 2))
	})
	if err != nil {
		return nil, err
	}
	return graph.Floats(of)
}
