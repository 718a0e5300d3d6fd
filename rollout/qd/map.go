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
// elites that lie in it. Without descriptors it is a map of the first two objectives.
func (r *Run) Map(width, height int) ([][]float64, error) {
	state, err := r.Loop.State()
	if err != nil {
		return nil, err
	}
	rows, _, err := r.mapOf(state.(State).Archive, width, height)
	return rows, err
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

// mapOf returns the Map of an archive, and its axes.
func (r *Run) mapOf(a Archive, width, height int) ([][]float64, axes, error) {
	places := a.Places()
	fitness, err := graph.Floats(places.Fitness)
	if err != nil {
		return nil, axes{}, err
	}
	shown, err := r.axesOf(places, fitness)
	if err != nil {
		return nil, shown, err
	}
	rows := make([][]float64, height)
	for y := range rows {
		rows[y] = make([]float64, width)
		for x := range rows[y] {
			rows[y][x] = math.NaN()
		}
	}
	if r.program.Needs.Cells && r.program.Space.Dims[0] == 2 {
		return rows, shown, r.fillCells(rows, fitness)
	}
	numbers, err := graph.Floats(shown.numbers)
	if err != nil {
		return nil, shown, err
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
			if before := rows[y][x]; before != before || f > before {
				rows[y][x] = f
			}
		}
	}
	return rows, shown, nil
}

// mapSide is the number of rows and columns of MapFile.
const mapSide = 64

// mapFile is the content of runfolder.MapFile.
type mapFile struct {
	Generation int64        `json:"generation"`
	Names      []string     `json:"names"` // of the two numbers of the descriptor, of the one, or of two objectives
	Low        []float32    `json:"low"`   // bounds of these numbers
	High       []float32    `json:"high"`
	Rows       [][]*float64 `json:"rows"` // fitness from top to bottom; null where there is no elite
}

// picture returns runfolder.MapFile.
func (r *Run) picture(a Archive, generation int64) (*mapFile, error) {
	rows, shown, err := r.mapOf(a, mapSide, mapSide)
	if err != nil {
		return nil, err
	}
	m := &mapFile{Generation: generation, Low: shown.low, High: shown.high, Names: shown.names}
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
