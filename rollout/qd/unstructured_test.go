package qd

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/xlabridge"
)

// withNear returns the members with the elites near to them.
func withNear(c distanceContainer, a Archive, b Batch) Batch {
	b.Near = graph.VMap(func(unit *graph.Array) *Near { return c.Near(a, unit) })(b.Unit)
	return b
}

// Elites equal those of QDax's unstructured archive after the same members.
func TestUnstructuredOfQDax(t *testing.T) {
	for _, file := range readFronts(t).Unstructured {
		of := Measures{Descriptor: 2}
		made, err := (&Unstructured{Number: file.Capacity, Distance: file.L, Neighbors: 2}).Make(of)
		require.NoError(t, err)
		c := made.(distanceContainer)
		a := c.Empty(3, Scoring{})
		improved := 0.
		for step, s := range file.Steps {
			b := withNear(c, a, batchOf(grid{1, 1}, envs.Positive(1, 1), array(s.Genotypes), array(s.Fitnesses),
				array(s.Descriptors)))
			next, change := a.Insert(b, graph.Of(int32(step)), Scoring{})
			got, err := graph.Eval(next.(DistanceArchive))
			require.NoError(t, err)
			a = got
			want := rowsOf(s.After.Fitnesses.Floats(), s.After.Descriptors.Floats(), s.After.Genotypes.Floats(), 1)
			mine := rowsOf(floats(t, got.Fitness), floats(t, got.Descriptor), floats(t, got.Genomes), 1)
			require.Equal(t, want, mine, "step %d, distance %g", step, file.L)
			require.Equal(t, []float64{float64(len(want))}, floats(t, got.Count))
			improved += floats(t, count(change.Added.And(change.New.Not())))[0]
		}
		require.Positive(t, improved)
	}
}

// Novelty is the mean distance to the nearest elites. A full archive turns members away, and counts them.
func TestNovelty(t *testing.T) {
	made, err := (&Unstructured{Number: 4, Distance: .1, Neighbors: 2}).Make(Measures{Descriptor: 1})
	require.NoError(t, err)
	c := made.(distanceContainer)
	a := c.Empty(1, Scoring{})
	insert := func(x ...float32) Change {
		all := graph.Float32s(x, len(x), 1)
		fitness := graph.Zeros(graph.ShapeOf(graph.Float32, len(x)))
		b := withNear(c, a, batchOf(grid{1}, envs.Positive(1), all, fitness, all))
		next, change := a.Insert(b, graph.Of(int32(0)), Scoring{})
		a = next
		return change
	}
	require.Equal(t, []float64{0, 0, 0}, floats(t, insert(0, .05, .2).Novelty), "nothing is near")
	require.InDeltaSlice(t, []float64{0, .2}, floats(t, a.Places().Genomes)[:2], 1e-6, "the first of equal ones")
	second := insert(.5, .25)
	require.InDeltaSlice(t, []float64{.4, .15}, floats(t, second.Novelty), 1e-6)
	require.Equal(t, []float64{1, 0}, floats(t, second.Added.Convert(graph.Float32)))
	full := insert(1, .75, float32(math.NaN()))
	require.Equal(t, []float64{1, 0, 0}, floats(t, full.Added.Convert(graph.Float32)))
	require.Equal(t, []float64{0, 1, 0}, floats(t, full.NoRoom.Convert(graph.Float32)))
	require.Equal(t, []float64{4}, floats(t, a.Size()))

	// Members that are not valid counted in the mean novelty, as if they had the descriptor 0.
	require.InDeltaSlice(t, []float64{.65, .4}, floats(t, full.Novelty)[:2], 1e-6)
	mean := slices.Index(c.Metrics(), "mean_novelty")
	require.InDelta(t, .525, floats(t, a.Metrics(full, Scoring{})[mean])[0], 1e-6)
}

// Searches rank members by their novelty, and elites are apart.
func TestNoveltySearch(t *testing.T) {
	c := small()
	c.Archive, c.Emitter, c.Strategy = "unstructured:50", "searches", "snes"
	c.Parted = c.Parted.With("emitter.ranking", "novelty").With("emitter.searches", "4")
	c.Parted = c.Parted.With("archive.distance", "0.05")
	s := start(t, &xlabridge.Reference{}, c)
	metrics, _ := advance(t, s, 3)
	for _, m := range metrics {
		novelty, ok := m.Get("mean_novelty")
		require.True(t, ok)
		require.True(t, m.Step == 1 || novelty > 0, "%v", novelty)
	}
	snapshot, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	state, err := s.state(snapshot)
	require.NoError(t, err)
	a := state.Archive.(DistanceArchive)
	n := int(floats(t, a.Count)[0])
	require.Greater(t, n, 2)
	unit := slices.Collect(slices.Chunk(floats(t, a.Unit), 2))[:n]
	for i, x := range unit {
		for _, y := range unit[:i] {
			require.Greater(t, math.Hypot(x[0]-y[0], x[1]-y[1]), .05)
		}
	}
	files, err := s.Files(snapshot, true)
	require.NoError(t, err)
	require.Equal(t, n, files[0].Arrays.(map[string]*graph.Array)["centers"].Dim(0))
}

// ownNovelty makes an archive of a user that measures novelty.
type ownNovelty struct{}

func init() { MustRegisterArchive("own-novelty", &ownNovelty{}) }

func (*ownNovelty) Needs() Needs { return Needs{Descriptor: true} }

func (*ownNovelty) Make(of Measures) (Container, error) {
	made, err := (&Unstructured{Number: 9, Distance: .05, Neighbors: 2}).Make(of)
	return struct{ Container }{made}, err
}

// TestNoveltyOfAnArchiveOfOnesOwn: only the built-in archive could measure novelty.
func TestNoveltyOfAnArchiveOfOnesOwn(t *testing.T) {
	c := small()
	c.Archive, c.Emitter, c.Strategy = "own-novelty", "searches", "snes"
	c.Parted = c.Parted.With("emitter.ranking", "novelty").With("emitter.searches", "4")
	metrics, _ := advance(t, start(t, &xlabridge.Reference{}, c), 2)
	novelty, _ := metrics[1].Get("mean_novelty")
	require.Positive(t, novelty)
}
