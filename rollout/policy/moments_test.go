package policy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Joined moments of parts equal a loop over all numbers, for no numbers, for one, and for a huge mean with a small
// deviation.
func TestMomentsAreALoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, c := range []struct {
		parts           []int
		mean, deviation float64
	}{{[]int{}, 0, 1}, {[]int{1}, 3, 1}, {[]int{0, 1, 0}, 3, 1}, {[]int{5, 1, 70}, -2, 4}, {[]int{9, 300, 20}, 1e6, 30},
		{[]int{2, 2}, 1e15, 1e14}} {
		sum, rows := NoMoments(1), []Moments{NoMoments(1)}
		var all []float64
		for _, n := range c.parts {
			var origin, linear, squares float32
			for k := range n {
				x := float32(c.mean + c.deviation*rng.NormFloat64())
				if k == 0 {
					origin = x
				}
				linear, squares, all = linear+(x-origin), squares+(x-origin)*(x-origin), append(all, float64(x))
			}
			of := func(x float32) *graph.Array { return graph.Float32s([]float32{x}) }
			m := MomentsOf(graph.Scalar(float64(n)), of(origin), of(linear), of(squares))
			sum, rows = sum.Merge(m), append(rows, m)
		}
		column := func(of func(Moments) *graph.Array) *graph.Array {
			var leaves []*graph.Array
			for _, m := range rows {
				leaves = append(leaves, of(m))
			}
			return graph.Stack(leaves, 0)
		}
		together := Moments{column(func(m Moments) *graph.Array { return m.Count }),
			column(func(m Moments) *graph.Array { return m.Mean }),
			column(func(m Moments) *graph.Array { return m.Variance })}.MergeRows()
		mean, variance := 0., 0.
		for _, x := range all {
			mean += x / float64(len(all))
		}
		for _, x := range all {
			variance += (x - mean) * (x - mean) / float64(len(all))
		}
		for _, m := range []Moments{sum, together} {
			require.Equal(t, []float64{float64(len(all))}, floats(t, m.Count), "case %d", i)
			require.InEpsilon(t, 1+math.Abs(mean), 1+math.Abs(floats(t, m.Mean)[0]), 1e-6, "case %d", i)
			require.InEpsilon(t, 1+variance, 1+floats(t, m.Variance)[0], 1e-3, "case %d", i)
		}
	}
}

// Beyond 2^24 observations that come one at a time are counted, and move the mean and the variance.
func TestMomentsOfManyObservations(t *testing.T) {
	of := func(x float64) *graph.Array { return graph.Float32s([]float32{float32(x)}) }
	const start, more, x = 1<<24 - 10, 1000, .9
	m := MomentsOf(graph.Scalar(start), of(.5), of(0), of(0))
	for range more {
		m = m.Merge(MomentsOf(graph.Scalar(1), of(x), of(0), of(0)))
	}
	share := float64(more) / (start + more)
	rows := Moments{graph.Float64s([]float64{start, more}), graph.Float64s([]float64{.5, x}, 2, 1),
		graph.Float64s([]float64{0, 0}, 2, 1)}
	for _, m := range []Moments{m, rows.MergeRows()} {
		require.Equal(t, []float64{start + more}, floats(t, m.Count))
		require.InEpsilon(t, .4*share, floats(t, m.Mean)[0]-.5, .02)
		require.InEpsilon(t, .4*.4*share*(1-share), floats(t, m.Variance)[0], .02)
	}
}

// Numbers whose squares overflow count as no observations. Observations are normalized by the moments, within ±10.
func TestNormalizing(t *testing.T) {
	one := func(x float64) *graph.Array { return graph.Float32s([]float32{float32(x)}) }
	for i, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e25, -3e38} {
		for _, m := range []Moments{MomentsOf(graph.Scalar(3), one(bad), one(0), one(0)),
			MomentsOf(graph.Scalar(3), one(0), one(bad), one(1)), MomentsOf(graph.Scalar(3), one(0), one(0),
				one(math.Abs(bad)*1e14))} {
			for _, leaf := range graph.Leaves(m) {
				require.Equal(t, 0., floats(t, leaf)[0], "case %d", i)
			}
		}
	}
	box := envs.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{2}, DType: graph.Int32}
	n, _, err := MakeNormalizing("linear", nil, box, envs.Discrete{N: 2})
	require.NoError(t, err)
	params := n.Init(random.New(0)).(Normalized)
	act := func(x []int32) []float64 {
		_, out := n.Act(params, n.Start(params), graph.Int32s(x), random.New(0))
		_, prepared := n.Act(n.Traits().Prepared.Prepare(params), n.Start(params), graph.Int32s(x), random.New(0))
		require.InDeltaSlice(t, floats(t, out.Action), floats(t, prepared.Action), 1e-5)
		return floats(t, out.Action)
	}
	behind := func(x ...float32) []float64 {
		_, out := n.Inner.Act(params.Own, graph.None{}, graph.Float32s(x), random.New(0))
		return floats(t, out.Action)
	}
	require.InDeltaSlice(t, behind(3, -2), act([]int32{3, -2}), 1e-5,
		"as it is made, it leaves observations as they are")
	require.InDeltaSlice(t, behind(10, -10), act([]int32{255, -255}), 1e-5)
	params.Observation = Scale{graph.Float32s([]float32{5, 100}), graph.Float32s([]float32{2, 50})}
	require.InDeltaSlice(t, behind(-1.5, 2), act([]int32{2, 200}), 1e-5)
	require.ErrorContains(t, graph.Try(func() { n.Start(params.Own) }), "want policy.Normalized")
	_, tree := graph.Flatten(any(params))
	require.Equal(t, ".Layers[0].W", tree.Path(0))
	require.Equal(t, ".Observation.Deviation", tree.Path(tree.Len()-1))

	_, _, err = MakeNormalizing("linear", nil, envs.Discrete{N: 3}, envs.Discrete{N: 2})
	require.ErrorAs(t, err, new(*settings.Error))
	_, _, err = MakeNormalizing("linea", nil, box, envs.Discrete{N: 2})
	require.ErrorContains(t, err, "linear")
}

// The mean of equal means is that mean, whatever their shares add up to. An observation that never changes is 0 when it
// is normalized; it was up to ten deviations away.
func TestMomentsOfEqualRows(t *testing.T) {
	for _, v := range []float64{.1, 1000.1, 1e6 + 1} {
		for _, counts := range [][]float64{{3, 7}, {1, 1, 1}, {0, 10, 0, 3, 5, 11}} {
			n := len(counts)
			means := graph.Full(graph.ShapeOf(graph.Float64, n, 1), float64(float32(v)))
			count := graph.Float64s(counts)
			m := Moments{count, graph.Select(count.Gt(0).ExpandDims(-1), means, 0), graph.ZerosLike(means)}.MergeRows()
			require.Equal(t, []float64{float64(float32(v))}, floats(t, m.Mean), "%v", counts)
			require.Zero(t, floats(t, m.Variance)[0], "%v", counts)
		}
	}
}
