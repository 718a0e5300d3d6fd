package plots

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/chart"
	"xlarun/rollout/run/runfolder"
)

// gridFile has two of the four cells of a grid, over descriptors from 0 to 2 and from -1 to 1.
func gridFile() (map[string]*graph.Array, map[string]string) {
	return map[string]*graph.Array{
			"centers": graph.Float32s([]float32{.5, -.5, .5, .5, 1.5, -.5, 1.5, .5}, 4, 2),
			"cell":    graph.Int32s([]int32{0, 3}), "fitness": graph.Float32s([]float32{1, 5})},
		map[string]string{"env": "Arm-v0", "archive": "grid:2", "low": "0,-1", "high": "2,1", "sides": "2,2",
			"descriptors": "x; y"}
}

func saveArchive(t *testing.T, arrays map[string]*graph.Array, metadata map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	metadata = maps.Clone(metadata)
	metadata["format_version"] = runfolder.ArchiveVersion
	metadata, err := safetensors.WithDigest(arrays, metadata)
	require.NoError(t, err)
	require.NoError(t, safetensors.Save(filepath.Join(dir, runfolder.ArchiveFile), arrays, metadata))
	return dir
}

func mapOf(t *testing.T, dir string) *chart.Chart {
	t.Helper()
	charts, err := archiveCharts(dir)
	require.NoError(t, err)
	require.Len(t, charts, 1)
	return charts[0]
}

// Elites by several objectives are dots, and the non-dominated ones a staircase, with or without cells.
func TestFrontChart(t *testing.T) {
	arrays, metadata := gridFile()
	arrays["objectives"] = graph.Float32s([]float32{1, 4, 2, 3}, 2, 2)
	metadata["objectives"] = "speed; cost"
	charts, err := archiveCharts(saveArchive(t, arrays, metadata))
	require.NoError(t, err)
	require.Len(t, charts, 2)
	require.Equal(t, "Arm-v0: 2 elites, 2 non-dominated\nas the search filled it", charts[1].Title)
	require.Equal(t, []string{"speed", "cost"}, []string{charts[1].XLabel, charts[1].YLabel})
	require.Equal(t, []chart.Point{{X: 1, Y: 4}, {X: 2, Y: 3}}, paretoFront([]chart.Point{{X: 2, Y: 3}, {X: 1, Y: 4},
		{X: 1, Y: 3}, {X: 2, Y: 1}, {X: 1, Y: 4}}))
	delete(arrays, "centers")
	charts, err = archiveCharts(saveArchive(t, arrays, metadata))
	require.NoError(t, err)
	require.Len(t, charts, 1)
	// With three objectives the first two alone were said to be all.
	metadata["objectives"] = "a; b; c"
	arrays["objectives"] = graph.Float32s([]float32{1, 4, 0, 1, 3, 1, 0, 4, 0}, 3, 3)
	charts, err = archiveCharts(saveArchive(t, arrays, metadata))
	require.NoError(t, err)
	require.Equal(t, "Arm-v0: 3 elites, 1 non-dominated by these two of 3 objectives\nas the search filled it",
		charts[0].Title)
	arrays["objectives"] = graph.Float32s([]float32{1, 4, 2, 3}, 2, 2)
	_, err = archiveCharts(saveArchive(t, arrays, metadata))
	require.ErrorContains(t, err, "it has 2 objectives and 3 names of them")
}

func TestArchiveMap(t *testing.T) {
	arrays, metadata := gridFile()
	c := mapOf(t, saveArchive(t, arrays, metadata))
	require.Equal(t, "Arm-v0: elites in 2 of 4 cells of grid:2\nas the search filled it", c.Title)
	require.Equal(t, []string{"x", "y"}, []string{c.XLabel, c.YLabel})
	require.Equal(t, [2]chart.Range{{Min: 0, Max: 2}, {Min: -1, Max: 1}}, [2]chart.Range{*c.X, *c.Y})
	for _, legend := range []string{">1<", ">2<", ">3<", ">4<", ">5<"} {
		require.Contains(t, drawn(t, c), legend)
	}
	require.Contains(t, drawn(t, c), "#fde725", "the best cell is yellow")

	// Elites of one fitness have one color, and no legend.
	arrays["fitness"] = graph.Float32s([]float32{7, 7})
	c = mapOf(t, saveArchive(t, arrays, metadata))
	require.NotContains(t, drawn(t, c), ">7<")
	require.NotContains(t, drawn(t, c), "#440154")

	// An archive without elites is an empty map.
	delete(arrays, "cell")
	delete(arrays, "fitness")
	c = mapOf(t, saveArchive(t, arrays, metadata))
	require.Contains(t, c.Title, "elites in 0 of 4 cells")
	require.NotContains(t, drawn(t, c), "#fde725")
}

// An archive whose elites have been played again is drawn by their means, as the run's last line counts them. It was
// drawn as the search had filled it: 71 cells where the run said 41.
func TestCorrectedMap(t *testing.T) {
	nan := float32(math.NaN())
	arrays, metadata := gridFile()
	arrays["cell"], arrays["fitness"] = graph.Int32s([]int32{0, 1, 2, 3}), graph.Float32s([]float32{1, 2, 3, 4})
	arrays["corrected_fitness"] = graph.Float32s([]float32{9, 8, 7, nan})
	arrays["descriptor"] = graph.Zeros(graph.ShapeOf(graph.Float32, 4, 2))
	arrays["corrected_descriptor"] = graph.Float32s([]float32{1.9, .9, 1.1, .1, -5, .2, 1, 1}, 4, 2)
	metadata["corrected_episodes"] = "100"
	dir := saveArchive(t, arrays, metadata)
	require.Equal(t, "Arm-v0: elites in 2 of 4 cells of grid:2\nby the means of 100 new episodes of each elite",
		mapOf(t, dir).Title)
	a, err := readArchive(filepath.Join(dir, runfolder.ArchiveFile))
	require.NoError(t, err)
	require.Equal(t, map[int]float64{3: 9, 1: 7}, a.fitness, "two share a cell, one is clipped, one has no fitness")
	apart := maps.Clone(arrays) // without cells
	apart["centers"] = apart["descriptor"]
	a, err = readArchive(filepath.Join(saveArchive(t, apart, metadata), runfolder.ArchiveFile))
	require.NoError(t, err)
	require.Equal(t, map[int]float64{0: 9, 1: 8, 2: 7}, a.fitness)
	require.InDeltaSlice(t, []float64{1.9, .9}, a.centers[0], 1e-6)
	metadata["objectives"] = "speed; cost"
	arrays["objectives"] = graph.Float32s([]float32{1, 4, 2, 3, 0, 0, 0, 0}, 4, 2)
	arrays["corrected_objectives"] = graph.Float32s([]float32{5, 5, 2, 3, 0, 0, 0, 0}, 4, 2)
	charts, err := archiveCharts(saveArchive(t, arrays, metadata))
	require.NoError(t, err)
	require.Equal(t, "Arm-v0: 4 elites, 1 non-dominated\nby the means of 100 new episodes of each elite",
		charts[1].Title)
	delete(metadata, "objectives")
	arrays["corrected_descriptor"] = graph.Zeros(graph.ShapeOf(graph.Float32, 4, 1))
	_, err = archiveCharts(saveArchive(t, arrays, metadata))
	require.ErrorContains(t, err, "its corrected descriptors and its elites do not belong together")
}

// drawn returns the chart as a lower-case SVG.
func drawn(t *testing.T, c *chart.Chart) string {
	t.Helper()
	svg, err := chart.Draw("svg", 500, 500, []*chart.Chart{c})
	require.NoError(t, err)
	return strings.ToLower(string(svg))
}

// Descriptors of one number are drawn as a bar of the full height.
func TestArchiveBar(t *testing.T) {
	a, err := readArchive(filepath.Join(saveArchive(t, map[string]*graph.Array{
		"centers": graph.Float32s([]float32{.25, .75}, 2, 1), "cell": graph.Int32s([]int32{1}),
		"fitness": graph.Float32s([]float32{3})}, map[string]string{"low": "0", "high": "1", "sides": "2"}),
		runfolder.ArchiveFile))
	require.NoError(t, err)
	require.Equal(t, []chart.Point{{X: .5, Y: 0}, {X: 1, Y: 0}, {X: 1, Y: 1}, {X: .5, Y: 1}}, a.corners(1))
}

// The cells around centers cover the bounds once, and each place lies in the cell of the nearest center.
func TestVoronoiCells(t *testing.T) {
	a := &archive{low: []float64{-2, 0}, high: []float64{2, 1}}
	for i := range 40 { // the sequence of Kronecker with the golden ratio
		_, x := math.Modf(float64(i) * .618034)
		a.centers = append(a.centers, []float64{4*x - 2, (float64(i) + .5) / 40})
	}
	area := 0.
	for cell := range a.centers {
		polygon := a.corners(cell)
		middle := chart.Point{}
		for i, p := range polygon {
			q := polygon[(i+1)%len(polygon)]
			area += (p.X*q.Y - q.X*p.Y) / 2
			middle.X, middle.Y = middle.X+p.X/float64(len(polygon)), middle.Y+p.Y/float64(len(polygon))
		}
		square := func(i int) float64 { // of the distance, in shares of the bounds
			return math.Pow((a.centers[i][0]-middle.X)/4, 2) + math.Pow(a.centers[i][1]-middle.Y, 2)
		}
		for other := range a.centers {
			require.LessOrEqual(t, square(cell), square(other)+1e-12, "cell %d", cell)
		}
	}
	require.InDelta(t, 4, area, 1e-9)
}

// A damaged archive is an error in one sentence.
func TestDamagedArchives(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(arrays map[string]*graph.Array, metadata map[string]string)
	}{
		{"a cell beyond the last one", "an elite in the cell 4, and cells from 0 to 3",
			func(a map[string]*graph.Array, _ map[string]string) { a["cell"] = graph.Int32s([]int32{0, 4}) }},
		{"a cell that is no number", "an elite in the cell NaN",
			func(a map[string]*graph.Array, _ map[string]string) {
				a["cell"] = graph.Float32s([]float32{0, float32(math.NaN())})
			}},
		{"fewer cells than numbers", "it has 1 cells of elites and the fitness of 2",
			func(a map[string]*graph.Array, _ map[string]string) { a["cell"] = graph.Int32s([]int32{1}) }},
		{"centers of no numbers", "do not belong together",
			func(a map[string]*graph.Array, m map[string]string) {
				a["centers"] = graph.Zeros(graph.ShapeOf(graph.Float32, 4, 0))
				m["low"], m["high"] = "", ""
				delete(m, "sides")
			}},
		{"one center as a scalar", "do not belong together",
			func(a map[string]*graph.Array, _ map[string]string) { a["centers"] = graph.Scalar(1) }},
		{"no fitness", `no tensor "fitness"`,
			func(a map[string]*graph.Array, _ map[string]string) { delete(a, "fitness") }},
		{"no centers", `no tensor "centers"`,
			func(a map[string]*graph.Array, _ map[string]string) { delete(a, "centers") }},
		{"bounds of other descriptors", "do not belong together",
			func(_ map[string]*graph.Array, m map[string]string) { m["low"] = "0" }},
	} {
		arrays, metadata := gridFile()
		c.change(arrays, metadata)
		_, err := Archive(saveArchive(t, arrays, metadata))
		require.ErrorContains(t, err, c.want, c.name)
		require.NotContains(t, err.Error(), "\n", c.name)
	}

	// A byte that has changed.
	dir := saveArchive(t, first(gridFile()), map[string]string{})
	path := filepath.Join(dir, runfolder.ArchiveFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	_, err = Archive(dir)
	require.ErrorContains(t, err, "digest")

	_, err = Archive(t.TempDir())
	require.ErrorContains(t, err, "wait for the run's end")
}

func first[A, B any](a A, _ B) A { return a }
