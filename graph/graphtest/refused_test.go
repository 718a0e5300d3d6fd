package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	. "xlarun/graph/graphtest"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/graph/stats"
)

// Arguments that once ended in a panic of the runtime, took all memory, or were refused in the name of another
// function.
func TestRefusedArguments(t *testing.T) {
	x, i := graph.Ones(f32(3, 4)), graph.Of([]int32{1})
	noTransform := optim.Transform(nil)
	step := func(t optim.Transform) { optimized(t, graph.Float32s([]float32{1})) }
	at := func(s optim.Schedule) { s(graph.Of(int32(3))) }
	for _, c := range []struct {
		want string
		call func()
	}{
		{"random.SplitN: got n = 1099511627776, want at most 65536", func() {
			random.SplitN(random.New(1), 1<<40)
		}},
		{"Split: got 1099511627776 for the number of results, want from 0 to 65536", func() {
			graph.Split(graph.Zeros(f32(0)), 1<<40, 0)
		}},
		{"Unstack: got 1099511627776 for the number of results", func() {
			graph.Unstack(graph.Zeros(f32(1<<40, 0)), 0)
		}},
		{"Ring: got -1 for the number of results", func() { graph.Ring(-1, 1) }},
		{"Linspace: got 1099511627776 numbers; want from 0 to 16777216", func() {
			graph.Linspace(0, 1, 1<<40)
		}},
		{"gather: got [3] for the axes without a window, want different ones from 0 to 1", func() {
			graph.Gather(x, i, dims{Window: []int{0}, Collapsed: []int{3}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		}},
		{"gather: got [-1] for the axes of coordinates, want different ones from 0 to 1", func() {
			graph.Gather(x, i, dims{Window: []int{0}, Collapsed: []int{0}, Coordinates: []int{-1}, Sizes: []int{1, 4}})
		}},
		{"gather: got [1 0] for the window axes, want different ones from 0 to 1, ascending", func() {
			graph.Gather(x, i, dims{Window: []int{1, 0}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		}},
		{"gather: got [] for the window axes, want 1 of them", func() {
			graph.Gather(x, i, dims{Collapsed: []int{0}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		}},
		{"gather: slice size 2 along axis 0, which has no window: want 1", func() {
			graph.Gather(x, i, dims{Window: []int{0}, Collapsed: []int{0}, Coordinates: []int{0}, Sizes: []int{2, 4}})
		}},
		{"gather: got 1 batch axes and 0 of the indices, want as many", func() {
			graph.Gather(x, i, dims{Window: []int{0}, Batch: []int{1}, Coordinates: []int{0}, Sizes: []int{3, 1}})
		}},
		{"gather: the batch axes 0 of f32[3,4] and 0 of the indices i32[2,1] differ in size", func() {
			graph.Gather(x, graph.Of([][]int32{{0}, {1}}), dims{Window: []int{1}, Batch: []int{0},
				IndexBatch: []int{0}, Coordinates: []int{1}, Sizes: []int{1, 1}})
		}},
		{"scatter: got [7] for the window axes, want different ones from 0 to 0", func() {
			graph.Scatter("sum", x, i, graph.Ones(f32(4)), dims{Window: []int{7}, Collapsed: []int{0},
				Coordinates: []int{0}, Sizes: []int{1, 4}})
		}},
		{"Scan: got 4294967296 steps, want at most 2147483647", func() {
			scan(graph.Scalar(0), graph.Length(1<<32))
		}},
		{"Scan: got Unroll(2147483648) for 2147483647 steps, want at most 65536 of them in one iteration", func() {
			scan(graph.Scalar(0), graph.Length(math.MaxInt32), graph.Unroll(1<<31))
		}},
		{"WhileBounded: got at most 2147483648 iterations, want from 0 to 2147483647", func() {
			graph.WhileBounded(func(c array) array { return graph.Lt(c, 3) }, func(c array) array { return c },
				graph.Scalar(0), 1<<31)
		}},
		{"got the dtype DType(77), want one of [Bool", func() { graph.Zeros(graph.ShapeOf(77, 2)) }},
		{`Spec: mesh axis "i" has 0 devices, want 1 or more`, func() {
			graph.Spec{"i"}.Cut(graph.Mesh{{Name: "i"}}, f32(6))
		}},
		{`Spec: mesh axis "i" has -2 devices, want 1 or more`, func() {
			graph.Spec{"i"}.Cut(graph.Mesh{{Name: "i", Size: -2}}, f32(6))
		}},
		{"UnravelIndex: got dims [-1 2] for indices i32[1], want sizes of at least 0 whose product", func() {
			graph.UnravelIndex(i, -1, 2)
		}},
		{"UnravelIndex: got dims [65536 65536] for indices i32[1]", func() {
			graph.UnravelIndex(i, 1<<16, 1<<16)
		}},
		{"Nonzero: got f32[3,4], a size of 2147483648", func() { graph.Nonzero(x, 1<<31) }},
		{"Nonzero: got 2147483648 to fill up with, want a number that fits in an int32", func() {
			graph.Nonzero(x, 2, 1<<31)
		}},
		{"Unique: got a size of 2147483648", func() { graph.Unique(i, 1<<31) }},
		{"Histogram: got 2147483647 intervals, want from 1 to 2147483646", func() {
			stats.Histogram(x, math.MaxInt32, 0, 1)
		}},
		{"optim.Linear: got 2147483648 steps, want from 1 to 2147483647", func() {
			at(optim.Linear(1, 0, 1<<31))
		}},
		{"optim.Polynomial: got the step -4294967296, want one that fits in an int32", func() {
			at(optim.Polynomial(1, 0, 2, 10, -1<<32))
		}},
		{"optim.Join: got the step 2147483648, want one that fits in an int32", func() {
			at(optim.Join([]optim.Schedule{optim.Constant(1), optim.Constant(2)}, []int{1 << 31}))
		}},
		{"optim.PiecewiseConstant: got the step 2147483648", func() {
			at(optim.PiecewiseConstant(1, map[int]float64{1 << 31: 2}))
		}},
		{"optim.WarmupCosine: got a warm-up of -1 steps of 10, want from 0 to fewer than all", func() {
			at(optim.WarmupCosine(0, 1, -1, 10, 0))
		}},
		{"MultiSteps: got a step every 2147483648 gradients, want from 1 to 2147483647", func() {
			optim.MultiSteps(optim.SGD(.1), 1<<31)
		}},
		{"ApplyIfFinite: got at most 2147483648 steps in a row, want from 0 to 2147483647", func() {
			optim.ApplyIfFinite(optim.SGD(.1), 1<<31)
		}},
		{"optim.Chain: transform 1 is nil", func() { optim.Chain(optim.SGD(.1), nil) }},
		{"optim.Flattened: transform 0 is nil", func() { optim.Flattened(noTransform) }},
		{"optim.Masked: transform 0 is nil", func() { optim.Masked(nil, optim.MatricesOnly) }},
		{"optim.Masked: got a nil mask", func() { optim.Masked(optim.SGD(.1), nil) }},
		{"optim.MultiSteps: transform 0 is nil", func() { optim.MultiSteps(nil, 2) }},
		{"optim.ApplyIfFinite: transform 0 is nil", func() { optim.ApplyIfFinite(nil, 2) }},
		{"optim.ScaleBySchedule: got a nil Schedule", func() { optim.ScaleBySchedule(nil) }},
		{"optim.Stateless: got a nil function", func() { optim.Stateless(nil) }},
		{"optim.InjectHyperparams: got a nil function", func() { optim.InjectHyperparams[array](x, nil) }},
		{"optim.InjectHyperparams: transform 0 is nil", func() {
			step(optim.InjectHyperparams(x, func(array) optim.Transform { return nil }))
		}},
		{"optim.Update: transform 0 is nil", func() { optim.Step(noTransform, x, x, nil) }},
		{"optim.StepIf: the condition is nil, want a bool scalar", func() {
			optim.StepIf(nil, optim.SGD(.1), x, x, nil)
		}},
	} {
		err := graph.Try(c.call)
		assert.ErrorContains(t, err, c.want)
		if err != nil {
			assert.Contains(t, err.Error(), "_test.go:", c.want)
		}
	}
}

// TestHugeDiagonals: Tril and Triu took the number of a diagonal modulo 2^32.
func TestHugeDiagonals(t *testing.T) {
	x := graph.Reshape(graph.Convert(graph.Iota(12), graph.Float32), 3, 4)
	all := Floats(t, x)
	none := make([]float64, len(all))
	for _, k := range []int{3, 4, math.MaxInt32, 1 << 32, math.MaxInt64, -4, math.MinInt32, -1 << 32, math.MinInt64} {
		low, high := all, none
		if k < 0 {
			low, high = none, all
		} else if k == 3 { // the last one that has an element
			high = append(append([]float64{}, none[:3]...), append([]float64{3}, none[4:]...)...)
		}
		got := Floats(t, graph.Tril(x, k))
		assert.Equal(t, low, got, "Tril from diagonal %d", k)
		got = Floats(t, graph.Triu(x, k))
		assert.Equal(t, high, got, "Triu from diagonal %d", k)
	}
}

// TestNothing: a nil is an empty tree where the type of the tree is an interface.
func TestNothing(t *testing.T) {
	p, err := graph.Trace("nothing", func(x any) any { return x }, any(nil))
	require.NoError(t, err)
	assert.Empty(t, p.Inputs)
	assert.Nil(t, optim.ApplyUpdates[any](nil, nil))
}

// TestScheduleOfLateSteps: the count of a schedule that begins before the first step does not overflow.
func TestScheduleOfLateSteps(t *testing.T) {
	s := optim.Polynomial(1, .25, 1, 10, math.MinInt32)
	for _, count := range []int32{0, 5, math.MaxInt32} {
		v := Floats(t, s(graph.Of(count)))
		assert.Equal(t, []float64{.25}, v, "step %d", count)
	}
}
