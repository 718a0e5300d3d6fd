package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func TestParsePolicy(t *testing.T) {
	for _, c := range []struct{ in, out, err string }{
		{"params=float32,compute=bfloat16,output=float32", "params=float32,compute=bfloat16,output=float32", ""},
		{"c=f16, p=f32, o=f32", "params=float32,compute=float16,output=float32", ""},
		{"params=float64", "params=float64,compute=float64,output=float64", ""},
		{"compute=bf16", "params=float32,compute=bfloat16,output=bfloat16", ""},
		{"full", "params=float32,compute=float32,output=float32", ""},
		{" bfloat16 ", "params=bfloat16,compute=bfloat16,output=bfloat16", ""},
		{"", "", `precision policy "": got dtype "", want one of float16, bfloat16, float32, float64`},
		{"int8", "", `got dtype "int8"`},
		{"params=float32,compute", "", `compute: got dtype ""`},
		{"params=float32,inner=f16", "",
			`got key "inner"; want params=float32,compute=bfloat16,output=float32, or one dtype`},
		{"p=f16,params=f32", "", "got params twice"},
	} {
		t.Run(c.in, func(t *testing.T) {
			var p precision.Policy
			err := p.UnmarshalText([]byte(c.in))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			text, err := p.MarshalText()
			require.NoError(t, err)
			require.Equal(t, c.out, string(text))
			again, err := precision.ParsePolicy(string(text))
			require.NoError(t, err)
			require.Equal(t, p, again)
		})
	}
	require.Equal(t, precision.Full.String(), precision.Policy{}.String())
	require.Equal(t, "params=float32,compute=float16,output=float32", precision.Mixed(graph.Float16).String())
}

func TestCasts(t *testing.T) {
	p := precision.Policy{Param: graph.Float64, Compute: graph.Float16, Output: graph.BFloat16}
	tree := map[string]*graph.Array{"x": graph.Float32s([]float32{1, 1.0009765625, 70000}),
		"n": graph.Int32s([]int32{3}), "on": graph.Of(true)}
	for _, c := range []struct {
		name string
		got  map[string]*graph.Array
		want graph.DType
		x    []float64
	}{
		{"param", precision.CastToParam(p, tree), graph.Float64, []float64{1, 1.0009765625, 70000}},
		{"compute", precision.CastToCompute(p, tree), graph.Float16, []float64{1, 1.0009765625, math.Inf(1)}},
		{"output", precision.CastToOutput(p, tree), graph.BFloat16, []float64{1, 1, 70144}},
		{"default", precision.CastToOutput(precision.Policy{}, tree), graph.Float32, []float64{1, 1.0009765625, 70000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.got["x"].DType())
			require.Equal(t, c.x, floats(t, c.got["x"]))
			require.Equal(t, graph.Int32, c.got["n"].DType())
			require.Equal(t, graph.Bool, c.got["on"].DType())
		})
	}
}

func TestAllFinite(t *testing.T) {
	type tree struct{ A, B, N *graph.Array }
	ints := graph.Int32s([]int32{1})
	for _, c := range []struct {
		name string
		tree any
		want float64
	}{
		{"finite", tree{graph.Scalar(1), graph.Float32s([]float32{0, -3e38}), ints}, 1},
		{"infinite", tree{graph.Scalar(1), graph.Float32s([]float32{0, float32(math.Inf(-1))}), ints}, 0},
		{"nan", tree{graph.Scalar(math.NaN()), graph.Scalar(1), ints}, 0},
		{"half", tree{graph.Scalar(1e6).Convert(graph.Float16), graph.Scalar(1), ints}, 0},
		{"no floats", ints, 1},
		{"empty", graph.None{}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, []float64{c.want}, floats(t, precision.AllFinite(c.tree)))
		})
	}
}

// The scale grows after a period of good steps in a row, shrinks at a bad one, and stays within its bounds, as jmp's.
// The short form compiles one of the cases.
func TestAdjust(t *testing.T) {
	type step struct {
		finite      bool
		value, good float64
	}
	for _, c := range []struct {
		name  string
		scale precision.LossScale
		steps []step
	}{
		{"grows", precision.Dynamic(precision.Initial(8), precision.GrowEvery(3)),
			[]step{{true, 8, 1}, {true, 8, 2}, {true, 16, 0}, {true, 16, 1}, {true, 16, 2}, {true, 32, 0}}},
		{"backs off", precision.Dynamic(precision.Initial(8), precision.GrowEvery(3)),
			[]step{{true, 8, 1}, {true, 8, 2}, {false, 4, 0}, {true, 4, 1}, {false, 2, 0}, {true, 2, 1}, {true, 2, 2},
				{true, 4, 0}}},
		{"smallest", precision.Dynamic(precision.Initial(4), precision.AtLeast(2)), []step{{false, 2, 0}, {false, 2, 0},
			{true, 2, 1}}},
		{"largest", precision.Dynamic(precision.Initial(math.Ldexp(1, 127)), precision.GrowEvery(1)),
			[]step{{true, math.Ldexp(1, 127), 0}}},
		{"factor", precision.Dynamic(precision.Initial(100), precision.GrowBy(10), precision.GrowEvery(2)),
			[]step{{false, 10, 0}, {true, 10, 1}, {true, 100, 0}}},
		{"static", precision.Static(128), []step{{true, 128, 0}, {false, 128, 0}}},
	} {
		for name, backend := range xlatest.Backends(t) {
			if name == "xla" && c.name != "backs off" && !long.On() {
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				finite := make([]bool, len(c.steps))
				for i, s := range c.steps {
					finite[i] = s.finite
				}
				_, got, err := scanScale(backend, c.scale, graph.Of(finite))
				require.NoError(t, err)
				for i, s := range c.steps {
					require.Equal(t, s.value, floats(t, got.Value)[i], "value after step %d", i)
					require.Equal(t, s.good, floats(t, got.Good)[i], "good steps after step %d", i)
				}
			})
		}
	}
}

// scanScale adjusts a scale once for each of finite, with the scale as a Scan's carry; it returns the last one and all.
func scanScale(b xlabridge.Backend, s precision.LossScale,
	finite *graph.Array) (last, all precision.LossScale, err error) {
	type out struct{ Last, All precision.LossScale }
	o, err := xlabridge.Jit2(b, func(s precision.LossScale, finite *graph.Array) out {
		last, all := graph.Scan(
			func(s precision.LossScale, ok *graph.Array) (precision.LossScale, precision.LossScale) {
				s = s.Adjust(ok)
				return s, s
			}, s, finite)
		return out{last, all}
	})(s, finite)
	return o.Last, o.All, err
}

func TestAdjustErrors(t *testing.T) {
	yes := graph.Of(true)
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { precision.Dynamic().Adjust(graph.Scalar(1)) }, "got f32[], want a bool scalar"},
		{func() { precision.Dynamic(precision.GrowBy(1)).Adjust(yes) }, "the scale grows by 1 every 2000 steps"},
		{func() { precision.Dynamic(precision.GrowEvery(-1)).Adjust(yes) }, "every -1 steps; want a factor above 1"},
	} {
		require.ErrorContains(t, graph.Try(c.f), c.want)
	}
}

// In float16 a gradient of 1e-9 is zero; scaled by 2^15 it is not. Unscaled gradients have the parameters' dtype.
func TestScalingSavesSmallGradients(t *testing.T) {
	loss := func(w, x *graph.Array) *graph.Array { return w.Mul(x).Mul(graph.Full(x.Shape(), 1e-5)) }
	for _, c := range []struct {
		name  string
		scale precision.LossScale
		want  float64
	}{
		{"none", precision.Static(1), 0},
		{"static", precision.Static(1 << 15), 1e-9},
		{"dynamic", precision.Dynamic(), 1e-9},
	} {
		for name, backend := range xlatest.Backends(t) {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				type out struct{ Value, Grad, Finite *graph.Array }
				o, err := xlabridge.Jit2(backend, func(w, x *graph.Array) out {
					v, g, f := precision.ValueAndGrad(precision.Mixed(graph.Float16), c.scale, loss)(w, x)
					return out{v, g, f}
				})(graph.Scalar(2), graph.Scalar(1e-4))
				require.NoError(t, err)
				require.Equal(t, graph.Float32, o.Grad.DType())
				require.Equal(t, graph.Float32, o.Value.DType())
				require.InDelta(t, c.want, floats(t, o.Grad)[0], 2e-11)
				require.Equal(t, []float64{1}, floats(t, o.Finite))
			})
		}
	}
}

// trained is what a training step maps to its successor.
type trained struct {
	W     map[string]*graph.Array
	State optim.State
	Scale precision.LossScale
}

// A step whose gradients overflow is skipped, whatever they leave in the moments, and the scale is halved; the next
// step goes on from there.
func TestOverflowIsSkipped(t *testing.T) {
	policy := precision.Mixed(graph.Float16)
	opt := optim.Adam(.1)
	loss := func(w map[string]*graph.Array, x *graph.Array) *graph.Array { return w["w"].Mul(x) }
	for name, backend := range xlatest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			step := xlabridge.Jit2(backend, func(c trained, x *graph.Array) trained {
				_, g, finite := precision.ValueAndGrad(policy, c.Scale, loss)(c.W, x)
				c.W, c.State = optim.StepIf(finite, opt, c.W, g, c.State)
				c.Scale = c.Scale.Adjust(finite)
				return c
			})
			w := map[string]*graph.Array{"w": graph.Scalar(1)}
			c := trained{w, opt.Init(w), precision.Dynamic(precision.Initial(1<<12), precision.GrowEvery(2))}
			for i, s := range []struct{ x, w, scale, good, count float64 }{
				{100, 1, 1 << 11, 0, 0}, // 100 * 2^12 is above float16's largest number
				{100, 1, 1 << 10, 0, 0},
				{100, 1, 1 << 9, 0, 0},
				{100, .9, 1 << 9, 1, 1},
				{100, .8, 1 << 10, 0, 2},
				{1, 0, 1 << 10, 1, 3},
			} {
				var err error
				c, err = step(c, graph.Scalar(s.x))
				require.NoError(t, err)
				if s.w != 0 {
					require.InDelta(t, s.w, floats(t, c.W["w"])[0], 1e-4, "step %d", i)
				}
				require.Equal(t, []float64{s.scale}, floats(t, c.Scale.Value), "step %d", i)
				require.Equal(t, []float64{s.good}, floats(t, c.Scale.Good), "step %d", i)
				require.Equal(t, []float64{s.count}, floats(t, graph.Leaves(c.State)[0]), "step %d", i)
			}
		})
	}
}

// A small regression converges with 16-bit computations and float32 master weights. The short form compiles the case
// whose loss scale overflows at first.
func TestMixedPrecisionLearns(t *testing.T) {
	type batch struct{ X, Y *graph.Array } // [64, 4], [64]
	key := random.New(5)
	x := random.Normal(key, graph.ShapeOf(graph.Float32, 64, 4))
	b := batch{x, graph.MatMul(x, graph.Float32s([]float32{1, -2, .5, 3})).Add(.25)}
	loss := func(w map[string]*graph.Array, b batch) *graph.Array {
		hidden := graph.MatMul(b.X, w["w1"]).Add(w["b1"]).Tanh()
		return graph.MatMul(hidden, w["w2"]).Add(w["b2"]).Sub(b.Y).Square().Mean()
	}
	k1, k2 := random.Split2(key)
	start := map[string]*graph.Array{
		"w1": graph.Mul(.5, random.Normal(k1, graph.ShapeOf(graph.Float32, 4, 16))),
		"b1": graph.Zeros(graph.ShapeOf(graph.Float32, 16)),
		"w2": graph.Mul(.25, random.Normal(k2, graph.ShapeOf(graph.Float32, 16))),
		"b2": graph.Scalar(0),
	}
	for _, c := range []struct {
		policy  string
		scale   precision.LossScale
		skipped bool
	}{
		{"float32", precision.Static(1), false},
		{"compute=bfloat16,output=float32", precision.Static(1), false},
		{"compute=float16,output=float32", precision.Static(128), false},
		{"compute=float16,output=float32", precision.Dynamic(precision.Initial(1<<20), precision.GrowEvery(50)), true},
	} {
		policy, err := precision.ParsePolicy(c.policy)
		require.NoError(t, err)
		for name, backend := range xlatest.Backends(t) {
			if name == "xla" && !c.skipped && !long.On() {
				continue
			}
			t.Run(name+"/"+policy.String(), func(t *testing.T) {
				steps := 300
				opt := optim.Adam(optim.Cosine(.03, steps, .01))
				type out struct{ Losses, Finite *graph.Array }
				got, err := xlabridge.Jit2(backend, func(w map[string]*graph.Array, b batch) out {
					_, ys := graph.Scan(func(s trained, _ graph.None) (trained, out) {
						v, g, finite := precision.ValueAndGrad(policy, s.Scale, loss)(s.W, b)
						s.W, s.State = optim.StepIf(finite, opt, s.W, g, s.State)
						s.Scale = s.Scale.Adjust(finite)
						return s, out{v, finite}
					}, trained{w, opt.Init(w), c.scale}, graph.None{}, graph.Length(steps))
					return ys
				})(start, b)
				require.NoError(t, err)
				losses, finite := floats(t, got.Losses), floats(t, got.Finite)
				require.Greater(t, losses[0], 5.)
				require.Less(t, losses[steps-1], .05)
				require.Equal(t, c.skipped, finite[0] == 0)
				require.Equal(t, 1., finite[steps-1])
			})
		}
	}
}
