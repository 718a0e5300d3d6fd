package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// MinGRU over time is its steps one by one; a restart is a new start, and no steps give the state back.
func TestMinGRUSteps(t *testing.T) {
	m := nn.NewMinGRU(random.New(1), 3, 5)
	require.Equal(t, 5, m.Hidden())
	x := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, 9, 3))
	start := graph.Ones(graph.ShapeOf(graph.Float32, 5))
	restart := graph.Of([]bool{false, false, true, false, false, false, true, true, false})
	last, all := m.Apply(start, x, restart)
	h := start
	for i := range 9 {
		h = graph.Select(restart.Index(i), m.Start(), h)
		h = m.Step(h, x.Index(i))
		require.InDeltaSlice(t, floats(t, h), floats(t, all.Index(i)), 1e-6, "step %d", i)
	}
	require.Equal(t, floats(t, all.Index(8)), floats(t, last))
	last, all = m.Apply(start, graph.Zeros(graph.ShapeOf(graph.Float32, 0, 3)))
	require.Equal(t, floats(t, start), floats(t, last))
	require.Equal(t, []int{0, 5}, all.Dims())
	nan := graph.Select(graph.Iota(9).ExpandDims(1).Eq(4), graph.Div(0., 0.), x)
	_, all = m.Apply(start, nan, restart)
	for i := range 9 {
		lost := floats(t, all.Index(i).Index(0).IsNaN())[0] == 1
		require.Equal(t, i == 4 || i == 5, lost, "NaN reaches up to the next restart: step %d", i)
	}
}

// A batch of lanes under VMap with a named axis is normalized as a batch in an array.
func TestBatchNormOverLanes(t *testing.T) {
	x := random.Normal(random.New(3), graph.ShapeOf(graph.Float32, 8, 2, 4))
	lanes, state := nn.NewBatchNorm(4, "batch", nn.Momentum(.5))
	whole, _ := nn.NewBatchNorm(4, "", nn.Momentum(.5))
	type result struct {
		Y    *graph.Array
		Next nn.BatchNormState
	}
	got := graph.VMap(func(x *graph.Array) result {
		y, s := lanes.Train(state, x)
		return result{y, s}
	}, graph.AxisName("batch"))(x)
	want, next := whole.Train(state, x)
	require.InDeltaSlice(t, floats(t, want), floats(t, got.Y), 1e-5)
	require.InDeltaSlice(t, floats(t, next.Mean), floats(t, got.Next.Mean.Index(5)), 1e-6)
	require.InDeltaSlice(t, floats(t, next.Var), floats(t, got.Next.Var.Index(0)), 1e-6)
	loss := func(l nn.BatchNorm) func(s nn.BatchNormState) *graph.Array {
		return func(s nn.BatchNormState) *graph.Array { _, next := l.Train(s, x); return next.Mean.Sum() }
	}
	d := graph.Grad(loss(whole))(state)
	require.Equal(t, []float64{.5, .5, .5, .5}, floats(t, d.Mean), "running averages take no part in derivatives but "+
		"by themselves")
}

func TestNewLayersRefuse(t *testing.T) {
	key, x := random.New(1), graph.Zeros(graph.ShapeOf(graph.Float32, 3))
	m := nn.NewMinGRU(key, 3, 5)
	for i, c := range []struct {
		want string
		call func()
	}{
		{"nn.NewGroupNorm: got 3 groups, want a number that divides 4 features", func() { nn.NewGroupNorm(4, 3) }},
		{"nn.BatchNorm: x is f32[3] and no axis is named", func() { l, s := nn.NewBatchNorm(3, ""); l.Train(s, x) }},
		{"nn.BatchNorm: x is f32[4], want […, 3]", func() {
			l, s := nn.NewBatchNorm(3, "", nn.NoScale(), nn.NoBias())
			l.Apply(s, graph.Zeros(graph.ShapeOf(graph.Float32, 4)))
		}},
		{"nn.NewRNN: got the option NoBias, want one of Weights, Recurrent, Bias, Hidden, Precision", func() {
			nn.NewRNN(key, 3, 5, nn.NoBias())
		}},
		{"nn.RNN: state h is f32[3], want […, 5]", func() { nn.NewRNN(key, 3, 5).Step(x, x) }},
		{"nn.MinGRU: got the inputs f32[3]", func() { m.Apply(m.Start(), x) }},
		{"nn.MinGRU: state h is f32[3], want […, 5]", func() {
			m.Apply(x, graph.Zeros(graph.ShapeOf(graph.Float32, 2, 3)))
		}},
		{"for 2 steps, want one bool vector [2]", func() {
			m.Apply(m.Start(), graph.Zeros(graph.ShapeOf(graph.Float32, 2, 3)), graph.Iota(2))
		}},
		{"nn.ConvTranspose: x is f32[3], want 1 spatial axes and 3 features", func() {
			nn.NewConvTranspose(key, []int{2}, 3, 4).Apply(x)
		}},
		{"nn.ConvTranspose: got 2 strides for a kernel over 1 axes", func() {
			nn.NewConvTranspose(key, []int{2}, 3, 4, nn.Strides(1, 2)).Apply(
				graph.Zeros(graph.ShapeOf(graph.Float32, 5, 3)))
		}},
		{"axis 0 of f32[3] does not divide into 2 parts", func() { nn.GLU(x, -1) }},
	} {
		require.ErrorContains(t, graph.Try(c.call), c.want, i+1)
	}
}

// 1: the second derivatives of what is smooth are there at 0 too, where the formulas change sides.
func TestSecondDerivativesAtZero(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(x *graph.Array) *graph.Array
		want float64
	}{
		"Softplus":   {nn.Softplus, .25},
		"LogSigmoid": {nn.LogSigmoid, -.25},
		"Mish":       {nn.Mish, .64},
	} {
		got := floats(t, graph.Grad(graph.Grad(c.f))(graph.Of(0.)))
		require.InDelta(t, c.want, got[0], 1e-2, name)
	}
}
