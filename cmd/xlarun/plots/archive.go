package plots

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/chart"
)

// ArchiveFile is the file of a run of qd that Archive draws.
const ArchiveFile = "archive.safetensors"

// archive is the content of the file. Only the first two numbers of a descriptor are drawn.
type archive struct {
	env, division string
	names         []string
	low, high     []float64
	sides         []int // of a grid; nil: cells around centres
	centres       [][]float64
	fitness       map[int]float64 // by cell
}

// Archive draws the archive of a run of qd as a map of its cells, in one of the picture formats.
func Archive(dir, format string) ([]byte, error) {
	c, err := archiveChart(dir)
	if err != nil {
		return nil, err
	}
	return chart.Draw(format, 6*inch, 6*inch, []*chart.Chart{c})
}

func archiveChart(dir string) (*chart.Chart, error) {
	a, err := readArchive(filepath.Join(dir, ArchiveFile))
	if err != nil {
		return nil, console.BadInput("%s has no archive to draw (%w): wait for the run's end, or draw a metric by "+
			"--metric", dir, console.Cause(err))
	}
	c := &chart.Chart{XLabel: a.names[0], YLabel: a.names[1], X: &chart.Range{Min: a.low[0], Max: a.high[0]},
		Y: &chart.Range{Min: a.low[1], Max: a.high[1]}}
	c.Title = fmt.Sprintf("%s: elites in %d of the %d cells of %s", a.env, len(a.fitness), len(a.centres), a.division)
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, f := range a.fitness {
		least, greatest = min(least, f), max(greatest, f)
	}
	shade := func(f float64) float64 {
		if greatest == least {
			return 1
		}
		return (f - least) / (greatest - least)
	}
	// Cells that differ only in further numbers of the descriptor lie over each other: the best is drawn last.
	for _, cell := range a.byFitness() {
		c.Add(chart.Cells{Cells: []chart.Cell{{Corners: a.corners(cell), Value: shade(a.fitness[cell])}}})
	}
	if len(a.fitness) > 0 {
		const samples = 4
		for i := range samples + 1 {
			v := float64(i) / samples
			c.Legend(fmt.Sprintf("%.4g", least+v*(greatest-least)), chart.Cells{Sample: v})
		}
	}
	return c, nil
}

func readArchive(path string) (*archive, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	meta := file.Metadata()
	floats := func(name string) ([]float64, int, error) {
		x, err := file.Array(name)
		if err != nil {
			return nil, 0, err
		}
		v, err := graph.Floats(x)
		return v, x.Dims()[len(x.Dims())-1], err
	}
	a := &archive{env: meta["env"], division: meta["archive"], fitness: map[int]float64{}}
	centres, d, err := floats("centres")
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(centres); i += d {
		a.centres = append(a.centres, centres[i:i+d])
	}
	a.low, a.high = numbers(meta["low"]), numbers(meta["high"])
	for _, n := range numbers(meta["sides"]) {
		a.sides = append(a.sides, int(n))
	}
	if len(a.low) != d || len(a.high) != d || a.sides != nil && len(a.sides) != d {
		return nil, fmt.Errorf("its metadata and its arrays do not belong together")
	}
	if meta["descriptors"] != "" {
		a.names = strings.Split(meta["descriptors"], "; ")
	}
	for i := len(a.names); i < max(2, d); i++ {
		a.names = append(a.names, fmt.Sprintf("descriptor %d", i))
	}
	if d == 1 { // drawn as a bar
		a.names[1] = ""
		a.low, a.high = append(a.low, 0), append(a.high, 1)
		for i := range a.centres {
			a.centres[i] = []float64{a.centres[i][0], .5}
		}
		if a.sides != nil {
			a.sides = append(a.sides, 1)
		}
	}
	cells, _, err := floats("cell")
	if err != nil {
		return a, nil //nolint:nilerr // an empty archive
	}
	fitness, _, err := floats("fitness")
	for i := range fitness {
		a.fitness[int(cells[i])] = fitness[i]
	}
	return a, err
}

// numbers reads numbers between commas.
func numbers(text string) (all []float64) {
	for part := range strings.SplitSeq(text, ",") {
		if x, err := strconv.ParseFloat(part, 64); err == nil {
			all = append(all, x)
		}
	}
	return all
}
