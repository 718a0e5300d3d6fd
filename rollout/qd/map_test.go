package qd

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// A point of the map shows the elite of the cell that it lies in; without cells, the best elite in it. The state stays.
func TestMap(t *testing.T) {
	for _, archive := range []string{"grid:4", "cvt:16", "cvt:60", "unstructured:40"} {
		c := small()
		c.Archive = archive
		s := start(t, &xlabridge.Reference{}, c)
		advance(t, s, 2)
		snapshot, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		rows, err := s.Map(8, 8)
		require.NoError(t, err)
		again, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, rawBytes(t, snapshot), rawBytes(t, again))
		state, err := s.state(snapshot)
		require.NoError(t, err)
		files, err := s.Files(snapshot, false)
		require.NoError(t, err)
		large, err := s.Map(mapSide, mapSide)
		require.NoError(t, err)
		kept := files[1].JSON.(*mapFile)
		require.Equal(t, runfolder.MapFile, files[1].Name)
		require.Equal(t, snapshot.Step, kept.Generation)
		require.Equal(t, []string{"mean distance from the middle (m)", "mean speed (m/s)"}, kept.Names)
		places := state.Archive.Places()
		fitness, descriptors := floats(t, places.Fitness), floats(t, places.Descriptor)
		cells := floats(t, places.Cell)
		for y, row := range large {
			for x, f := range row {
				if kept.Rows[y][x] == nil {
					require.True(t, math.IsNaN(f))
					require.Equal(t, -1, kept.Cells[y][x])
				} else {
					require.Equal(t, f, *kept.Rows[y][x])
					place := slices.Index(cells, float64(kept.Cells[y][x]))
					require.Equal(t, f, fitness[place], "the cell's elite")
				}
			}
		}
		low, high := boundsOf(s.program.Space)
		shown := 0
		for y := range 8 {
			for x := range 8 {
				want := math.NaN()
				for i, f := range fitness {
					unit := [2]float64{}
					for j := range unit {
						unit[j] = (descriptors[2*i+j] - float64(low[j])) / float64(high[j]-low[j])
					}
					mine := int(min(unit[0]*8, 7)) == x && 7-int(min(unit[1]*8, 7)) == y
					if archive == "grid:4" {
						mine = i == x/2*4+(7-y)/2
					} else if strings.HasPrefix(archive, "cvt") {
						centers := s.program.Container.Centers()
						own := math.Hypot(centers[i][0]-(float64(x)+.5)/8, centers[i][1]-1+(float64(y)+.5)/8)
						mine = true
						for _, other := range centers {
							mine = mine && own <= math.Hypot(other[0]-(float64(x)+.5)/8, other[1]-1+(float64(y)+.5)/8)
						}
					}
					if mine && !math.IsInf(f, -1) && !(f <= want) {
						want = f
					}
				}
				if want == want {
					shown++
					require.Equal(t, want, rows[y][x], "%s, %d, %d", archive, x, y)
				} else {
					require.True(t, math.IsNaN(rows[y][x]), "%s, %d, %d", archive, x, y)
				}
			}
		}
		require.Positive(t, shown, archive)
	}
}

// TestMapOfManyCells: the first picture made the centers of all cells.
func TestMapOfManyCells(t *testing.T) {
	r := &Run{program: &Program{Container: eliteCells{grid{4096, 4096}, 2}}, inputs: Inputs{Tables: graph.None{}}}
	cells, err := r.cellsOf(4, 2)
	require.NoError(t, err)
	require.Equal(t, []float64{512*4096 + 3072, 1536*4096 + 3072, 2560*4096 + 3072, 3584*4096 + 3072, 512*4096 + 1024,
		1536*4096 + 1024, 2560*4096 + 1024, 3584*4096 + 1024}, cells)
}

// Without descriptors a map shows the first two objectives, within the bounds of those of the elites. It
// was empty, so that the page of such a run had only curves.
func TestMapOfObjectives(t *testing.T) {
	c := small()
	several(func(c *Config) { c.Archive, c.Front = "nsga2:20", 0 })(&c)
	s := start(t, &xlabridge.Reference{}, c)
	before, err := s.Map(8, 8)
	require.NoError(t, err)
	require.NotContains(t, before[0], 0., "there is no elite yet")
	advance(t, s, 2)
	snapshot, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	files, err := s.Files(snapshot, false)
	require.NoError(t, err)
	m := files[1].JSON.(*mapFile)
	require.Equal(t, []string{"at_0", "at_2.2"}, m.Names)
	state, err := s.state(snapshot)
	require.NoError(t, err)
	places := state.Archive.Places()
	fitness, objectives := floats(t, places.Fitness), floats(t, places.Objectives)
	least := []float64{math.Inf(1), math.Inf(1)}
	want := map[[2]int]float64{}
	for i, f := range fitness {
		if math.IsInf(f, -1) {
			continue
		}
		at := [2]int{}
		for j := range 2 {
			low, high := float64(m.Low[j]), float64(m.High[j])
			least[j] = min(least[j], objectives[2*i+j])
			at[j] = min(mapSide-1, int((objectives[2*i+j]-low)/(high-low)*mapSide))
		}
		if before, ok := want[at]; !ok || f > before {
			want[at] = f
		}
	}
	require.Equal(t, least, []float64{float64(m.Low[0]), float64(m.Low[1])})
	shown := 0
	for y, row := range m.Rows {
		for x, f := range row {
			if f != nil {
				shown++
				require.Equal(t, want[[2]int{x, mapSide - 1 - y}], *f)
			}
		}
	}
	require.Len(t, want, shown)
}
