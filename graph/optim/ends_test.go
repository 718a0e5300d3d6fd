package optim_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// TestEndsOfSchedules: the first and the last value are exact, also in a compiled program, which multiplies by the
// rounded 1/steps. The short form compiles every third length.
func TestEndsOfSchedules(t *testing.T) {
	type ends struct {
		name        string
		length      int // which of the lengths
		schedule    optim.Schedule
		last        int
		init, final float64
	}
	var all []ends
	for i, steps := range []int{1, 3, 10, 41, 49, 103, 1000, 12345, 1<<24 + 3, math.MaxInt32} {
		a, b := .1+float64(i)/7, []float64{0, .3, 1e-5}[i%3]
		add := func(name string, s optim.Schedule, last int, init, final float64) {
			all = append(all, ends{fmt.Sprintf("%s of %d steps", name, steps), i, s, last, init, final})
		}
		add("linear", optim.Linear(a, b, steps), steps, a, b)
		add("linear of arrays", optim.Linear(graph.Scalar(a), graph.Scalar(b), steps), steps, a, b)
		add("polynomial", optim.Polynomial(a, b, 2.5, steps, 0), steps, a, b)
		add("cosine", optim.Cosine(a, steps, b), steps, a, a*b)
		add("exponential", optim.Exponential(a, steps, 1), steps, a, a)
		if steps > 3 && steps < math.MaxInt32 {
			add("warm-up", optim.WarmupCosine(b, a, 3, steps, b/3), steps, b, b/3)
			add("one cycle", optim.CosineOneCycle(a, steps, .3, 7, 11), steps, a/7, a/77)
			add("straight cycle", optim.LinearOneCycle(a, steps, .3, .8, 7, 11), steps, a/7, a/77)
			add("begun later", optim.Polynomial(a, b, 2, steps, 7), steps+7, a, b)
		}
	}
	for name, backend := range xlatest.Backends(t) {
		all := all
		if name == "xla" && !long.On() {
			all = slices.DeleteFunc(slices.Clone(all), func(e ends) bool { return e.length%3 > 0 })
		}
		counts, want := []int32{}, []float32{}
		for _, e := range all {
			counts = append(counts, 0, int32(e.last), int32(min(e.last+1, math.MaxInt32)))
			want = append(want, float32(e.init), float32(e.final), float32(e.final))
		}
		values := func(counts *graph.Array) *graph.Array {
			var out []*graph.Array
			for i, e := range all {
				out = append(out, graph.VMap(e.schedule)(graph.SliceAxis(counts, 0, 3*i, 3*i+3)))
			}
			return graph.Concatenate(0, out...)
		}
		out, err := xlabridge.Jit(backend, values)(graph.Int32s(counts))
		require.NoError(t, err)
		for i, x := range floats(t, out) {
			require.Equal(t, want[i], float32(x), "%s: %s at step %d", name, all[i/3].name, counts[i])
		}
	}
}

// Counts may have a dtype that does not hold the numbers of steps.
func TestSchedulesOfNarrowCounts(t *testing.T) {
	for i, s := range []optim.Schedule{
		optim.Linear(1, 2, 1000), optim.Polynomial(1, 2, 3, 1000, 2), optim.Cosine(1, 1000, .1),
		optim.Exponential(1, 1000, .5), optim.PiecewiseConstant(1, map[int]float64{5: .5, 1000: .5}),
		optim.Warmup(0, 1, 1000, optim.Constant(2)), optim.WarmupCosine(0, 1, 500, 1000, .1),
		optim.CosineOneCycle(1, 1000, .3, 25, 1e4), optim.LinearOneCycle(1, 1000, .3, .8, 25, 1e4),
	} {
		want := floats(t, s(graph.Scalar(7, graph.Int32)))
		require.Equal(t, want, floats(t, s(graph.Scalar(7, graph.Int8))), i)
		require.Equal(t, want, floats(t, s(graph.Scalar(7, graph.Uint8))), i)
	}
}
