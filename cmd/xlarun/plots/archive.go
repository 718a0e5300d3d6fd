package plots

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/chart"
	"xlarun/internal/quantity"
	"xlarun/rollout/run/runfolder"
)

// archive is the content of runfolder.ArchiveFile: the elites by their means over new episodes if these have been
// played, else as the search found them. Only the first two numbers of a descriptor are drawn.
type archive struct {
	env, division string
	apart         bool   // there are no cells: the centers are the elites, played again
	kept          string // of these: how many have a place
	episodes      string // new episodes of each elite; "": the archive is as the search filled it
	names         []string
	low, high     []float64
	sides         []int // of a grid; nil: cells around centers
	centers       [][]float64
	fitness       map[int]float64 // by cell, of several elites the highest
	// objectives has those of each elite; nil: there is one.
	objectives     [][]float64
	objectiveNames []string
}

// Archive draws the archive of a run of qd, a PNG: a map of its cells, and the elites' objectives.
func Archive(dir string) ([]byte, error) {
	charts, err := archiveCharts(dir)
	if err != nil {
		return nil, err
	}
	return chart.Draw("png", float64(len(charts))*6*inch, 6*inch, charts)
}

// archiveCharts returns what an archive has of a map of its cells, and a chart of objectives.
func archiveCharts(dir string) (charts []*chart.Chart, err error) {
	path := filepath.Join(dir, runfolder.ArchiveFile)
	a, err := readArchive(path)
	if err != nil && console.Exists(path) {
		return nil, console.BadInput("%s cannot be drawn (%w): draw a metric by --metric", path, console.Cause(err))
	}
	if err != nil {
		return nil, console.BadInput("%s has no archive to draw (%w): wait for the run's end, or draw a metric by "+
			"--metric", dir, console.Cause(err))
	}
	if a.centers != nil {
		charts = append(charts, a.mapChart())
	}
	if a.objectiveNames != nil {
		charts = append(charts, a.frontChart())
	}
	return charts, nil
}

// mapChart draws the cells, colored by the fitness of their elites.
func (a *archive) mapChart() *chart.Chart {
	c := &chart.Chart{XLabel: a.names[0], YLabel: a.names[1], X: &chart.Range{Min: a.low[0], Max: a.high[0]},
		Y: &chart.Range{Min: a.low[1], Max: a.high[1]}}
	c.Title = fmt.Sprintf("%s: elites in %d of %s of %s\n%s", a.env, len(a.fitness),
		quantity.Count(len(a.centers), "cell", "cells"), a.division, a.source())
	if a.apart {
		c.Title = fmt.Sprintf("%s: %s of %s, %s of them with a place\n%s", a.env,
			quantity.Count(len(a.fitness), "elite", "elites"), a.division, a.kept, a.source())
	}
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
	return c
}

// source says which numbers of the elites are drawn.
func (a *archive) source() string {
	if a.episodes == "" {
		return "as the search filled it"
	}
	return "by the means of " + a.episodes + " new episodes of each elite"
}

// frontChart draws the first two objectives of the elites, and the non-dominated ones by these two as a staircase.
func (a *archive) frontChart() *chart.Chart {
	c := &chart.Chart{XLabel: a.objectiveNames[0], YLabel: a.objectiveNames[1]}
	var points []chart.Point
	for _, o := range a.objectives {
		points = append(points, chart.Point{X: o[0], Y: o[1]})
	}
	front := paretoFront(points)
	c.Title = fmt.Sprintf("%s: %s, %d non-dominated", a.env, quantity.Count(len(points), "elite", "elites"),
		len(front))
	if k := len(a.objectiveNames); k > 2 {
		c.Title += fmt.Sprintf(" by these two of %d objectives", k)
	}
	c.Title += "\n" + a.source()
	if len(points) == 0 {
		return c
	}
	elites := chart.Dots{Points: points, Color: colors[0], Radius: 2}
	var stairs []chart.Point
	for i, p := range front {
		if i > 0 {
			stairs = append(stairs, chart.Point{X: front[i-1].X, Y: p.Y})
		}
		stairs = append(stairs, p)
	}
	line := chart.Line{Points: stairs, Color: colors[1], Width: 2}
	c.Add(elites)
	c.Add(line)
	c.Legend("elites", elites)
	c.Legend("Pareto front", line)
	return c
}

// paretoFront returns the non-dominated points, from left to right.
func paretoFront(points []chart.Point) (front []chart.Point) {
	sorted := slices.Clone(points)
	sort.Slice(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		return cmp.Or(cmp.Compare(b.X, a.X), cmp.Compare(b.Y, a.Y)) < 0
	})
	for _, p := range sorted {
		if len(front) == 0 || p.Y > front[len(front)-1].Y {
			front = append(front, p)
		}
	}
	slices.Reverse(front)
	return front
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
	if v := meta["format_version"]; v != runfolder.ArchiveVersion {
		return nil, fmt.Errorf("its format_version is %q, want %q: another version of xlarun wrote it", v,
			runfolder.ArchiveVersion)
	}
	a := &archive{env: meta["env"], division: meta["archive"], fitness: map[int]float64{}}
	if slices.Contains(file.Names(), "corrected_fitness") {
		a.episodes, a.kept = meta["corrected_episodes"], meta["corrected_elites"]
	}
	if err := a.addObjectives(file, meta["objectives"]); err != nil {
		return nil, err
	}
	if a.objectiveNames != nil && !slices.Contains(file.Names(), "centers") {
		return a, nil
	}
	centers, d, err := floats(file, "centers")
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
	for center := range slices.Chunk(centers, d) {
		a.centers = append(a.centers, center)
	}
	if meta["descriptors"] != "" {
		a.names = strings.Split(meta["descriptors"], "; ")
	}
	for i := len(a.names); i < max(2, d); i++ {
		a.names = append(a.names, fmt.Sprintf("descriptor %d", i))
	}
	err = a.addElites(file)
	if d == 1 {
		a.widen()
	}
	return a, err
}

// widen gives descriptors of one number a second one, so that they are drawn as a bar.
func (a *archive) widen() {
	a.names[1] = ""
	a.low, a.high = append(a.low, 0), append(a.high, 1)
	for i := range a.centers {
		a.centers[i] = []float64{a.centers[i][0], .5}
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
	name := "fitness"
	if a.episodes != "" {
		name = "corrected_fitness"
	}
	fitness, _, err := floats(file, name)
	if err != nil {
		return err
	}
	if d := len(a.low); a.episodes != "" && slices.Contains(file.Names(), "corrected_descriptor") {
		descriptors, k, err := floats(file, "corrected_descriptor")
		if err != nil {
			return err
		}
		if k != d || len(descriptors) != d*len(fitness) {
			return errors.New("its corrected descriptors and its elites do not belong together")
		}
		before, _, err := floats(file, "descriptor")
		if err != nil {
			return err
		}
		all := slices.Collect(slices.Chunk(descriptors, d))
		if a.apart = slices.Equal(before, slices.Concat(a.centers...)); a.apart {
			a.centers = all
		}
		cells, fitness = a.placed(all, fitness)
	}
	if len(cells) != len(fitness) {
		return fmt.Errorf("it has %d cells of elites and the fitness of %d", len(cells), len(fitness))
	}
	for i, cell := range cells {
		if !(cell >= 0 && cell < float64(len(a.centers))) {
			return fmt.Errorf("it has an elite in the cell %g, and cells from 0 to %d", cell, len(a.centers)-1)
		}
		if before, ok := a.fitness[int(cell)]; !ok || fitness[i] > before {
			a.fitness[int(cell)] = fitness[i]
		}
	}
	return nil
}

// placed returns the cells of elites with descriptors, and their fitness. Elites whose numbers are not finite have no
// cell.
func (a *archive) placed(descriptors [][]float64, fitness []float64) (cells, kept []float64) {
	for i, d := range descriptors {
		cell := i
		if !a.apart {
			cell = a.nearest(d)
		}
		if cell >= 0 && !math.IsNaN(fitness[i]) && !math.IsInf(fitness[i], 0) {
			cells, kept = append(cells, float64(cell)), append(kept, fitness[i])
		}
	}
	return cells, kept
}

// nearest returns the cell of the nearest center in shares of the bounds, which is the cell of rollout/qd for grids and
// for centroids; -1 if a number is NaN.
func (a *archive) nearest(descriptor []float64) int {
	cell, least := -1, math.Inf(1)
	for i, center := range a.centers {
		square := 0.
		for k := range center {
			x := max(a.low[k], min(descriptor[k], a.high[k]))
			square += math.Pow((x-center[k])/(a.high[k]-a.low[k]), 2)
		}
		if square < least {
			cell, least = i, square
		}
	}
	return cell
}

// addObjectives reads the objectives of the elites, if there are several.
func (a *archive) addObjectives(file *safetensors.File, names string) error {
	if names == "" {
		return nil
	}
	if a.objectiveNames = strings.Split(names, "; "); len(a.objectiveNames) < 2 {
		return errors.New("its metadata name one objective")
	}
	name := "objectives"
	if a.episodes != "" {
		name = "corrected_objectives"
	}
	if !slices.Contains(file.Names(), name) {
		return nil
	}
	values, k, err := floats(file, name)
	if err != nil {
		return err
	}
	if k != len(a.objectiveNames) {
		return fmt.Errorf("it has %d objectives and %d names of them", k, len(a.objectiveNames))
	}
	a.objectives = slices.Collect(slices.Chunk(values, k))
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
