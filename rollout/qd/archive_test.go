package qd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/tasks"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
)

// floats returns the numbers of an array.
var floats = graphtest.Floats

func array(a oracles.Array) *graph.Array {
	v := make([]float32, len(a.Floats()))
	for i, x := range a.Floats() {
		v[i] = float32(x)
	}
	return graph.Float32s(v, a.Shape...)
}

type qdaxFile struct {
	Archives []struct {
		Name      string
		Sides     []int
		Low, High []float64
		Centroids oracles.Array
		Steps     []struct {
			Genotypes, Descriptors, Fitnesses, Tied oracles.Array
			After                                   struct{ Fitnesses, Descriptors, Genotypes oracles.Array }
		}
	}
	Arm struct{ Params, Fitness, Descriptor oracles.Array }
}

func readQDax(t *testing.T) (file qdaxFile) {
	t.Helper()
	require.NoError(t, oracles.Read("testdata/qdax_archive.json.gz", &file))
	return file
}

// batchOf returns the members of a generation, with the cells of their descriptors.
func batchOf(cells Tessellation, space envs.Box, genomes, fitness, descriptor *graph.Array) Batch {
	p := &Program{Space: space}
	type scores struct {
		Cell, Valid *graph.Array
		Descriptor  *graph.Array
		Unit        *graph.Array
	}
	s := graph.VMap2(func(f, d *graph.Array) scores {
		unit, _ := scaled(p.Space, d)
		valid := f.IsFinite().And(d.IsFinite().All())
		unit = graph.Select(valid, unit, graph.ZerosLike(unit))
		return scores{cells.Cell(cells.Tables(), unit), valid, d, unit}
	})(fitness, descriptor)
	return Batch{Genomes: genomes, Fitness: fitness, Descriptor: s.Descriptor, Unit: s.Unit, Cell: s.Cell,
		Valid: s.Valid}
}

// Insertions equal QDax's: the same cells, fitness and descriptors, ties in cell and fitness, elites of equal
// fitness, NaN. Where several of a batch are equal, QDax does not say which stays; here the first does.
func TestInsertionsOfQDax(t *testing.T) {
	for _, c := range readQDax(t).Archives {
		space := envs.Box{Low: c.Low, High: c.High, Dims: []int{len(c.Low)}, DType: graph.Float32}
		centroids := c.Centroids.Floats()
		d := len(c.Low)
		n := len(centroids) / d
		unit := points{make([]float32, len(centroids)), d}
		for i, x := range centroids {
			unit.flat[i] = float32((x - c.Low[i%d]) / (c.High[i%d] - c.Low[i%d]))
		}
		var cells Tessellation = scaledCentroids{array(c.Centroids), space}
		ours := make([]int, n) // the number of each of QDax's cells
		for i := range ours {
			ours[i] = i
		}
		if len(c.Sides) > 0 {
			cells = grid(c.Sides)
			for i := range ours {
				ours[i] = int(floats(t, cells.Cell(nil, graph.Float32s(unit.at(i))))[0])
			}
		}
		a := newElites(n, 3, d, bestOfCell)
		tied := map[float64]bool{} // first numbers of genomes
		for k, s := range c.Steps {
			genomes := array(s.Genotypes)
			b := batchOf(cells, space, genomes, array(s.Fitnesses), array(s.Descriptors))
			var change Change
			a, change = a.insert(b, graph.Of(int32(k)), bestOfCell)
			got, err := graph.Eval(a)
			require.NoError(t, err)
			a = got
			name := fmt.Sprintf("%s, step %d", c.Name, k)
			fitness, descriptors, rows := floats(t, a.Fitness), floats(t, a.Descriptor), floats(t, a.Genomes)
			for i, x := range s.Tied.Floats() {
				if x > 0 {
					tied[s.Genotypes.Floats()[3*i]] = true
				}
			}
			filled := 0
			for i, cell := range ours {
				want := s.After.Fitnesses.Floats()[i]
				require.Equal(t, want, fitness[cell], "%s, cell %d", name, i)
				if math.IsInf(want, -1) {
					continue
				}
				filled++
				theirs := s.After.Genotypes.Floats()[3*i : 3*i+3]
				if tied[theirs[0]] {
					require.True(t, tied[rows[3*cell]], "%s, cell %d", name, i)
					continue
				}
				require.Equal(t, theirs, rows[3*cell:3*cell+3], "%s, cell %d", name, i)
				require.Equal(t, s.After.Descriptors.Floats()[d*i:d*i+d], descriptors[d*cell:d*cell+d], name)
			}
			require.Equal(t, float64(filled), floats(t, a.Count)[0], name)
			if k == 2 {
				added := change.Added.Convert(graph.Float32).Sum()
				require.Zero(t, floats(t, added)[0], "equal fitness replaces nothing")
			}
		}
	}
}

// scaledCentroids are centroids within the bounds of descriptors, without scaling: the distances of QDax.
type scaledCentroids struct {
	centroids *graph.Array
	space     envs.Box
}

func (s scaledCentroids) Cells() int         { return s.centroids.Dim(0) }
func (scaledCentroids) Tables() any          { return graph.None{} }
func (scaledCentroids) Centers() [][]float64 { return nil }
func (scaledCentroids) Sides() []int         { return nil }
func (s scaledCentroids) Cell(_ any, unit *graph.Array) *graph.Array {
	low, high := boundsOf(s.space)
	return nearest(s.centroids, unit.Mul(graph.Float32s(widths(low, high))).Add(graph.Float32s(low)))
}

// The arm is QDax's.
func TestArmOfQDax(t *testing.T) {
	file := readQDax(t)
	arm := tasks.NewArm(100)
	out := graph.VMap(func(x *graph.Array) [2]*graph.Array {
		s, _ := arm.Reset(random.New(0), arm.DefaultParams())
		next, _, reward, _, _ := arm.Step(random.New(0), s, x, arm.DefaultParams())
		return [2]*graph.Array{reward, arm.Describe(next, arm.DefaultParams())}
	})(array(file.Arm.Params))
	require.InDeltaSlice(t, file.Arm.Fitness.Floats(), floats(t, out[0]), 1e-6)
	require.InDeltaSlice(t, file.Arm.Descriptor.Floats(), floats(t, out[1]), 1e-5)
}

// Insert is a loop over the members, whatever ties, NaN and infinities there are. Filled lists the cells in the order
// in which members fill them.
func TestInsertIsALoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const cells, batch = 7, 33
	a := newElites(cells, 1, 1, bestOfCell)
	best, owner := make([]float64, cells), make([]float64, cells)
	for i := range best {
		best[i] = math.Inf(-1)
	}
	var filled []float64
	for g := range 4 {
		genome, fitness, descriptor := make([]float32, batch), make([]float32, batch), make([]float32, batch)
		start := append([]float64(nil), best...)
		for i := range batch {
			genome[i], fitness[i], descriptor[i] = float32(100*g+i), float32(rng.IntN(6)), rng.Float32()
			switch rng.IntN(12) {
			case 0:
				fitness[i] = float32(math.NaN())
			case 1:
				fitness[i] = float32(math.Inf(1))
			case 2:
				descriptor[i] = float32(math.NaN())
			}
		}
		b := batchOf(grid{cells}, envs.Positive(1), graph.Float32s(genome, batch, 1), graph.Float32s(fitness),
			graph.Float32s(descriptor, batch, 1))
		var change Change
		a, change = a.insert(b, graph.Of(int32(g)), bestOfCell)
		for i := range batch {
			f, d := float64(fitness[i]), float64(descriptor[i])
			if math.IsNaN(f) || math.IsInf(f, 0) || math.IsNaN(d) {
				continue
			}
			cell := int(float32(descriptor[i]) * cells)
			if f > best[cell] {
				best[cell], owner[cell] = f, float64(genome[i])
			}
		}
		var new []float64 // in the order of the members that win
		for i := range batch {
			for cell := range cells {
				if math.IsInf(start[cell], -1) && !math.IsInf(best[cell], -1) && owner[cell] == float64(genome[i]) {
					new = append(new, float64(cell))
				}
			}
		}
		filled = append(filled, new...)
		require.Equal(t, best, floats(t, a.Fitness))
		require.Equal(t, owner, floats(t, a.Genomes))
		require.Equal(t, filled, floats(t, a.Filled)[:len(filled)])
		require.Equal(t, float64(len(new)), floats(t, change.New.Convert(graph.Float32).Sum())[0])
	}
	require.Greater(t, len(filled), 3)
}

func TestScore(t *testing.T) {
	a := newElites(4, 1, 1, bestOfCell)
	s := a.Score(graph.Scalar(10))
	require.Equal(t, []float64{0}, floats(t, s.Coverage))
	require.Equal(t, []float64{0}, floats(t, s.QD))
	require.True(t, math.IsInf(floats(t, s.Best)[0], -1))
	b := batchOf(grid{4}, envs.Positive(1), graph.Float32s([]float32{1, 2, 3}, 3, 1),
		graph.Float32s([]float32{-1, -3, 2}), graph.Float32s([]float32{.1, .9, .95}, 3, 1))
	a, _ = a.insert(b, graph.Of(int32(0)), bestOfCell)
	s = a.Score(graph.Scalar(10))
	require.Equal(t, []float64{.5, 21, 2, .5}, []float64{floats(t, s.Coverage)[0], floats(t, s.QD)[0],
		floats(t, s.Best)[0], floats(t, s.Mean)[0]})
}
