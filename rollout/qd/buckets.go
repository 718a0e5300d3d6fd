package qd

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// points are points in the unit cube, one after the other.
type points struct {
	flat []float32
	d    int
}

func (p points) len() int           { return len(p.flat) / p.d }
func (p points) at(i int) []float32 { return p.flat[i*p.d : (i+1)*p.d] }

// squareTo returns the squared distance of point i to x.
func (p points) squareTo(i int, x []float32) (sum float64) {
	for j, y := range p.at(i) {
		e := float64(y) - float64(x[j])
		sum += float64(e * e) // not fused with the sum, which rounds otherwise on some processors
	}
	return sum
}

// buckets finds near points by a grid over the unit cube: a bucket has the points in it.
type buckets struct {
	points
	side  int
	first []int32 // where the list of a bucket begins
	list  []int32 // points, bucket after bucket
}

// sideOf returns how many buckets there are along each axis so that a bucket has about perBucket points.
func sideOf(p points, perBucket float64) int {
	return max(1, int(math.Pow(float64(p.len())/perBucket, 1/float64(p.d))))
}

// newBuckets sorts points into the buckets of a grid with so many along each axis.
func newBuckets(p points, side int) *buckets {
	b := &buckets{points: p, side: side}
	count := 1
	for range b.d {
		count *= b.side
	}
	b.first, b.list = make([]int32, count+1), make([]int32, b.len())
	for i := range b.len() {
		b.first[b.bucket(b.at(i))+1]++
	}
	for i := range count {
		b.first[i+1] += b.first[i]
	}
	next := slices.Clone(b.first)
	for i := range b.len() {
		k := b.bucket(b.at(i))
		b.list[next[k]] = int32(i)
		next[k]++
	}
	return b
}

// part returns the part of the grid that a coordinate lies in.
func (b *buckets) part(x float32) int { return max(0, min(b.side-1, int(x*float32(b.side)))) }

func (b *buckets) bucket(x []float32) (k int) {
	for _, v := range x {
		k = k*b.side + b.part(v)
	}
	return k
}

// ring calls f for the points of the buckets whose largest distance from a bucket, in buckets along an axis, is r.
func (b *buckets) ring(at []int, r int, f func(point int)) {
	var walk func(axis, k int, edge bool)
	walk = func(axis, k int, edge bool) {
		if axis == b.d {
			if edge {
				for _, p := range b.list[b.first[k]:b.first[k+1]] {
					f(int(p))
				}
			}
			return
		}
		step := 1
		if axis == b.d-1 && !edge && r > 0 {
			step = 2 * r // only the two ends are on the edge
		}
		for o := -r; o <= r; o += step {
			if part := at[axis] + o; part >= 0 && part < b.side {
				walk(axis+1, k*b.side+part, edge || o == -r || o == r)
			}
		}
	}
	walk(0, 0, r == 0)
}

// nearest returns the point nearest to x, of equally near ones the first. near is a point that is likely to be near, or
// -1: a good one makes the search short.
func (b *buckets) nearest(x []float32, near int) int {
	if near < 0 {
		near = b.nearby(x)
	}
	best, least := near, b.squareTo(near, x)
	// A nearer point lies in the cube around x that reaches to the one found. The margin is for rounding.
	reach := float32(math.Sqrt(least)*(1+1e-6) + 1e-6)
	last := b.d - 1
	low, high := b.part(x[last]-reach), b.part(x[last]+reach)
	var walk func(axis, k int)
	walk = func(axis, k int) {
		if axis < last {
			for part := b.part(x[axis] - reach); part <= b.part(x[axis]+reach); part++ {
				walk(axis+1, (k+part)*b.side)
			}
			return
		}
		for _, p := range b.list[b.first[k+low]:b.first[k+high+1]] { // buckets along the last axis follow each other
			if s := b.squareTo(int(p), x); s < least || s == least && int(p) < best {
				best, least = int(p), s
			}
		}
	}
	walk(0, 0)
	return best
}

// nearby returns a point of the first ring around x that has one.
func (b *buckets) nearby(x []float32) int {
	at := make([]int, b.d)
	for i, v := range x {
		at[i] = b.part(v)
	}
	found := -1
	for r := 0; found < 0; r++ {
		b.ring(at, r, func(p int) { found = p })
	}
	return found
}

// candidates returns for each bucket all points that are the nearest one for some place in it, by rising number, and
// the length of the longest list. Some more may be among them.
func (b *buckets) candidates() (near [][]int32, most int) {
	near = make([][]int32, len(b.first)-1)
	inParallel(len(near), func(k int) {
		at, center := make([]int, b.d), make([]float32, b.d)
		for i, rest := b.d-1, k; i >= 0; i-- {
			at[i] = rest % b.side
			center[i] = (float32(at[i]) + .5) / float32(b.side)
			rest /= b.side
		}
		const slack = 1e-5 // for places that rounding moves into the next bucket
		half := .5/float64(b.side) + slack
		// Distances from the point to the nearest and to the farthest place in the bucket.
		reach := func(p int) (least, greatest float64) {
			for i, v := range b.at(p) {
				e := math.Abs(float64(v) - float64(center[i]))
				gap := max(0, e-half)
				least += gap * gap
				greatest += (e + half) * (e + half)
			}
			return least, greatest
		}
		bound := math.Inf(1)
		for r := range b.side + 1 {
			// A point of ring r is at least r-1 buckets and a half away from the center, and half a bucket less from
			// the bucket.
			if gap := float64(r-1) / float64(b.side); r > 1 && gap*gap > bound {
				break
			}
			b.ring(at, r, func(p int) {
				least, greatest := reach(p)
				bound = min(bound, greatest)
				if least <= bound {
					near[k] = append(near[k], int32(p))
				}
			})
		}
		near[k] = slices.DeleteFunc(near[k], func(p int32) bool {
			least, _ := reach(int(p))
			return least > bound
		})
		slices.Sort(near[k])
	})
	for _, list := range near {
		most = max(most, len(list))
	}
	return near, most
}

// inParallel calls f for the numbers below n on all cores.
func inParallel(n int, f func(i int)) {
	cores := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for c := range cores {
		all.Go(func() {
			for i := c * n / cores; i < (c+1)*n/cores; i++ {
				f(i)
			}
		})
	}
	all.Wait()
}
