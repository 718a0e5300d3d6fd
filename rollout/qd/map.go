package qd

import (
	"math"
	"sync"

	"xlarun/graph"
)

// mapPlaces says which cell each point of a map shows, row after row from the top, by the map's width and height: that
// of the display has another size than that of the file.
type mapPlaces struct {
	lock  sync.Mutex
	cells map[[2]int][]float64
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
	return r.mapOf(state.(State).Archive, width, height)
}

// mapOf returns the Map of an archive.
func (r *Run) mapOf(a Archive, width, height int) ([][]float64, error) {
	places := a.Places()
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

// mapSide is the number of rows and columns of MapFile.
const mapSide = 64

// mapFile is the content of runfolder.MapFile.
type mapFile struct {
	Generation int64        `json:"generation"`
	Names      []string     `json:"names"` // of the two numbers of the descriptor, or of the one
	Low        []float32    `json:"low"`   // bounds of these numbers
	High       []float32    `json:"high"`
	Rows       [][]*float64 `json:"rows"` // fitness from top to bottom; null where there is no elite
}

// picture returns runfolder.MapFile; nil without descriptors.
func (r *Run) picture(a Archive, generation int64) (*mapFile, error) {
	if len(r.program.Space.Dims) == 0 {
		return nil, nil
	}
	rows, err := r.mapOf(a, mapSide, mapSide)
	if err != nil {
		return nil, err
	}
	low, high := boundsOf(r.program.Space)
	shown := min(2, len(low))
	m := &mapFile{Generation: generation, Low: low[:shown], High: high[:shown],
		Names: []string{"descriptor 1", "descriptor 2"}[:shown]}
	if names := r.program.Play.Env.Spec().Descriptors; len(names) >= shown && r.config.Descriptor == "env" {
		m.Names = names[:shown]
	}
	for _, row := range rows {
		var numbers []*float64
		for _, x := range row {
			if x != x {
				numbers = append(numbers, nil)
			} else {
				numbers = append(numbers, &x)
			}
		}
		m.Rows = append(m.Rows, numbers)
	}
	return m, nil
}

// fillCells gives each point the best fitness in its cell. fitness has the same number of places for each cell.
func (r *Run) fillCells(rows [][]float64, fitness []float64) error {
	width, height, cells := len(rows[0]), len(rows), r.program.Container.Cells()
	r.places.lock.Lock()
	defer r.places.lock.Unlock()
	shown := r.places.cells[[2]int{width, height}]
	if shown == nil {
		var err error
		if shown, err = r.cellsOf(width, height); err != nil {
			return err
		}
		if len(r.places.cells) > 1 { // the terminal has another size now
			clear(r.places.cells)
		}
		if r.places.cells == nil {
			r.places.cells = map[[2]int][]float64{}
		}
		r.places.cells[[2]int{width, height}] = shown
	}
	each := len(fitness) / cells
	for i, place := range shown {
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
