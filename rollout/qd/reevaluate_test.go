package qd

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/tasks"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// reevaluate runs generations and plays the elites again.
func reevaluate(t *testing.T, b xlabridge.Backend, c Config, generations int) (*Run, run.Snapshot, []run.Fact) {
	t.Helper()
	s := start(t, b, c)
	for range generations {
		_, err := s.Step(t.Context())
		require.NoError(t, err)
	}
	snapshot, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	facts, err := s.Reevaluate(t.Context(), snapshot, func(float64) {})
	require.NoError(t, err)
	return s, snapshot, facts
}

// noisy is a task of one step, with a descriptor and two objectives that are random.
type noisy struct{}

func init() { envs.MustRegister(noisy{}) }

func (noisy) Spec() envs.Spec {
	return envs.Spec{ID: "Noisy-v0", Observation: envs.Symmetric(1), MaxSteps: 1, Descriptor: envs.Positive(1, 2),
		Action:     envs.Box{Low: []float64{-9}, High: []float64{9}, Dims: []int{4}, DType: graph.Float32},
		Objectives: []string{"third", "fourth"}}
}

func (noisy) DefaultParams() tasks.Params { return tasks.Params{MaxSteps: envs.Steps(1)} }

func (noisy) Reset(random.Key, tasks.Params) (tasks.MultiState, *graph.Array) {
	zero := graph.Zeros(graph.ShapeOf(graph.Float32, 2))
	return tasks.MultiState{Time: envs.Steps(0), Descriptor: zero, Objectives: zero}, zero.Index(0).ExpandDims(0)
}

func (noisy) Observe(s tasks.MultiState, _ tasks.Params) *graph.Array {
	return graph.Zeros(graph.ShapeOf(graph.Float32, 1))
}

func (n noisy) Step(key random.Key, s tasks.MultiState, action *graph.Array,
	p tasks.Params) (next tasks.MultiState, obs, reward, terminated, truncated *graph.Array) {
	x := action.Add(random.Normal(key, action.Shape()).Mul(.2)).Square()
	next = tasks.MultiState{Descriptor: graph.SliceAxis(x, 0, 0, 2), Objectives: graph.SliceAxis(x, 0, 2, 4)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, n.Observe(next, p), x.Sum(), envs.True(), truncated
}

func (noisy) Objectives(s tasks.MultiState, _ tasks.Params) *graph.Array { return s.Objectives }
func (noisy) Describe(s tasks.MultiState, _ tasks.Params) *graph.Array   { return s.Descriptor }

// elitesMeans returns what elites are on new episodes, by a loop over their episodes. What there is not is the
// return.
func elitesMeans(t *testing.T, b xlabridge.Backend, s *Run,
	places Places) (fitness, descriptors, objectives [][]float64) {
	t.Helper()
	p, c := s.program, s.config
	episode := xlabridge.Jit2(b, func(genome *graph.Array, key random.Key) []*graph.Array {
		one := p.Play.Episode(p.Genomes.Unravel(genome), key)
		all := []*graph.Array{one.Return.ExpandDims(0), one.Descriptor, p.Objectives.values(p.Play.Env, one)}
		for i := range all {
			if all[i] == nil {
				all[i] = all[0]
			}
		}
		return all
	})
	for place, f := range floats(t, places.Fitness) {
		if math.IsInf(f, -1) {
			continue
		}
		part := random.FoldIn(random.FoldIn(random.New(c.Seed), reevaluateKey), len(fitness)/c.Batch)
		_, key := random.Split2(random.FoldIn(part, len(fitness)%c.Batch))
		var sums [3][]float64
		for e := range c.EvalEpisodes {
			one, err := episode(places.Genomes.Index(place), random.FoldIn(key, e))
			require.NoError(t, err)
			for i, x := range one {
				values := floats(t, x)
				sums[i] = append(sums[i], make([]float64, len(values)-len(sums[i]))...)
				for j, v := range values {
					sums[i][j] += v / float64(c.EvalEpisodes)
				}
			}
		}
		fitness, descriptors, objectives = append(fitness, sums[0]), append(descriptors, sums[1]),
			append(objectives, sums[2])
	}
	return fitness, descriptors, objectives
}

// area returns the hypervolume of points with two objectives above 0.
func area(points [][]float64) (sum float64) {
	slices.SortFunc(points, func(a, b []float64) int { return cmp.Compare(b[0], a[0]) })
	reach := 0.
	for _, p := range points {
		if p[0] > 0 && p[1] > reach {
			sum += p[0] * (p[1] - reach)
			reach = p[1]
		}
	}
	return sum
}

// The corrected archive is a loop over the elites, episode by episode, and an insertion of their means, with one elite
// in a cell and with several, and without cells.
func TestCorrectedArchiveIsALoop(t *testing.T) {
	cells := small()
	cells.EvalEpisodes, cells.Batch, cells.Archive, cells.Offset.Value = 3, 8, "grid:50", 100
	fronts := cells
	fronts.Env, fronts.Policy, fronts.Steps, fronts.Archive, fronts.Front = "Noisy-v0", "vector", 1, "grid:3", 4
	fronts.Batch, fronts.Reference = 6, []float64{0, 0}
	fronts.Parted = fronts.Parted.With("emitter.iso-sigma", "0.4")
	population := fronts
	population.Archive, population.Front = "nsga2:20", 0
	apart := cells
	apart.Archive, apart.Parted = "unstructured:50", apart.Parted.With("archive.distance", "0.01")
	for name, c := range map[string]Config{"cells": cells, "fronts": fronts, "NSGA-II": population,
		"unstructured": apart} {
		t.Run(name, func(t *testing.T) { correctedArchiveIsALoop(t, c) })
	}
}

func correctedArchiveIsALoop(t *testing.T, c Config) {
	b := &xlabridge.Reference{}
	s, snapshot, facts := reevaluate(t, b, c, 4)
	state, err := s.state(snapshot)
	require.NoError(t, err)
	places, err := graph.Eval(state.Archive.Places())
	require.NoError(t, err)
	fitness, descriptors, objectives := elitesMeans(t, b, s, places)
	n := len(fitness)
	require.Greater(t, n, c.Batch, "several parts")

	got := map[string]float64{}
	for _, f := range facts {
		if x, ok := f.Value.(float64); ok {
			got[f.Name] = x
		}
	}
	want := map[string]float64{}
	of := map[int][]int{} // elites by the cells of their means
	if p := s.program; p.Needs.Cells {
		low, high := boundsOf(p.Space)
		for i, d := range descriptors {
			cell := 0
			for j, x := range d {
				side := p.Container.Sides()[j]
				d[j] = max(float64(low[j]), min(x, float64(high[j])))
				unit := (d[j] - float64(low[j])) / float64(high[j]-low[j])
				cell = cell*side + max(0, min(side-1, int(unit*float64(side))))
			}
			of[cell] = append(of[cell], i)
		}
		want["corrected_coverage"] = float64(len(of)) / float64(p.Container.Cells())
	}
	kept := make([]float64, n) // the fitness of those that the new archive holds
	for i := range kept {
		kept[i] = fitness[i][0]
	}
	switch {
	case c.Front > 0:
		var all [][]float64
		for _, elites := range of {
			var front [][]float64
			for _, i := range elites {
				x := objectives[i]
				stay := slices.DeleteFunc(slices.Clone(front), func(y []float64) bool { return better(x, y) })
				if !slices.ContainsFunc(front, func(y []float64) bool { return better(y, x) }) && len(stay) < c.Front {
					front = append(stay, x)
				}
			}
			want["corrected_moqd_score"] += area(slices.Clone(front))
			all = append(all, front...)
		}
		kept = nil
		for i, x := range objectives {
			if slices.ContainsFunc(all, func(y []float64) bool { return &y[0] == &x[0] }) {
				kept = append(kept, fitness[i][0])
			}
		}
		want["corrected_elites"], want["corrected_hypervolume"] = float64(len(all)), area(all)
		require.Less(t, len(all), n)
	case c.Archive == "nsga2:20":
		first := 0
		for _, x := range objectives {
			if !slices.ContainsFunc(objectives, func(y []float64) bool { return better(y, x) }) {
				first++
			}
		}
		want["corrected_elites"], want["corrected_first_front"] = float64(n), float64(first)
		want["corrected_hypervolume"] = area(slices.Clone(objectives))
	case c.Archive == "grid:50":
		for _, elites := range of {
			best := math.Inf(-1)
			for _, i := range elites {
				best = max(best, fitness[i][0])
			}
			want["corrected_qd_score"] += best + 100
		}
	default:
		a := s.program.Container.Empty(1, s.program.Scoring)
		for from := 0; from < n; from += c.Batch {
			to := min(n, from+c.Batch)
			m := batchOf(s.program.Container, s.program.Space, graph.Zeros(graph.ShapeOf(graph.Float32, to-from, 1)),
				graph.Float32s(float32s(slices.Concat(fitness[from:to]...))),
				graph.Float32s(float32s(slices.Concat(descriptors[from:to]...)), to-from, 2))
			m.Near = graph.VMap(func(unit *graph.Array) *Near {
				return s.program.Container.Traits().Near(a, unit)
			})(m.Unit)
			a, _ = a.Insert(m, graph.Of(int32(0)), s.program.Scoring)
		}
		kept = floats(t, a.Places().Fitness)[:int(floats(t, a.Size())[0])]
		for _, f := range kept {
			want["corrected_qd_score"] += f + 100
		}
		want["corrected_elites"] = float64(len(kept))
	}
	want["corrected_best_fitness"] = slices.Max(kept)
	require.Len(t, got, len(want))
	for name, x := range want {
		require.InEpsilon(t, x, got[name], 1e-4, name)
	}
	require.Equal(t, run.Fact{Name: "corrected_episodes", Value: 3}, facts[len(facts)-1])
	require.Contains(t, s.Table()[0], "by the means of 3 new episodes of each elite: ")

	// The file has the same, in the order of the places.
	files, err := s.Files(snapshot, true)
	require.NoError(t, err)
	arrays := files[0].Arrays.(map[string]*graph.Array)
	rows := map[string][][]float64{"corrected_fitness": fitness}
	if len(s.program.Space.Dims) > 0 {
		rows["corrected_descriptor"] = descriptors
	}
	if s.program.Objectives.names() != nil {
		rows["corrected_objectives"] = objectives
	}
	for name, want := range rows {
		require.InDeltaSlice(t, slices.Concat(want...), floats(t, arrays[name]), 1e-4, name)
		require.Equal(t, arrays["cell"].Dim(0), arrays[name].Dim(0))
	}
	require.Equal(t, "3", files[0].Metadata["corrected_episodes"])
	// Where an elite is in another cell now, the map names the one in the file.
	cells, m := floats(t, arrays["cell"]), files[1].JSON.(*mapFile)
	for y, row := range m.Cells {
		for x, cell := range row {
			require.Equal(t, cell < 0, m.Rows[y][x] == nil)
			found := cell < 0
			for i, f := range fitness {
				found = found || cells[i] == float64(cell) && math.Abs(f[0]-*m.Rows[y][x]) < 1e-4
			}
			require.True(t, found, "%d, %d: %d", x, y, cell)
		}
	}

	// Of another state, the file has only what belongs to it.
	_, err = s.Step(t.Context())
	require.NoError(t, err)
	later, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	files, err = s.Files(later, true)
	require.NoError(t, err)
	require.NotContains(t, files[0].Arrays, "corrected_fitness")
}

// Without random episodes nothing is corrected, on one device and, in the long form, on two.
func TestNothingToCorrect(t *testing.T) {
	c := small()
	c.Env, c.Policy, c.EvalEpisodes, c.Steps = "Arm-v0", "vector", 1, 1
	annealed, fronts, population, apart := c, c, c, c
	annealed.Annealing.Rate.Value, annealed.Annealing.Min.Value = .1, -1
	fronts.Env, fronts.Front, fronts.Reference = "MultiRastrigin-v0", 3, []float64{-3000, -3000}
	population.Env, population.Archive, population.Reference = "ZDT1-v0", "nsga2:50", []float64{-9, -9}
	apart.Archive = "unstructured:50"
	for name, c := range map[string]Config{"cells": c, "annealed": annealed, "fronts": fronts,
		"NSGA-II": population, "unstructured": apart} {
		t.Run(name, func(t *testing.T) {
			devices := 1
			if long.On() {
				devices = 2
			}
			for c.Devices = 1; c.Devices <= devices; c.Devices++ {
				var b xlabridge.Backend = &xlabridge.Reference{}
				if c.Devices == 2 {
					b = xlatest.Open(t, 2)
				}
				s, snapshot, facts := reevaluate(t, b, c, 3)
				m, err := s.Step(t.Context())
				require.NoError(t, err)
				require.NoError(t, s.Restore(t.Context(), snapshot))
				again, err := s.Step(t.Context())
				require.NoError(t, err)
				require.Equal(t, m.Values, again.Values, "the run goes on as before")
				state, err := s.state(snapshot)
				require.NoError(t, err)
				n := len(s.program.Container.Metrics())
				none := graph.Zeros(graph.ShapeOf(graph.Bool, 1))
				metrics, err := graph.Eval(state.Archive.Metrics(Change{Added: none, New: none, NoRoom: none,
					Valid: none, Novelty: graph.Zeros(graph.ShapeOf(graph.Float32, 1))}, s.program.Scoring))
				require.NoError(t, err)
				checked := 0
				for i, name := range s.program.Container.Metrics()[:n] {
					for _, f := range facts {
						if f.Name == "corrected_"+name {
							require.InEpsilon(t, floats(t, metrics[i])[0], f.Value, 1e-5, name)
							checked++
						}
					}
				}
				require.Equal(t, len(facts)-1, checked)
				require.Greater(t, checked, 1)
				require.Contains(t, s.Table()[0], "by the means of 1 new episode of each elite")
			}
		})
	}
}

// An empty archive, and elites that have no finite result, are no error.
func TestNothingIsLeft(t *testing.T) {
	c := small()
	c.Descriptor, c.EvalEpisodes = "nan-of-all", 2
	s, _, facts := reevaluate(t, &xlabridge.Reference{}, c, 1)
	require.Equal(t, []run.Fact{{Name: "corrected_coverage", Value: 0.}, {Name: "corrected_qd_score", Value: 0.},
		{Name: "corrected_episodes", Value: 2}}, facts)
	require.Contains(t, s.Table()[0], "0 of 36 cells filled")

	c.Descriptor, c.EvalEpisodes = "nan-of-some", 40 // one of the episodes begins to the left
	s, _, facts = reevaluate(t, &xlabridge.Reference{}, c, 1)
	require.Equal(t, 0., facts[0].Value)
	require.Contains(t, s.Table()[0], "means that are not finite")
}

// An interrupt stops a re-evaluation between two parts, and there are no corrected numbers.
func TestReevaluationStops(t *testing.T) {
	c := DefaultConfig()
	c.Env, c.Policy, c.Batch, c.EvalEpisodes = "Noisy-v0", "linear", 4, 2
	s, snapshot, _ := reevaluate(t, &xlabridge.Reference{}, c, 3)
	s.correction = nil
	ctx, cancel := context.WithCancel(t.Context())
	parts := 0
	_, err := s.Reevaluate(ctx, snapshot, func(share float64) {
		parts++
		require.Less(t, share, 1.)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, parts)
	require.Nil(t, s.Table())
}
