package qd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// reevaluate runs generations and plays the elites again.
func reevaluate(t *testing.T, b xlabridge.Backend, c Config, generations int) (*Run, run.Snapshot, []run.Fact) {
	t.Helper()
	s := start(t, b, c)
	for range generations {
		_, err := s.Step()
		require.NoError(t, err)
	}
	snapshot, err := s.Snapshot()
	require.NoError(t, err)
	facts, err := s.Reevaluate(snapshot)
	require.NoError(t, err)
	return s, snapshot, facts
}

// The corrected archive is a loop over the elites, episode by episode, and an insertion of their means.
func TestCorrectedArchiveIsALoop(t *testing.T) {
	c := small()
	c.Judge, c.Batch, c.Archive, c.Offset.Value = 3, 4, "grid:50", 100
	s, snapshot, facts := reevaluate(t, &xlabridge.Reference{}, c, 3)
	state, err := s.state(snapshot)
	require.NoError(t, err)
	count := int(floats(t, state.Archive.(Elites).Count)[0])
	require.Greater(t, count, c.Batch, "several parts")
	p, filled := s.program, floats(t, state.Archive.(Elites).Filled)
	var fitness, descriptors []float32
	of := map[int]int{} // the elite of a cell
	for i := range count {
		params := p.Genomes.Unravel(state.Archive.(Elites).Genomes.Index(int(filled[i])))
		part := random.FoldIn(random.FoldIn(random.New(c.Seed), reevaluateKey), i/c.Batch)
		_, key := random.Split2(random.FoldIn(part, i%c.Batch))
		sum, mean := 0., make([]float64, 2)
		for e := range c.Judge {
			one, err := graph.Eval(p.Play.Episode(params, random.FoldIn(key, e)))
			require.NoError(t, err)
			sum += floats(t, one.Return)[0] / float64(c.Judge)
			for j, x := range floats(t, one.Descriptor) {
				mean[j] += x / float64(c.Judge)
			}
		}
		of[int(filled[i])] = i
		fitness, descriptors = append(fitness, float32(sum)), append(descriptors, float32(mean[0]), float32(mean[1]))
	}
	corrected, _ := newElites(2500, 1, 2, elitist).insert(batchOf(p.Container, p.Space, graph.Zeros(graph.ShapeOf(
		graph.Float32, count, 1)), graph.Float32s(fitness), graph.Float32s(descriptors, count, 2)), graph.Of(int32(0)),
		elitist)
	score := corrected.Score(graph.Scalar(100))
	require.InDelta(t, floats(t, score.Coverage)[0], facts[0].Value, 1e-6)
	require.InDelta(t, floats(t, score.QD)[0], facts[1].Value, 1e-2)
	require.Equal(t, run.Fact{Name: "corrected_episodes", Value: 3}, facts[2])
	require.Contains(t, s.Table()[0], "by the means of 3 fresh episodes of each elite: ")

	// The file has the same, in the order of the cells.
	files, err := s.Files(snapshot, true)
	require.NoError(t, err)
	arrays := files[0].Arrays.(map[string]*graph.Array)
	means, places := floats(t, arrays["corrected_fitness"]), floats(t, arrays["corrected_descriptor"])
	for row, cell := range floats(t, arrays["cell"]) {
		i := of[int(cell)]
		require.InDelta(t, fitness[i], means[row], 1e-4)
		require.InDelta(t, descriptors[2*i], places[2*row], 1e-5)
		require.InDelta(t, descriptors[2*i+1], places[2*row+1], 1e-5)
	}
	require.Equal(t, "3", files[0].Metadata["corrected_episodes"])

	// Of another state, the file has only what belongs to it.
	_, err = s.Step()
	require.NoError(t, err)
	later, err := s.Snapshot()
	require.NoError(t, err)
	files, err = s.Files(later, true)
	require.NoError(t, err)
	require.NotContains(t, files[0].Arrays, "corrected_fitness")
}

// Without random episodes nothing is corrected, on one device and on two.
func TestNothingToCorrect(t *testing.T) {
	for devices := 1; devices <= 2; devices++ {
		c := small()
		c.Env, c.Policy, c.Judge, c.Devices, c.Steps = "Arm-v0", "vector", 1, devices, 1
		s, snapshot, facts := reevaluate(t, xlatest.Open(t, devices), c, 4)
		state, err := s.state(snapshot)
		require.NoError(t, err)
		score, err := graph.Eval(state.Archive.(Elites).Score(graph.Scalar(0)))
		require.NoError(t, err)
		require.InDelta(t, floats(t, score.Coverage)[0], facts[0].Value, 1e-6)
		require.InDelta(t, floats(t, score.QD)[0], facts[1].Value, 1e-4)
		require.Contains(t, s.Table()[0], "by the means of a fresh episode of each elite")
	}
}

// An empty archive, and elites that have no finite result, are no error.
func TestNothingIsLeft(t *testing.T) {
	c := small()
	c.Descriptor, c.Judge = "nan-of-all", 2
	s, _, facts := reevaluate(t, &xlabridge.Reference{}, c, 1)
	require.Equal(t, []run.Fact{{Name: "corrected_coverage", Value: 0.}, {Name: "corrected_qd_score", Value: 0.},
		{Name: "corrected_episodes", Value: 2}}, facts)
	require.Contains(t, s.Table()[0], "0 of 36 cells filled")

	c.Descriptor, c.Judge = "nan-of-some", 40 // one of the episodes begins to the left
	s, _, facts = reevaluate(t, &xlabridge.Reference{}, c, 1)
	require.Equal(t, 0., facts[0].Value)
	require.Contains(t, s.Table()[0], "elites have no finite mean return and descriptor")
}
