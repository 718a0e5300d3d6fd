package qd

import (
	"math/rand/v2"
	"sync"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() { MustRegisterArchive("cvt", &CVT{Number: 1024}) }

// CVT divides the space of descriptors into cells of about equal size, each around a centroid: a centroidal Voronoi
// tessellation (Vassiliades, Chatzilygeroudis and Mouret, "Using centroidal Voronoi tessellations to scale up the
// multidimensional archive of phenotypic elites algorithm", 2018). A descriptor belongs to the nearest centroid, of
// equally near ones to the first.
type CVT struct {
	Number int   `set:"cells" args:"" min:"2" max:"16777216" help:"number of cells"`
	Draw   int64 `set:"seed" wants:"a whole number" help:"seed of the points that the cells are fitted to; it does not change with --seed"`
}

// Make returns the archive of the cells.
func (c *CVT) Make(of Measures) (Container, error) {
	t, err := c.Divide(of.Descriptor)
	if err != nil {
		return nil, err
	}
	return Cells(t, of), nil
}

// Needs implements ArchiveMaker.
func (*CVT) Needs() Needs { return Needs{Cells: true, Descriptor: true} }

// Divide returns the cells. They are computed when they are first used, once in a process: many take long, and a check
// of the settings needs only their number.
func (c *CVT) Divide(d int) (Tessellation, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	type key struct {
		cells, d int
		seed     int64
	}
	made, _ := tessellations.LoadOrStore(key{c.Number, d, c.Draw}, sync.OnceValue(func() *centroids {
		return newCentroids(kMeans(c.Number, d, uint64(c.Draw)))
	}))
	return cvt{c.Number, made.(func() *centroids)}, nil
}

var tessellations sync.Map

// cvt is a tessellation by centroids in the unit cube.
type cvt struct {
	cells     int
	centroids func() *centroids
}

// centroids are the middles of cells.
type centroids struct {
	points points
	tables any // nearTable, or allPoints
	side   int // of the grid of a nearTable
}

// allPoints are all centroids.
type allPoints struct{ Centroids *graph.Array } // f32[cells, d]

// nearTable has, for each bucket of a grid over the unit cube, all centroids that are the nearest one for a descriptor
// in it: f32[buckets, most, d+1], the coordinates and the number of the centroid, by rising numbers. Where there are
// fewer, they are far away. A bucket is one piece of memory: large tables are read slowly.
type nearTable struct{ Near *graph.Array }

// mostTableDims and mostTableNumbers bound the tables: with more numbers in a descriptor, a bucket has too many
// neighbors. Up to fineTableDims there are four buckets for each centroid, so that a bucket has few of them.
const mostTableDims, mostTableNumbers, fineTableDims = 4, 1 << 26, 2

// far is a coordinate that is never near.
const far = 1e9

func newCentroids(p points) *centroids {
	t := &centroids{points: p, tables: allPoints{graph.Float32s(p.flat, p.len(), p.d)}}
	if p.d > mostTableDims {
		return t
	}
	perBucket := 1.
	if p.d <= fineTableDims {
		perBucket = .25
	}
	b := newBuckets(p, sideOf(p, perBucket))
	near, most := b.candidates()
	if len(near)*most*(p.d+1) > mostTableNumbers || most*2 > p.len() {
		return t
	}
	rows := make([]float32, len(near)*most*(p.d+1))
	for i := range rows {
		rows[i] = far
	}
	for i, list := range near {
		for j, n := range list {
			row := rows[(i*most+j)*(p.d+1):]
			copy(row, p.at(int(n)))
			row[p.d] = float32(n) // exact: there are at most 2²⁴ cells
		}
	}
	t.side = b.side
	t.tables = nearTable{graph.Float32s(rows, len(near), most, p.d+1)}
	return t
}

func (t cvt) Cells() int  { return t.cells }
func (cvt) Sides() []int  { return nil }
func (t cvt) Tables() any { return t.centroids().tables }

func (t cvt) Cell(tables any, x *graph.Array) *graph.Array {
	if all, ok := tables.(allPoints); ok {
		return nearest(all.Centroids, x)
	}
	near := tables.(nearTable)
	side := t.centroids().side
	bucket := graph.Scalar(0, graph.Int32)
	for i := range x.Dim(0) {
		part := x.Index(i).Mul(side).Floor().Convert(graph.Int32).Min(side - 1)
		bucket = bucket.Mul(side).Add(part)
	}
	row := graph.Once(graph.Take(near.Near, bucket, 0))
	d := x.Dim(0)
	best := nearest(graph.SliceAxis(row, 1, 0, d), x)
	return graph.Take(graph.SliceAxis(row, 1, d, d+1).Squeeze(1), best, 0).Convert(graph.Int32)
}

// nearest returns the number of the point, f32[points, d], that is nearest to x, f32[d].
func nearest(points, x *graph.Array) *graph.Array {
	return points.Sub(x.ExpandDims(0)).Square().Sum(1).ArgMin(0)
}

func (t cvt) Centers() [][]float64 {
	all, points := make([][]float64, t.cells), t.centroids().points
	for i := range all {
		for _, x := range points.at(i) {
			all[i] = append(all[i], float64(x))
		}
	}
	return all
}

// k-means of many cells takes fewer samples and iterations, so that 100,000 cells take seconds and not minutes.
const (
	samplesAtLeast                    = 20_000
	samplesOfCell, iterations         = 20, 20
	manyCells                         = 20_000
	samplesOfManyCell, manyIterations = 10, 5
)

// kMeans returns centroids of uniform samples in the unit cube, by the iterations of Lloyd, "Least squares quantization
// in PCM" (1982), from the first samples. They are the same on every processor: a resumed run computes them again.
func kMeans(cells, d int, seed uint64) points {
	perCell, turns := samplesOfCell, iterations
	if cells >= manyCells {
		perCell, turns = samplesOfManyCell, manyIterations
	}
	perCell = max(perCell, samplesAtLeast/cells)
	random := rand.New(rand.NewPCG(seed, 0))
	samples := points{make([]float32, perCell*cells*d), d}
	for i := range samples.flat {
		samples.flat[i] = random.Float32()
	}
	centroids := points{append([]float32(nil), samples.flat[:cells*d]...), d}
	of := make([]int32, samples.len()) // the centroid of each sample
	for i := range of {
		of[i] = -1
	}
	for range turns {
		b := newBuckets(centroids, sideOf(centroids, 2))
		inParallel(samples.len(), func(i int) { of[i] = int32(b.nearest(samples.at(i), int(of[i]))) })
		sums, counts := make([]float64, cells*d), make([]float64, cells)
		for i, c := range of {
			counts[c]++
			for j, x := range samples.at(i) {
				sums[int(c)*d+j] += float64(x)
			}
		}
		for i := range centroids.flat {
			if n := counts[i/d]; n > 0 {
				centroids.flat[i] = float32(sums[i] / n)
			}
		}
	}
	return centroids
}
