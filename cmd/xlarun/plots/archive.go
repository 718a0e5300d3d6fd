package plots

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/chart"
	"xlarun/rollout/run/runfolder"
)

// archive is the content of runfolder.ArchiveFile. Only the first two numbers of a descriptor are drawn.
type archive struct {
	env, division string
	names         []string
	low, high     []float64
	sides         []int // of a grid; nil: cells around centres
	centres       [][]float64
	fitness       map[int]float64 // by cell
}

// Archive draws the archive of a run of qd as a map of its cells, a PNG.
func Archive(dir string) ([]byte, error) {
	c, err := archiveChart(dir)
	if err != nil {
		return nil, err
	}
	return chart.Draw("png", 6*inch, 6*inch, []*chart.Chart{c})
}

func archiveChart(dir string) (*chart.Chart, error) {
	path := filepath.Join(dir, runfolder.ArchiveFile)
	a, err := readArchive(path)
	if err != nil && console.Exists(path) {
		return nil, console.BadInput("%s cannot be drawn (%w): draw a metric by --metric", path, console.Cause(err))
	}
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
		c.Add(chart.Cell{Corners: a.corners(cell), Value: shade(a.fitness[cell])})
	}
	if least < greatest {
		const samples = 4
		for i := range samples + 1 {
			v := float64(i) / samples
			c.Legend(fmt.Sprintf("%.4g", least+v*(greatest-least)), chart.Cell{Value: v})
		}
	}
	return c, nil
}

// byFitness returns the cells with an elite, the worst first.
func (a *archive) byFitness() []int {
	cells := slices.Sorted(maps.Keys(a.fitness))
	slices.SortStableFunc(cells, func(x, y int) int { return cmp.Compare(a.fitness[x], a.fitness[y]) })
	return cells
}

// readArchive reads the file of an archive.
func readArchive(path string) (*archive, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := file.CheckDigest(); err != nil {
		return nil, err
	}
	meta := file.Metadata()
	a := &archive{env: meta["env"], division: meta["archive"], fitness: map[int]float64{}}
	centres, d, err := floats(file, "centres")
	if err != nil {
		return nil, err
	}
	a.low, a.high = numbers(meta["low"]), numbers(meta["high"])
	for _, n := range numbers(meta["sides"]) {
		a.sides = append(a.sides, int(n))
	}
	if d < 1 || len(a.low) != d || len(a.high) != d || a.sides != nil && len(a.sides) != d {
		return nil, errors.New("its metadata and its arrays do not belong together")
	}
	for centre := range slices.Chunk(centres, d) {
		a.centres = append(a.centres, centre)
	}
	if meta["descriptors"] != "" {
		a.names = strings.Split(meta["descriptors"], "; ")
	}
	for i := len(a.names); i < max(2, d); i++ {
		a.names = append(a.names, fmt.Sprintf("descriptor %d", i))
	}
	if d == 1 {
		a.widen()
	}
	return a, a.addElites(file)
}

// widen gives descriptors of one number a second one, so that they are drawn as a bar.
func (a *archive) widen() {
	a.names[1] = ""
	a.low, a.high = append(a.low, 0), append(a.high, 1)
	for i := range a.centres {
		a.centres[i] = []float64{a.centres[i][0], .5}
	}
	if a.sides != nil {
		a.sides = append(a.sides, 1)
	}
}

// addElites reads the fitness of the elites. An archive without elites has no array of their cells.
func (a *archive) addElites(file *safetensors.File) error {
	if !slices.Contains(file.Names(), "cell") {
		return nil
	}
	cells, _, err := floats(file, "cell")
	if err != nil {
		return err
	}
	fitness, _, err := floats(file, "fitness")
	if err != nil {
		return err
	}
	if len(cells) != len(fitness) {
		return fmt.Errorf("it has %d cells of elites and the fitness of %d", len(cells), len(fitness))
	}
	for i, cell := range cells {
		if !(cell >= 0 && cell < float64(len(a.centres))) {
			return fmt.Errorf("it has an elite in the cell %g, and cells from 0 to %d", cell, len(a.centres)-1)
		}
		a.fitness[int(cell)] = fitness[i]
	}
	return nil
}

// floats returns the numbers of an array and its last dimension, 0 of a scalar.
func floats(file *safetensors.File, name string) (numbers []float64, last int, err error) {
	x, err := file.Array(name)
	if err != nil {
		return nil, 0, err
	}
	if dims := x.Dims(); len(dims) > 0 {
		last = dims[len(dims)-1]
	}
	numbers, err = graph.Floats(x)
	return numbers, last, err
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
