package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/kernels"
)

// noise returns batches of random pictures with labels, a third of which do not count.
func noise(steps, inputs, lanes, classes int) Batches {
	r := rand.New(rand.NewPCG(3, 4))
	images, labels := make([]byte, steps*inputs*lanes), make([]int32, steps*lanes)
	for i := range images {
		images[i] = byte(r.IntN(256) * r.IntN(2))
	}
	for i := range labels {
		if labels[i] = int32(r.IntN(classes)); r.IntN(3) == 0 {
			labels[i] = -1
		}
	}
	return Batches{graph.FromBytes(graph.ShapeOf(graph.Uint8, steps, inputs, lanes), images),
		graph.Int32s(labels, steps, lanes)}
}

// learned is the result of a method: a member and its stats after some steps, a mutation, and more steps.
type learned struct {
	Member Member
	Stats  *graph.Array
}

func learn(b xlabridge.Backend, s Shape, m method, first Member, data Batches) (learned, error) {
	const steps = 3
	rate := graph.Scalar(.5 / float64(data.Labels.Dim(1)))
	return xlabridge.Jit2(b, func(member Member, data Batches) learned {
		stats := graph.Zeros(graph.ShapeOf(graph.Float32, 2))
		for half := range 2 {
			if half == 1 {
				member = s.mutate(member, make(commonPlaces, len(s)), random.New(9), .2)
			}
			index := m.index(member)
			for i, shape := range m.indexShapes() {
				if !index[i].Shape().Equal(shape) {
					panic(fmt.Sprintf("index %d is %v, want %v", i, index[i].Shape(), shape))
				}
			}
			weights, fixed := m.load(member, index)
			type loop struct {
				T       *graph.Array
				Weights []*graph.Array
				Stats   *graph.Array
			}
			end := graph.While(func(c loop) *graph.Array { return c.T.Lt((half + 1) * steps) }, func(c loop) loop {
				next, now := m.step(c.Weights, fixed, data, c.T, rate)
				return loop{c.T.Add(1), next, c.Stats.Add(now)}
			}, loop{graph.Of(int32(half * steps)), weights, stats})
			weights, stats = end.Weights, end.Stats
			var next Member
			for l, w := range m.store(weights, fixed, member) {
				next = append(next, Connections{member[l].At, w})
			}
			member = next
			weights, fixed = m.load(member, index)
			stats = stats.Add(m.evaluate(weights, fixed, data, graph.Of(int32(0))))
		}
		return learned{member, stats}
	})(first, data)
}

// Every method learns what masked matrices learn, up to rounding, on sparse and full topologies, through a mutation.
// The short form compiles the kernels; the rest is interpreted, and compiled in TestMethodsAreTheLoopOverConnections.
func TestMethodsLearnTheSame(t *testing.T) {
	client := open(t, 1)
	var interpreter xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		interpreter = client
	}
	everywhere := math.Inf(1)
	some := ShapeOf([]int{600, 17, 9, 3}, []float64{.02, .2, 1})
	for _, c := range []struct {
		shape     Shape
		dtype     graph.DType
		tolerance float64
		blocks    bool // all in blocks too; elsewhere, the default's mixture is in TestMethodsAreTheLoopOverConnections
	}{
		{ShapeOf([]int{36, 20, 6}, []float64{.3, .6}), graph.BFloat16, 1e-2, true},
		{some, graph.Float32, 1e-4, true},
		{some, graph.BFloat16, 1e-2, false},
		{ShapeOf([]int{40, 33, 6}, []float64{.001, .01}), graph.Float32, 1e-4, true}, // most units have nothing
	} {
		shape, dtype, tolerance := c.shape, c.dtype, c.tolerance
		data := noise(6, shape[0].In, 64, shape[len(shape)-1].Out)
		member, err := graph.Eval(shape.random(random.New(5), make(commonPlaces, len(shape))))
		require.NoError(t, err)
		want, err := learn(interpreter, shape, maskedMethod{shape, dtype}, member, data)
		require.NoError(t, err)
		type way struct {
			name    string
			backend xlabridge.Backend
			method  method
			path    int // of the kernel
		}
		var ways []way
		if c.blocks {
			ways = append(ways, way{"blocks", interpreter, blocksOf(shape, dtype, everywhere), -1})
		}
		for i, path := range kernels.VectorSets() {
			ways = append(ways, way{"kernel " + path, client, kernelMethod{shape, dtype}, i})
		}
		for _, w := range ways {
			t.Run(fmt.Sprintf("%v %s %s", shape, dtype, w.name), func(t *testing.T) {
				kernels.UseSparseSet(w.path)
				defer kernels.UseSparseSet(-1)
				got, err := learn(w.backend, shape, w.method, member, data)
				require.NoError(t, err)
				near(t, want.Stats, got.Stats, 10*tolerance)
				for l := range shape {
					near(t, want.Member[l].At, got.Member[l].At, 0)
					near(t, want.Member[l].W, got.Member[l].W, tolerance)
				}
			})
		}
	}
}

// near compares the elements of two arrays. tolerance is relative to the largest element, or to 1.
func near(t *testing.T, want, got *graph.Array, tolerance float64) {
	t.Helper()
	w, err := graph.Floats(want)
	require.NoError(t, err)
	g, err := graph.Floats(got)
	require.NoError(t, err)
	most := 1.
	for _, v := range w {
		most = max(most, math.Abs(v))
	}
	require.InDeltaSlice(t, w, g, tolerance*most)
}
