package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
)

// spyxCase is one surrogate or cell: third_party/oracles/spyx_cells.py says what the fields hold.
type spyxCase struct {
	Name   string
	Config struct {
		Function string
		Slope    float64
	}
	Inputs, Outputs map[string]oracles.Array
}

func spyxCases(t *testing.T) []spyxCase {
	t.Helper()
	var file struct{ Cases []spyxCase }
	require.NoError(t, oracles.Read("testdata/spyx_cells.json.gz", &file))
	return file.Cases
}

// spyxCells run a cell from rest by Spyx's parameters: what it gives and its potentials along time, and the other half
// of its state.
var spyxCells = map[string]func(in arrays) (y, v, other *graph.Array){
	"li": func(in arrays) (y, v, other *graph.Array) {
		l := nn.LI{Beta: in["beta"]}
		_, y = l.Apply(l.Start(5), in["x"])
		return y, y, nil
	},
	"lif": func(in arrays) (y, v, other *graph.Array) {
		l := nn.LIF{Beta: in["beta"], Threshold: graph.Scalar(1), Wh: in["recurrent_w"]}
		v, y = traced(l.Step, l.Start(5), in["x"])
		return y, v, nil
	},
	"alif": func(in arrays) (y, v, other *graph.Array) {
		l := nn.ALIF{Beta: in["beta"], Gamma: in["gamma"], Threshold: graph.Scalar(1)}
		s, y := traced(l.Step, l.Start(5), in["x"])
		return y, s.V, s.T
	},
	"cubalif": func(in arrays) (y, v, other *graph.Array) {
		l := nn.CuBaLIF{Alpha: in["alpha"], Beta: in["beta"], Threshold: graph.Scalar(1), Wh: in["recurrent_w"]}
		s, y := traced(l.Step, l.Start(5), in["x"])
		return y, s.V, s.I
	},
}

// traced scans a cell and keeps its states.
func traced[S any](step func(s S, x *graph.Array) (S, *graph.Array), start S,
	x *graph.Array) (states S, spikes *graph.Array) {
	type kept struct {
		S      S
		Spikes *graph.Array
	}
	_, all := graph.Scan(func(s S, x *graph.Array) (S, kept) {
		s, y := step(s, x)
		return s, kept{s, y}
	}, start, x)
	return all.S, all.Spikes
}

// Cells and surrogates are Spyx's: spikes equal, potentials and gradients to 1e-5.
func TestSpikingCellsAgreeWithSpyx(t *testing.T) {
	seen := map[string]int{}
	for _, c := range spyxCases(t) {
		in, want := arrays{}, arrays{}
		for k, a := range c.Inputs {
			in[k] = graph.Float32s(a.Float32s(), a.Shape...)
		}
		for k, a := range c.Outputs {
			want[k] = graph.Float32s(a.Float32s(), a.Shape...)
		}
		seen[c.Name]++
		if c.Name == "surrogate" {
			s := nn.Surrogate{Kind: c.Config.Function, Slope: c.Config.Slope}
			within(t, want["spike"], s.Spike(in["v"]), 0, c.Config.Function)
			within(t, want["d_v"], graph.Grad(func(v *graph.Array) *graph.Array {
				return s.Spike(v).Sum()
			})(in["v"]), 1e-5, c.Config.Function)
			continue
		}
		name := map[string]string{"rlif": "lif", "rcubalif": "cubalif"}[c.Name]
		if name == "" {
			name = c.Name
		}
		y, v, other := spyxCells[name](in)
		if name == "li" {
			within(t, want["y"], y, 1e-5, c.Name)
		} else {
			within(t, want["spikes"], y, 0, c.Name+" spikes")
		}
		within(t, want["v"], v, 1e-5, c.Name+" potentials")
		if other != nil {
			within(t, want["other"], other, 1e-5, c.Name+" other half")
		}
		d := graph.Grad(func(in arrays) *graph.Array {
			y, v, _ := spyxCells[name](in)
			last := v.Index(-1)
			return y.Mul(in["weight"]).Sum().Add(last.Mul(in["weight_last"]).Sum())
		})(in)
		for k := range want {
			if k, ok := strings.CutPrefix(k, "d_"); ok {
				within(t, want["d_"+k], d[k], 2e-5, c.Name+" gradient by "+k)
			}
		}
	}
	require.Equal(t, map[string]int{"surrogate": 10, "li": 1, "lif": 1, "alif": 1, "cubalif": 1, "rlif": 1,
		"rcubalif": 1}, seen)
}

// within wants two arrays equal within tol, relative and absolute.
func within(t *testing.T, want, got *graph.Array, tol float64, what string) {
	t.Helper()
	require.Equal(t, want.Dims(), got.Dims(), what)
	w := floats(t, want)
	g := floats(t, got)
	for i := range w {
		require.LessOrEqual(t, math.Abs(w[i]-g[i]), tol*(1+math.Abs(w[i])), "%s: element %d is %v, want %v", what, i,
			g[i], w[i])
	}
}

// A potential at the threshold does not spike, nor does NaN, whose unit alone stays NaN.
func TestSpikesAtTheEdges(t *testing.T) {
	l := nn.LIF{Beta: graph.Scalar(.9), Threshold: graph.Scalar(1)}
	v := graph.Float32s([]float32{1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1.0000001, -5},
		6)
	next, spikes := l.Step(v, graph.Zeros(v.Shape()))
	got := floats(t, spikes)
	require.Equal(t, []float64{0, 0, 1, 0, 1, 0}, got)
	got = floats(t, next)
	require.True(t, math.IsNaN(got[1]))
	require.InDelta(t, .9, got[0], 1e-6)
	require.InDelta(t, -.1, got[4], 1e-6)
	require.InDelta(t, -4.5, got[5], 1e-6)
}

// What a layer is made with: one sentence for what cannot be.
func TestSpikingLayersBadInput(t *testing.T) {
	key := random.New(0)
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { nn.NewLIF(key, 0) }, "got units = 0, want at least 1"},
		{func() { nn.NewLIF(key, 3, nn.Decay(1.5)) }, "got Decay 1.5, want a number above 0 and at most 1"},
		{func() { nn.NewLIF(key, 3, nn.Decay(math.NaN())) }, "got Decay NaN"},
		{func() { nn.NewALIF(key, 3, nn.Adaptation(0)) }, "got Adaptation 0"},
		{func() { nn.NewCuBaLIF(key, 3, nn.Synapse(-1)) }, "got Synapse -1"},
		{func() { nn.NewLIF(key, 3, nn.Threshold(0)) }, "got Threshold 0, want a number above 0"},
		{func() { nn.NewLIF(key, 3, nn.Synapse(.5)) }, "got the option Synapse, want one of Decay"},
		{func() {
			nn.Surrogate{Kind: "sigmoid"}.Spike(graph.Scalar(1))
		}, `got the kind "sigmoid", want one of [arctan boxcar fast-sigmoid straight-through triangular]`},
		{func() { nn.Surrogate{Slope: -1}.Spike(graph.Scalar(1)) }, "got the slope -1, want a number above 0"},
		{func() {
			nn.NewLIF(key, 3).Step(graph.Zeros(graph.ShapeOf(graph.Float32, 2)),
				graph.Zeros(graph.ShapeOf(graph.Float32, 3)))
		}, "state v is"},
	} {
		require.ErrorContains(t, graph.Try(c.make), c.want)
	}
}

// Layers drawn with all options step and keep their shapes, and Beta lies about 1/2 as Spyx draws it.
func TestSpikingLayersAreDrawn(t *testing.T) {
	key := random.New(1)
	lif := nn.NewLIF(key, 4000)
	beta := floats(t, lif.Beta)
	sum, least, most := 0., 1., 0.
	for _, b := range beta {
		sum, least, most = sum+b, min(least, b), max(most, b)
	}
	require.InDelta(t, .5, sum/4000, .02)
	require.GreaterOrEqual(t, least, 0.)
	require.LessOrEqual(t, most, 1.)
	r := nn.NewCuBaLIF(key, 7, nn.Decay(.9), nn.Synapse(.8), nn.Threshold(.5), nn.Feedback(),
		nn.Spikes(nn.Surrogate{Kind: "arctan"}))
	last, spikes := r.Apply(r.Start(7), random.Uniform(key, graph.ShapeOf(graph.Float32, 30, 7), 0, 1))
	require.Equal(t, []int{30, 7}, spikes.Dims())
	require.Equal(t, []int{7}, last.I.Dims())
	a := nn.NewALIF(key, 7, nn.Feedback())
	_, spikes = a.Apply(a.Start(7), random.Uniform(key, graph.ShapeOf(graph.Float32, 30, 7), 0, 2))
	n, err := graph.Float(spikes.Sum())
	require.NoError(t, err)
	require.Greater(t, n, 5.)
}
