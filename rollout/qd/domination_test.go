package qd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
)

func key(i int) random.Key { return random.FoldIn(random.New(9), i) }

// coarsePoints are points with many equal coordinates; some are -Inf.
func coarsePoints(rng *rand.Rand, n, k int) (all [][]float64, flat *graph.Array) {
	var numbers []float32
	for i := range n {
		p := make([]float64, k)
		for j := range p {
			if p[j] = float64(rng.IntN(6)) / 4; i%9 == 4 {
				p[j] = math.Inf(-1)
			}
			numbers = append(numbers, float32(p[j]))
		}
		all = append(all, p)
	}
	return all, graph.Float32s(numbers, n, k)
}

func better(a, b []float64) bool {
	some := false
	for i := range a {
		if a[i] < b[i] {
			return false
		}
		some = some || a[i] > b[i]
	}
	return some
}

// Plain loops find the same fronts and crowding distances.
func TestDominationIsALoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, k := range []int{1, 2, 3} {
		points, flat := coarsePoints(rng, 40, k)
		front := slices.Repeat([]float64{-1}, 40)
		for f, left := 0., 40; left > 0; f++ {
			var of []int
			for i := range points {
				if front[i] < 0 && !slices.ContainsFunc(points, func(q []float64) bool {
					j := slices.IndexFunc(points, func(p []float64) bool { return &p[0] == &q[0] })
					return front[j] < 0 && better(q, points[i])
				}) {
					of = append(of, i)
				}
			}
			for _, i := range of {
				front[i] = f
			}
			left -= len(of)
		}
		require.Equal(t, front, floats(t, domination(flat, 40)), "%d objectives", k)
		for i, f := range floats(t, domination(flat, 10)) {
			if slices.Sorted(slices.Values(front))[9] >= front[i] {
				require.Equal(t, front[i], f)
			}
		}

		got := floats(t, crowding(flat, graph.Float32s(float32s(front)).Convert(graph.Int32)))
		want := make([]float64, 40)
		for j := range k {
			order := make([]int, 40)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int {
				if front[a] != front[b] {
					return int(front[a] - front[b])
				}
				return int(math.Copysign(4, points[a][j]-points[b][j])) * btoi(points[a][j] != points[b][j])
			})
			for at := 0; at < 40; {
				end := at
				for end < 40 && front[order[end]] == front[order[at]] {
					end++
				}
				width := points[order[end-1]][j] - points[order[at]][j]
				for i := at; i < end; i++ {
					if i == at || i == end-1 {
						want[order[i]] = math.Inf(1)
					} else if width > 0 {
						want[order[i]] += (points[order[i+1]][j] - points[order[i-1]][j]) / width
					}
				}
				at = end
			}
		}
		for i := range want {
			if math.IsInf(want[i], 1) {
				require.True(t, math.IsInf(got[i], 1), "%d objectives, point %d", k, i)
			} else {
				require.InDelta(t, want[i], got[i], 1e-5, "%d objectives, point %d", k, i)
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func float32s(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

// A hypervolume is the number of small boxes below the points.
func TestHypervolumeIsACount(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for k := 1; k <= mostObjectives; k++ {
		points, flat := coarsePoints(rng, 12, k)
		reference := slices.Repeat([]float32{.25}, k)
		count := 0
		for box := range int(math.Pow(8, float64(k))) {
			corner := make([]float64, k)
			for i, rest := 0, box; i < k; i++ {
				corner[i] = float64(rest%8)/4 + .25
				rest /= 8
			}
			if slices.ContainsFunc(points, func(p []float64) bool {
				for i := range p {
					if p[i] < corner[i]+.25 {
						return false
					}
				}
				return true
			}) {
				count++
			}
		}
		require.InDelta(t, float64(count)/math.Pow(4, float64(k)), floats(t, hypervolume(flat,
			graph.Float32s(reference)))[0], 1e-5, "%d objectives", k)
	}
}

// Of the population and a generation the best survive: by front, then by crowding distance; earlier ones of equal ones.
func TestPopulationSurvives(t *testing.T) {
	of := Measures{0, Objectives{Names: "a,b", Reference: []float64{0, 0}}}
	c, err := (&NSGA2{Number: 3}).Make(of)
	require.NoError(t, err)
	scoring := Scoring{Objectives: of.Objectives}
	a := c.Empty(1, scoring)
	batch := func(valid bool, objectives ...float32) Batch {
		n := len(objectives) / 2
		genomes := make([]float32, n)
		for i := range genomes {
			genomes[i] = objectives[2*i]*10 + objectives[2*i+1]
		}
		return Batch{Genomes: graph.Float32s(genomes, n, 1), Fitness: graph.Float32s(genomes),
			Objectives: graph.Float32s(objectives, n, 2), Valid: graph.Full(graph.ShapeOf(graph.Bool, n), valid)}
	}
	a, change := a.Insert(batch(false, 9, 9, 9, 9), graph.Of(int32(0)), scoring)
	require.Equal(t, []float64{0}, floats(t, a.Size()))
	require.Equal(t, []float64{0, 0}, floats(t, change.Added.Convert(graph.Float32)))
	a, _ = a.Insert(batch(true, 1, 1, 3, 3), graph.Of(int32(1)), scoring)
	require.Equal(t, []float64{2}, floats(t, a.Size()))
	// 1,9 and 9,1 are the ends of the first front; 3,3 is more crowded than 5,5, which dominates it.
	a, change = a.Insert(batch(true, 1, 9, 9, 1, 5, 5, 4, 4), graph.Of(int32(2)), scoring)
	require.Equal(t, []float64{1, 1, 1, 0}, floats(t, change.Added.Convert(graph.Float32)))
	require.ElementsMatch(t, []float64{19, 91, 55}, floats(t, a.Places().Genomes))
	a, _ = a.Insert(batch(true, 5, 5, 4, 6), graph.Of(int32(3)), scoring)
	require.ElementsMatch(t, []float64{19, 91, 46}, floats(t, a.Places().Genomes), "two at 5,5 are crowded")
}
