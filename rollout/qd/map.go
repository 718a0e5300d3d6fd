package qd

import (
	"math"
	"slices"
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
// elites that lie in it. Without descriptors it is a map of the first two objectives.
func (r *Run) Map(width, height int) ([][]float64, error) {
	state, err := r.Loop.State()
	if err != nil {
		return nil, err
	}
	best, fitness, _, err := r.mapOf(state.(State).Archive, width, height)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, height)
	for y, row := range best {
		for _, place := range row {
			if place < 0 {
				rows[y] = append(rows[y], math.NaN())
			} else {
				rows[y] = append(rows[y], fitness[place])
			}
		}
	}
	return rows, nil
}

// axes are what a map shows: numbers of all places, and the names and bounds of the one or two numbers that are shown.
type axes struct {
	numbers   *graph.Array // f32[places, k]
	names     []string
	low, high []float32
}

// axesOf returns the axes of a map of the places: those of the descriptors, or objectives within the bounds of those
// of the elites. fitness is -Inf where there is no elite.
func (r *Run) axesOf(places Places, fitness []float64) (axes, error) {
	if len(r.program.Space.Dims) > 0 {
		low, high := boundsOf(r.program.Space)
		shown := min(2, len(low))
		x := axes{places.Descriptor, []string{"descriptor 1", "descriptor 2"}[:shown], low[:shown], high[:shown]}
		if names := r.program.Play.Env.Spec().Descriptors; len(names) >= shown && r.config.Descriptor == "env" {
			x.names = names[:shown]
		}
		return x, nil
	}
	names := r.program.Objectives.names()
	x := axes{places.Objectives, names[:2], make([]float32, 2), make([]float32, 2)}
	values, err := graph.Floats(places.Objectives)
	if err != nil {
		return x, err
	}
	first := true
	for i, f := range fitness {
		if math.IsInf(f, -1) {
			continue
		}
		for j := range 2 {
			v := float32(values[i*len(names)+j])
			if first {
				x.low[j], x.high[j] = v, v
			}
			x.low[j], x.high[j] = min(x.low[j], v), max(x.high[j], v)
		}
		first = false
	}
	for j := range 2 {
		if x.low[j] == x.high[j] {
			x.low[j], x.high[j] = x.low[j]-.5, x.high[j]+.5
		}
	}
	return x, nil
}

// mapOf returns the place of the elite that each point of the Map shows, -1 for none, the fitness of all places, and
// the axes.
func (r *Run) mapOf(a Archive, width, height int) (best [][]int, fitness []float64, shown axes, err error) {
	places := a.Places()
	if fitness, err = graph.Floats(places.Fitness); err != nil {
		return nil, nil, shown, err
	}
	if shown, err = r.axesOf(places, fitness); err != nil {
		return nil, nil, shown, err
	}
	best = make([][]int, height)
	for y := range best {
		best[y] = slices.Repeat([]int{-1}, width)
	}
	if r.program.Needs.Cells && r.program.Space.Dims[0] == 2 {
		return best, fitness, shown, r.fillCells(best, fitness)
	}
	numbers, err := graph.Floats(shown.numbers)
	if err != nil {
		return nil, nil, shown, err
	}
	k := shown.numbers.Dim(1)
	at := func(i, axis, n int) int {
		low, high := float64(shown.low[axis]), float64(shown.high[axis])
		return max(0, min(n-1, int((numbers[i*k+axis]-low)/(high-low)*float64(n))))
	}
	for i, f := range fitness {
		if math.IsInf(f, -1) {
			continue
		}
		x, from, to := at(i, 0, width), 0, height
		if len(shown.low) > 1 {
			from = height - 1 - at(i, 1, height)
			to = from + 1
		}
		for y := from; y < to; y++ {
			if before := best[y][x]; before < 0 || f > fitness[before] {
				best[y][x] = i
			}
		}
	}
	return best, fitness, shown, nil
}

// mapSide is the number of rows and columns of MapFile.
const mapSide = 64

// mapFile is the content of runfolder.MapFile.
type mapFile struct {
	Generation int64        `json:"generation"`
	Names      []string     `json:"names"` // of the two numbers of the descriptor, of the one, or of two objectives
	Low        []float32    `json:"low"`   // bounds of these numbers
	High       []float32    `json:"high"`
	Rows       [][]*float64 `json:"rows"`  // fitness from top to bottom; null where there is no elite
	Cells      [][]int      `json:"cells"` // of ArchiveFile that the elites are in; -1 where there is none
}

// picture returns runfolder.MapFile. cells has the number of the cell for each place.
func (r *Run) picture(a Archive, cells *graph.Array, generation int64) (*mapFile, error) {
	best, fitness, shown, err := r.mapOf(a, mapSide, mapSide)
	if err != nil {
		return nil, err
	}
	names, err := graph.Floats(cells)
	if err != nil {
		return nil, err
	}
	m := &mapFile{Generation: generation, Low: shown.low, High: shown.high, Names: shown.names, Cells: best}
	for _, row := range best {
		numbers := make([]*float64, len(row))
		for x, place := range row {
			if place >= 0 {
				numbers[x], row[x] = &fitness[place], int(names[place])
			}
		}
		m.Rows = append(m.Rows, numbers)
	}
	return m, nil
}

// fillCells gives each point the best place of its cell. fitness has the same number of places for each cell.
func (r *Run) fillCells(best [][]int, fitness []float64) error {
	width, height, cells := len(best[0]), len(best), r.program.Container.Cells()
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
	for i, cell := range shown {
		point := &best[i/width][i%width]
		for place := int(cell) * each; place < int(cell+1)*each; place++ {
			if f := fitness[place]; !math.IsInf(f, -1) && (*point < 0 || f > fitness[*point]) {
				*point = place
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
