package qd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/rollout/run"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// frontsFile has what QDax's containers made of members.
type frontsFile struct {
	Fronts struct {
		Centroids oracles.Array
		Length    int
		Reference []float64
		Steps     []struct {
			Genotypes, Descriptors, Objectives, Moqd oracles.Array
			After                                    struct{ Objectives, Descriptors, Genotypes oracles.Array }
			Hypervolume                              float64
		}
	}
	Unstructured []struct {
		L        float64
		Capacity int
		Steps    []struct {
			Genotypes, Descriptors, Fitnesses oracles.Array
			After                             struct{ Fitnesses, Descriptors, Genotypes oracles.Array }
		}
	}
}

func readFronts(t *testing.T) (file frontsFile) {
	t.Helper()
	require.NoError(t, oracles.Read("testdata/qdax_fronts.json.gz", &file))
	return file
}

// rowsOf returns the rows with an elite as texts, in order: members are compared whatever their places are.
func rowsOf(objectives, descriptors, genomes []float64, k int) (rows []string) {
	for i := range len(objectives) / k {
		if !math.IsInf(objectives[i*k], -1) {
			rows = append(rows, fmt.Sprint(objectives[i*k:i*k+k], descriptors[2*i:2*i+2], genomes[3*i:3*i+3]))
		}
	}
	slices.Sort(rows)
	return rows
}

// Fronts and their hypervolumes equal QDax's on the same members: full fronts, equal objectives.
func TestFrontsOfQDax(t *testing.T) {
	file := readFronts(t).Fronts
	of := Measures{2, Objectives{Front: file.Length, Names: "a,b", Reference: file.Reference}}
	cells := grid{3, 2}
	ours := make([]int, 6) // of each of QDax's cells
	for i := range ours {
		center := file.Centroids.Floats()[2*i : 2*i+2]
		ours[i] = int(floats(t, cells.Cell(nil, graph.Float32s([]float32{float32(center[0]), float32(center[1])})))[0])
	}
	scoring := Scoring{Objectives: of.Objectives}
	a := Cells(cells, of).Empty(3, scoring)
	full := false
	for step, s := range file.Steps {
		b := batchOf(cells, envs.Positive(1, 1), array(s.Genotypes), graph.Zeros(graph.ShapeOf(graph.Float32, 48)),
			array(s.Descriptors))
		b.Objectives = array(s.Objectives)
		next, change := a.Insert(b, graph.Of(int32(step)), scoring)
		metrics := next.Metrics(change, scoring)
		got, err := graph.Eval(next.(Fronts))
		require.NoError(t, err)
		a = got
		elites := 0
		for cell := range 6 {
			at, front := ours[cell]*file.Length, file.Length
			mine := rowsOf(floats(t, got.Objectives)[2*at:2*(at+front)], floats(t, got.Descriptor)[2*at:2*(at+front)],
				floats(t, got.Genomes)[3*at:3*(at+front)], 2)
			at = cell * front
			want := rowsOf(s.After.Objectives.Floats()[2*at:2*(at+front)],
				s.After.Descriptors.Floats()[2*at:2*(at+front)], s.After.Genotypes.Floats()[3*at:3*(at+front)], 2)
			require.Equal(t, want, mine, "step %d, cell %d", step, cell)
			elites += len(mine)
			full = full || len(mine) == front
		}
		sum := 0.
		for _, v := range s.Moqd.Floats() {
			sum += v
		}
		require.InDelta(t, 1, floats(t, metrics[0])[0], 1e-6)
		require.InDelta(t, sum, floats(t, metrics[1])[0], 1e-3)
		require.InDelta(t, s.Hypervolume, floats(t, metrics[2])[0], 1e-3)
		require.Equal(t, float64(elites), floats(t, metrics[3])[0])
	}
	require.True(t, full, "a front of the oracle is full")
}

// Members that are not valid enter no front, and a draw returns each elite.
func TestFrontsDropAndDraw(t *testing.T) {
	of := Measures{1, Objectives{Front: 3, Names: "a,b", Reference: []float64{0, 0}}}
	scoring := Scoring{Objectives: of.Objectives}
	a := Cells(grid{4}, of).Empty(1, scoring)
	require.Equal(t, []float64{0}, floats(t, a.Draw(key(1))))
	b := Batch{Genomes: graph.Float32s([]float32{1, 2, 3, 4}, 4, 1), Fitness: graph.Float32s([]float32{1, 1, 1, 1}),
		Descriptor: graph.Float32s([]float32{.1, .1, .9, .9}, 4, 1),
		Objectives: graph.Float32s([]float32{1, 2, 2, 1, 5, 5, 1, 1}, 4, 2), Cell: graph.Of([]int32{0, 0, 3, 3}),
		Valid: graph.Of([]bool{true, true, false, true})}
	a, change := a.Insert(b, graph.Of(int32(0)), scoring)
	require.Equal(t, []float64{1, 1, 0, 1}, floats(t, change.Added.Convert(graph.Float32)))
	require.Equal(t, []float64{1, 0, 0, 1}, floats(t, change.New.Convert(graph.Float32)))
	require.Equal(t, []float64{2}, floats(t, a.Size()))
	found := map[float64]int{}
	for i := range 200 {
		found[floats(t, a.Draw(key(i)))[0]]++
	}
	require.Len(t, found, 3)
	require.InDelta(t, 100, found[4], 30, "cells are equally likely")
	require.InDelta(t, 50, found[1], 25)
}

// Metrics and state of archives with several objectives are the same bytes on one device and on two, and after a
// resume. The short form interprets one of the archives on one device, and shows the resume alone;
// TestSameOnAnyDevicesAndResumed has two devices.
func TestSeveralObjectivesOnAnyDevices(t *testing.T) {
	for _, c := range []struct{ env, archive, emitter string }{
		{"MultiRastrigin-v0", "grid:4", "isoline"}, {"ZDT1-v0", "nsga2:20", "sbx"},
	} {
		if c.archive == "grid:4" && !long.On() {
			continue
		}
		var metrics []run.Metrics
		var state map[string]string
		most := 1
		if long.On() {
			most = 2
		}
		for devices := 1; devices <= most; devices++ {
			var b xlabridge.Backend = &xlabridge.Reference{}
			if long.On() {
				b = xlatest.Open(t, devices)
			}
			config := DefaultConfig()
			config.Env, config.Archive, config.Emitter, config.Policy = c.env, c.archive, c.emitter, "vector"
			config.Batch, config.Tile, config.Steps, config.Devices = 24, 8, 1, devices
			config.Reference = []float64{-3000, -3000}
			if c.archive == "grid:4" {
				config.Front = 4
			}
			config.Parted = config.Parted.With("emitter.bounds", "0,1")
			s := start(t, b, config)
			begin, _ := advance(t, s, 2)
			middle, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			last, end := advance(t, s, 3)
			require.NoError(t, s.Restore(t.Context(), middle))
			again, resumed := advance(t, s, 3)
			require.Equal(t, last, again, c.env)
			require.Equal(t, end, resumed, c.env)
			if devices > 1 {
				require.Equal(t, metrics, append(begin, last...), c.env)
				require.Equal(t, state, end, c.env)
			}
			metrics, state = append(begin, last...), end
			files, err := s.Files(middle, true)
			require.NoError(t, err)
			arrays := files[0].Arrays.(map[string]*graph.Array)
			require.Equal(t, 2, arrays["objectives"].Dim(1))
			require.Equal(t, arrays["cell"].Dim(0), arrays["objectives"].Dim(0))
		}
		begin, _ := metrics[0].Get("hypervolume")
		end, _ := metrics[4].Get("hypervolume")
		require.Greater(t, end, begin, c.env)
	}
}

// TestElitesAreNamedAsCellTakesThem: an elite of a front had the name of its cell only, and an archive
// without cells named cells.
func TestElitesAreNamedAsCellTakesThem(t *testing.T) {
	fitness := []float64{math.Inf(-1), 3, 4, 5, math.Inf(-1), 6}
	cells := []float64{0, 0, 0, 1, 1, 1}
	fronts := &Run{program: &Program{Needs: Needs{Cells: true}, Scoring: Scoring{Objectives: Objectives{Front: 3}}}}
	require.Equal(t, "cell_0.0", fronts.elite(cells, fitness, 1))
	require.Equal(t, "cell_0.1", fronts.elite(cells, fitness, 2))
	require.Equal(t, "cell_1.1", fronts.elite(cells, fitness, 5))
	plain := &Run{program: &Program{Needs: Needs{Cells: true}}}
	require.Equal(t, "cell_1", plain.elite(cells, fitness, 3))
	require.Equal(t, "elite_1", (&Run{program: &Program{}}).elite(cells, fitness, 3))
}
