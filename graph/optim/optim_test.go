package optim_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// model is a tree with a nested struct, a slice and a leaf that is not a float.
type model struct {
	Hidden struct{ W, B *graph.Array } // f32 [3, 2], [2]
	Scales []*graph.Array              // two of f32 []
	Seen   *graph.Array                // i32 []: a counter that no optimizer touches
}

func newModel() model {
	var m model
	m.Hidden.W = graph.Float32s([]float32{.5, -1, 2, .25, -.75, 1}, 3, 2)
	m.Hidden.B = graph.Float32s([]float32{.1, -.2})
	m.Scales = []*graph.Array{graph.Scalar(1), graph.Scalar(-3)}
	m.Seen = graph.Int32s([]int32{7}, 1)
	return m
}

// distance is a loss whose minimum is the model whose float leaves are all one.
func distance(m model) *graph.Array {
	sum := graph.Scalar(0)
	for _, a := range graph.Leaves(m) {
		if a.DType().IsFloat() {
			sum = sum.Add(a.Sub(1).Square().Sum().Convert(graph.Float32))
		}
	}
	return sum
}

// every is one optimizer of each kind, with a learning rate at which it gets somewhere in 200 steps.
func every() map[string]optim.Transform {
	return map[string]optim.Transform{
		"sgd":      optim.SGD(.1),
		"momentum": optim.SGD(.02, optim.Momentum(.9)),
		"nesterov": optim.SGD(.02, optim.Momentum(.9), optim.Nesterov()),
		"adam":     optim.Adam(optim.Cosine(.2, 200, .01)),
		"nadam":    optim.Adam(.05, optim.Nesterov()),
		"adamw":    optim.AdamW(.05, optim.WeightDecay(1e-4), optim.DecayMask(optim.MatricesOnly)),
		"rmsprop":  optim.RMSProp(optim.Linear(.1, 0, 200), optim.Momentum(.5)),
		"centered": optim.RMSProp(optim.Linear(.03, 0, 200), optim.Centered(), optim.BiasCorrection(), optim.Eps(1e-2)),
		"lion":     optim.Lion(optim.Linear(.1, 0, 200), optim.WeightDecay(0)),
		"clipup":   optim.ClipUp(optim.Linear(.2, .001, 200)),
		"clipped":  optim.Chain(optim.ClipByGlobalNorm(1), optim.SGD(optim.Warmup(0, .3, 20, optim.Constant(.3)))),
		"steps":    optim.MultiSteps(optim.SGD(.2), 4),
		"ema":      optim.Chain(optim.EMA(.5, true), optim.SGD(.1)),
	}
}

// Every optimizer finds the minimum, as the body of a Scan, with its state as the carry and its shapes and dtypes kept:
// interpreted, and in the long form compiled.
func TestEveryOptimizerLearns(t *testing.T) {
	type carry struct {
		Params model
		State  optim.State
	}
	for backendName, backend := range xlatest.Backends(t) {
		if backendName == "xla" && !long.On() {
			continue
		}
		for name, opt := range every() {
			t.Run(backendName+"/"+name, func(t *testing.T) {
				run := xlabridge.Jit(backend, func(m model) model {
					end, _ := graph.Scan(func(c carry, _ graph.None) (carry, graph.None) {
						c.Params, c.State = optim.Step(opt, c.Params, graph.Grad(distance)(c.Params), c.State)
						return c, graph.None{}
					}, carry{m, opt.Init(m)}, graph.None{}, graph.Length(200))
					return end.Params
				})
				got, err := run(newModel())
				require.NoError(t, err)
				loss, err := graph.Float(distance(got))
				require.NoError(t, err)
				require.Less(t, loss, 1e-2)
				require.Equal(t, []float64{7}, floats(t, got.Seen))
			})
		}
	}
}

// Parameters and state keep their dtypes whatever the gradients' is, so that they can be carried.
func TestDTypesStay(t *testing.T) {
	for _, d := range []graph.DType{graph.Float16, graph.BFloat16, graph.Float32, graph.Float64} {
		for _, g := range []graph.DType{graph.BFloat16, graph.Float32, graph.Float64} {
			for name, opt := range every() {
				t.Run(fmt.Sprintf("%s/%s gradients %s", name, d, g), func(t *testing.T) {
					params := graph.Ones(graph.ShapeOf(d, 2))
					first := opt.Init(params)
					next, state := optim.Step(opt, params, graph.Full(graph.ShapeOf(g, 2), .5), first)
					require.Equal(t, params.Shape().String(), next.Shape().String())
					shapes := func(s optim.State) (out []string) {
						for _, a := range graph.Leaves(s) {
							out = append(out, a.Shape().String())
						}
						return out
					}
					require.Equal(t, shapes(first), shapes(state))
				})
			}
		}
	}
	state := optim.ScaleByAdam(optim.MomentDType(graph.Float32)).Init(
		graph.Ones(graph.ShapeOf(graph.BFloat16, 2))).(optim.AdamState)
	require.Equal(t, graph.Float32, state.Mu.(*graph.Array).DType())
	require.Equal(t, graph.BFloat16, state.Nu.(*graph.Array).DType())
}

// In float64 nothing is rounded to float32 on the way: Adam's first step is the learning rate to the last digits.
func TestFloat64(t *testing.T) {
	params := graph.Scalar(0, graph.Float64)
	opt := optim.Adam(1e-3, optim.Eps(0))
	next, _ := optim.Step(opt, params, graph.Full(params.Shape(), .7), opt.Init(params))
	require.InDelta(t, -1e-3, floats(t, next)[0], 1e-16)
}

func TestStepIf(t *testing.T) {
	for name, opt := range every() {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			state := opt.Init(m)
			step := func(ok bool, slope float64) (model, optim.State) {
				g := graph.MapTree(func(a *graph.Array) *graph.Array {
					if !a.DType().IsFloat() {
						return graph.ZerosLike(a)
					}
					return graph.FullLike(a, slope)
				}, m)
				return optim.StepIf(graph.Of(ok), opt, m, g, state)
			}
			taken, _ := step(true, .5)
			// these two do not move at their first step
			require.Equal(t, name == "steps" || name == "clipped", equal(t, m, taken))
			skipped, kept := step(false, math.Inf(1))
			require.True(t, equal(t, m, skipped))
			require.True(t, equal(t, state, kept))
		})
	}
}

// equal reports whether two trees have the same numbers.
func equal(t *testing.T, a, b any) bool {
	t.Helper()
	x, y := graph.Leaves(a), graph.Leaves(b)
	require.Len(t, y, len(x))
	same := true
	for i := range x {
		u, v := floats(t, x[i]), floats(t, y[i])
		for j := range u {
			same = same && u[j] == v[j]
		}
	}
	return same
}

// Masked transforms give parts of a model different optimizers.
func TestMasked(t *testing.T) {
	isHidden := func(path string, _ *graph.Array) bool { return path == ".Hidden.W" || path == ".Hidden.B" }
	rest := func(path string, p *graph.Array) bool { return !isHidden(path, p) }
	opt := optim.Chain(optim.Masked(optim.Adam(.5), isHidden), optim.Masked(optim.Scale(0), rest))
	m := newModel()
	state := opt.Init(m)
	require.Equal(t, `[0].Inner[0].Mu[".Hidden.B"]`, path(state, 1))
	next, state := optim.Step(opt, m, graph.Grad(distance)(m), state)
	// half a unit toward one
	require.InDeltaSlice(t, []float64{1, -.5, 1.5, .75, -.25, 1}, floats(t, next.Hidden.W), 1e-5)
	require.InDeltaSlice(t, []float64{.6, .3}, floats(t, next.Hidden.B), 1e-5)
	require.True(t, equal(t, m.Scales, next.Scales))
	require.Equal(t, []float64{1}, floats(t, graph.Leaves(state)[0])) // Adam's count
}

func path(v any, i int) string {
	_, tree := graph.Flatten(v)
	return tree.Path(i)
}

func TestMultiSteps(t *testing.T) {
	opt := optim.MultiSteps(optim.SGD(1), 3)
	p := graph.Scalar(10)
	state := opt.Init(p)
	for i, want := range []struct{ param, mini, steps float64 }{{10, 1, 0}, {10, 2, 0}, {8, 0, 1}, {8, 1, 1}, {8, 2, 1},
		{3, 0, 2}} {
		p, state = optim.Step(opt, p, graph.Scalar(float64(i+1)), state)
		s := state.(optim.MultiStepsState)
		require.InDelta(t, want.param, floats(t, p)[0], 1e-6, i)
		require.Equal(t, []float64{want.mini}, floats(t, s.MiniStep), i)
		require.Equal(t, []float64{want.steps}, floats(t, s.GradientStep), i)
	}
}

func TestIncrementalUpdate(t *testing.T) {
	got := optim.IncrementalUpdate(map[string]*graph.Array{"x": graph.Scalar(2)}, map[string]*graph.Array{
		"x": graph.Scalar(10)}, .25)
	require.Equal(t, []float64{8}, floats(t, got["x"]))
}

func TestStateless(t *testing.T) {
	opt := optim.Chain(optim.Stateless(func(g, p *graph.Array) *graph.Array {
		return g.Mul(p)
	}), optim.Scale(graph.Scalar(-2)))
	p, _ := optim.Step(opt, graph.Scalar(3), graph.Scalar(.5), opt.Init(graph.Scalar(3)))
	require.Equal(t, []float64{0}, floats(t, p))
}

// The count stops at the largest int32 instead of turning negative.
func TestCountSaturates(t *testing.T) {
	opt := optim.ScaleBySchedule(func(c *graph.Array) *graph.Array { return c.Convert(graph.Float32) })
	for _, c := range []struct{ from, to int32 }{{0, 1}, {math.MaxInt32 - 1, math.MaxInt32},
		{math.MaxInt32, math.MaxInt32}} {
		_, next := optim.Update(opt, graph.Scalar(1), optim.RateState{Count: graph.Of(c.from)}, graph.Scalar(1))
		require.Equal(t, []float64{float64(c.to)}, floats(t, next.(optim.RateState).Count))
	}
}

// Errors are one sentence: where, what it got, what it wants.
func TestErrors(t *testing.T) {
	m := newModel()
	step := func(make func() optim.Transform) func() {
		return func() {
			opt := make()
			optim.Step(opt, m, m, opt.Init(m))
		}
	}
	for _, c := range []struct {
		name string
		f    func()
		want string
	}{
		{"made, not used", func() { optim.SGD(.1, optim.B1(.3)) }, "SGD: it has no option B1"},
		{"option of another optimizer", step(func() optim.Transform {
			return optim.SGD(.1, optim.B1(.9))
		}), "SGD: it has no option B1, want one of Momentum, Nesterov, MomentDType"},
		{"nesterov alone", step(func() optim.Transform {
			return optim.SGD(.1, optim.Nesterov())
		}), "SGD: got Nesterov without Momentum"},
		{"option's type", step(func() optim.Transform {
			return optim.Adam(.1, optim.Eps("small"))
		}), "Eps: got a string, want a number or a scalar *graph.Array"},
		{"option's rank", step(func() optim.Transform {
			return optim.AdamW(.1, optim.WeightDecay(graph.Float32s([]float32{1, 2})))
		}), "WeightDecay: got f32[2] {1 2}, want a number or a scalar array"},
		{"no learning rate", step(func() optim.Transform { return optim.Lion(nil) }), "learning rate: got a <nil>"},
		{"nil array", step(func() optim.Transform {
			return optim.ClipUp((*graph.Array)(nil))
		}), "learning rate: got nil"},
		{"every", step(func() optim.Transform {
			return optim.MultiSteps(optim.SGD(1), 0)
		}), "got a step every 0 gradients, want from 1 to 2147483647"},
		{"schedule", step(func() optim.Transform {
			return optim.SGD(optim.Cosine(1, 0, 0))
		}), "optim.Cosine: got 0 steps, want from 1 to 2147483647"},
		{"join", step(func() optim.Transform {
			return optim.SGD(optim.Join(nil, nil))
		}), "got 0 schedules and boundaries []"},
		{"warmup", step(func() optim.Transform {
			return optim.SGD(optim.WarmupCosine(0, 1, 10, 10, 0))
		}), "got a warm-up of 10 steps of 10, want from 0 to fewer"},
		{"state", func() {
			optim.Step(optim.ScaleByAdam(), m, m, graph.None{})
		}, "got a state of type graph.None, want optim.AdamState: pass the state"},
		{"chain's state", func() {
			optim.Step(optim.SGD(1), m, m, optim.Adam(1).Init(m))
		}, "got the states of 2 transforms, want 1"},
		{"state of another model", func() {
			opt := optim.ScaleByAdam()
			optim.Step(opt, m, m, opt.Init(m.Scales))
		}, "differ: leaf 0 is .Hidden.W in one and [0] in the other"},
		{"gradient's shape", func() {
			g := newModel()
			g.Hidden.B = graph.Scalar(1)
			opt := optim.SGD(1)
			optim.Step(opt, m, g, opt.Init(m))
		}, "the gradients and the parameters differ: leaf .Hidden.B is f32[] in one and f32[2] in the other"},
		{"condition", func() {
			opt := optim.SGD(1)
			optim.StepIf(graph.Scalar(1), opt, m, m, opt.Init(m))
		}, "the condition is f32[], want a bool scalar"},
		{"hyper without arrays", step(func() optim.Transform {
			return optim.InjectHyperparams(.1, func(lr float64) optim.Transform { return optim.SGD(lr) })
		}), "float64 holds no arrays"},
		{"steps in a row", step(func() optim.Transform {
			return optim.ApplyIfFinite(optim.SGD(1), -1)
		}), "ApplyIfFinite: got at most -1 steps in a row, want from 0 to 2147483647"},
		{"vectors", func() {
			x, opt := graph.Float32s([]float32{1, 2}), optim.ScaleByMuon()
			optim.Step(opt, x, x, opt.Init(x))
		}, "optim.Muon: got a gradient f32[2], want matrices: choose them with Masked"},
		{"nesterov twice", step(func() optim.Transform {
			return optim.Muon(.1, optim.Nesterov())
		}), "Muon: it has no option Nesterov"},
		{"one cycle", step(func() optim.Transform {
			return optim.SGD(optim.CosineOneCycle(1, 0, .3, 25, 100))
		}), "optim.CosineOneCycle: got 0 steps, want from 1 to 2147483647"},
		{"one cycle's fractions", step(func() optim.Transform {
			return optim.SGD(optim.LinearOneCycle(1, 10, .8, .3, 25, 100))
		}), "got the fractions 0.8 and 0.3 of its steps, want rising ones from 0 to 1"},
		{"negative warm-up", step(func() optim.Transform {
			return optim.SGD(optim.Warmup(0, 1, -3, optim.Constant(1)))
		}), "optim.Warmup: got -3 steps, want from 0 to"},
		{"hyper of another state", func() {
			optim.SetHyper(graph.None{}, graph.Scalar(1))
		}, "got a state of type graph.None"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := graph.Try(c.f)
			require.ErrorContains(t, err, c.want)
			require.Contains(t, err.Error(), "optim_test.go:")
		})
	}
}

// 1: Adam on whole numbers changed nothing, without a word.
func TestWholeNumbersAreRefused(t *testing.T) {
	for name, opt := range map[string]optim.Transform{"adam": optim.Adam(.1), "lion": optim.Lion(.1)} {
		err := graph.Try(func() { opt.Init(graph.Of([]int32{1, 2})) })
		require.ErrorContains(t, err, "got parameters of which none is a float, the first is i32[2]", name)
	}
}

// Beyond 2^24 steps the sum of a ScheduleFree's weights still grows.
func TestScheduleFreeOfManySteps(t *testing.T) {
	f := optim.ScheduleFree(optim.SGD(1), 1)
	x := graph.Float32s([]float32{3})
	s := f.Init(x).(optim.ScheduleFreeState)
	s.Count, s.WeightSum = graph.Of(int32(1<<24)), graph.Of(float64(1<<24-1))
	for range 5 {
		_, next := f.Update(x, s, x)
		s = next.(optim.ScheduleFreeState)
	}
	require.Equal(t, []float64{1<<24 + 4}, floats(t, s.WeightSum))
}
