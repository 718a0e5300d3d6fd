package optim_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/optim"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// tree is the parameters of the vectors: "w" [3, 4] and "b" [4], float32.
type tree = map[string]*graph.Array

// run is an optimizer's parameters after the given number of steps.
type run struct {
	Name   string
	Config config
	Params map[string]map[string]oracles.Array // by number of steps
}

// vectors is testdata/optax.json.gz; third_party/oracles/optax_steps.py says what it holds.
type vectors struct {
	Start      map[string]oracles.Array
	Gradients  map[string]oracles.Array
	Holes      []int
	Losses     []float32
	Optimizers []run
	Schedules  []struct {
		Name   string
		Config config
		Counts []int32
		Values oracles.Array
	}
	Transforms []struct {
		Name          string
		Config        config
		Input, Output map[string]oracles.Array
	}
}

func read(t *testing.T) vectors {
	t.Helper()
	var v vectors
	require.NoError(t, oracles.Read("testdata/optax.json.gz", &v))
	require.Greater(t, len(v.Optimizers), 50)
	require.Greater(t, len(v.Schedules), 6)
	require.Len(t, v.Transforms, 6)
	return v
}

// config is the arguments that a vector was made with.
type config map[string]json.RawMessage

func arg[T any](c config, name string) T {
	var out T
	if raw, ok := c[name]; ok {
		if err := json.Unmarshal(raw, &out); err != nil {
			panic(fmt.Sprintf("argument %s: %v", name, err))
		}
	}
	return out
}

func (c config) f(name string) float64 { return arg[float64](c, name) }
func (c config) i(name string) int     { return arg[int](c, name) }

// options gives an optimizer's options from those arguments that the vector names.
func (c config) options() []optim.Option {
	var out []optim.Option
	for name, value := range map[string]func(any) optim.Option{
		"b1": optim.B1, "b2": optim.B2, "eps": optim.Eps, "eps_root": optim.EpsRoot, "decay": optim.Decay,
		"momentum": optim.Momentum, "weight_decay": optim.WeightDecay, "max_speed": optim.MaxSpeed,
		"initial": optim.Initial,
	} {
		if _, ok := c[name]; ok {
			out = append(out, value(c.f(name)))
		}
	}
	for name, flag := range map[string]func() optim.Option{
		"nesterov": optim.Nesterov, "centered": optim.Centered, "bias_correction": optim.BiasCorrection,
	} {
		if arg[bool](c, name) {
			out = append(out, flag())
		}
	}
	if _, ok := c["eps_in_sqrt"]; ok && !arg[bool](c, "eps_in_sqrt") {
		out = append(out, optim.EpsOutsideRoot())
	}
	if _, ok := c["factored_from"]; ok {
		out = append(out, optim.FactoredFrom(c.i("factored_from")))
	}
	if names := arg[[]string](c, "mask"); names != nil {
		out = append(out, optim.DecayMask(func(path string, _ *graph.Array) bool {
			return slices.ContainsFunc(names, func(n string) bool { return path == fmt.Sprintf("[%q]", n) })
		}))
	}
	return out
}

// without is c without the named arguments.
func (c config) without(names ...string) config {
	out := config{}
	for k, v := range c {
		if !slices.Contains(names, k) {
			out[k] = v
		}
	}
	return out
}

// plain are the optimizers that take a learning rate and options.
var plain = map[string]func(any, ...optim.Option) optim.Transform{"adagrad": optim.Adagrad, "adadelta": optim.Adadelta,
	"amsgrad": optim.AMSGrad, "nadam": optim.NAdam, "nadamw": optim.NAdamW, "adamax": optim.Adamax,
	"adabelief": optim.AdaBelief, "yogi": optim.Yogi, "lamb": optim.LAMB, "adafactor": optim.Adafactor,
	"prodigy": optim.Prodigy}

func optimizer(name string, c config) optim.Transform {
	lr := c.f("learning_rate")
	if f := plain[name]; f != nil {
		return f(lr, c.options()...)
	}
	switch name {
	case "sgd":
		return optim.SGD(lr, c.options()...)
	case "ema":
		return optim.SGD(lr)
	case "adam":
		return optim.Adam(lr, c.options()...)
	case "adamw":
		return optim.AdamW(lr, c.options()...)
	case "radam":
		return optim.RAdam(lr, c.options()...)
	case "rmsprop":
		return optim.RMSProp(lr, c.options()...)
	case "lion":
		return optim.Lion(lr, c.options()...)
	case "clipup":
		return optim.ClipUp(lr, c.options()...)
	case "clip_then_adam":
		return optim.Chain(optim.ClipByGlobalNorm(c.f("max_norm")), optim.Adam(lr, c.without("max_norm").options()...))
	case "adam_schedule":
		return optim.Adam(schedule(arg[string](c, "schedule"), c), c.options()...)
	case "muon":
		return optim.Muon(lr, c.options()...)
	case "apply_if_finite":
		return optim.ApplyIfFinite(optim.Adam(lr, c.without("most").options()...), c.i("most"))
	case "zero_nans":
		return optim.Chain(optim.ZeroNaNs(), optim.Adam(lr, c.options()...))
	case "lars":
		return optim.LARS(lr, c.f("coefficient"), c.options()...)
	case "signum":
		return optim.Signum(lr, c.f("decay"))
	case "lookahead":
		return optim.Lookahead(optim.Adam(lr), c.i("every"), c.f("rate"))
	case "schedule_free", "schedule_free_params":
		return optim.ScheduleFree(optim.SGD(lr), lr, c.options()...)
	case "adaptive_grad_clip":
		return optim.Chain(optim.AdaptiveGradClip(c.f("factor"), 1e-3), optim.SGD(lr))
	case "reduce_on_plateau":
		return optim.Chain(optim.SGD(lr), optim.ReduceOnPlateau(optim.Plateau{Factor: c.f("factor"),
			Patience: c.i("patience"), Cooldown: c.i("cooldown")}))
	case "partition":
		return optim.Partition(map[string]optim.Transform{"matrix": optim.SGD(lr), "other": optim.Adam(lr)},
			func(_ string, p *graph.Array) string {
				if p.Rank() == 2 {
					return "matrix"
				}
				return "other"
			})
	case "multi_steps":
		return optim.MultiSteps(optim.Adam(lr, c.options()...), c.i("every"))
	}
	panic("no optimizer " + name)
}

func schedule(name string, c config) optim.Schedule {
	init, end, steps := c.f("init_value"), c.f("end_value"), c.i("transition_steps")
	switch name {
	case "constant":
		return optim.Constant(c.f("value"))
	case "linear":
		if begin := c.i("transition_begin"); begin > 0 {
			return optim.Join([]optim.Schedule{optim.Constant(init), optim.Linear(init, end, steps)}, []int{begin})
		}
		return optim.Linear(init, end, steps)
	case "polynomial":
		return optim.Polynomial(init, end, c.f("power"), steps, c.i("transition_begin"))
	case "cosine":
		return optim.Cosine(init, c.i("decay_steps"), c.f("alpha"))
	case "warmup_cosine":
		return optim.WarmupCosine(init, c.f("peak_value"), c.i("warmup_steps"), c.i("decay_steps"), end)
	case "piecewise_constant":
		scales := map[int]float64{}
		for i, b := range arg[[]int](c, "boundaries") {
			scales[b] = arg[[]float64](c, "scales")[i]
		}
		return optim.PiecewiseConstant(init, scales)
	case "cosine_onecycle":
		return optim.CosineOneCycle(c.f("peak_value"), steps, c.f("rise"), c.f("div"), c.f("final_div"))
	case "linear_onecycle":
		return optim.LinearOneCycle(c.f("peak_value"), steps, c.f("rise"), c.f("fall"), c.f("div"), c.f("final_div"))
	case "exponential":
		return optim.Exponential(init, steps, c.f("decay_rate"))
	}
	panic("no schedule " + name)
}

func arrays(m map[string]oracles.Array) tree {
	out := tree{}
	for k, a := range m {
		out[k] = graph.Float32s(a.Float32s(), a.Shape...)
	}
	return out
}

var (
	floats = graphtest.Floats
	near   = graphtest.Near
)

// training is the carry of a run.
type training struct {
	Params         tree
	State, Average optim.State
}

// steps are the parameters (or what else the vector keeps) after each of the 100 steps, taken in a Scan.
func (o run) steps(v vectors, start, gradients tree) tree {
	opt, average := optimizer(o.Name, o.Config), optim.Transform(optim.Chain())
	if o.Name == "apply_if_finite" || o.Name == "zero_nans" {
		at := graph.Iota(100).ExpandDims(1).Eq(graph.Of(v.Holes)).Any(1)
		hole := at.Reshape(100, 1, 1).And(graph.Iota(12).Reshape(3, 4).Eq(6))
		gradients = tree{"b": gradients["b"], "w": graph.Select(hole, math.NaN(), gradients["w"])}
	}
	if o.Name == "ema" {
		average = optim.EMA(o.Config.f("decay"), arg[bool](o.Config, "debias"))
	}
	type step struct {
		Gradient tree
		Loss     *graph.Array
	}
	_, shown := graph.Scan(func(c training, s step) (training, tree) {
		g := s.Gradient
		if arg[bool](o.Config, "feedback") {
			g = graph.MapTree2(func(g, p *graph.Array) *graph.Array { return g.Add(graph.Mul(.1, p)) }, g, c.Params)
		}
		if o.Name == "reduce_on_plateau" {
			c.State = optim.SetLoss(c.State, s.Loss)
		}
		c.Params, c.State = optim.Step(opt, c.Params, g, c.State)
		if o.Name == "schedule_free_params" {
			return c, optim.ScheduleFreeParams(c.State, c.Params, o.Config.f("b1"))
		}
		var shown tree
		shown, c.Average = optim.Update(average, c.Params, c.Average, c.Params)
		return c, shown
	}, training{start, opt.Init(start), average.Init(start)}, step{gradients, graph.Float32s(v.Losses)})
	return shown
}

// likeAdam are optimizers that are elementwise arithmetic on moments, as Adam is. Only the long form compiles them.
var likeAdam = []string{"adamw", "rmsprop", "lion", "adagrad", "adadelta", "amsgrad", "nadam", "nadamw", "adamax",
	"adabelief", "yogi", "signum"}

// TestAgreesWithOptax takes 100 steps with each optimizer: on XLA, in the short form, with one of each name, and with
// Adam for likeAdam. All are one program.
func TestAgreesWithOptax(t *testing.T) {
	v := read(t)
	for _, name := range likeAdam {
		require.True(t, slices.ContainsFunc(v.Optimizers, func(o run) bool { return o.Name == name }), name)
	}
	for name, backend := range xlatest.Backends(t) {
		optimizers := v.Optimizers
		if name == "xla" {
			optimizers = long.Sample(optimizers, func(o run) string {
				if slices.Contains(likeAdam, o.Name) {
					return "adam"
				}
				return o.Name
			})
		}
		got, err := xlabridge.Jit2(backend, func(start, gradients tree) []tree {
			out := make([]tree, len(optimizers))
			for i, o := range optimizers {
				out[i] = o.steps(v, start, gradients)
			}
			return out
		})(arrays(v.Start), arrays(v.Gradients))
		require.NoError(t, err)
		for i, o := range optimizers {
			t.Run(fmt.Sprintf("%s/%d %s", name, i, o.Name), func(t *testing.T) {
				require.Len(t, o.Params, 4)
				for step, want := range o.Params {
					n, err := strconv.Atoi(step)
					require.NoError(t, err)
					for leaf, a := range want {
						tol := 1e-6
						if strings.HasPrefix(o.Name, "schedule_free") {
							tol = 5e-6 // the average is divided out of the parameters at each step
						}
						near(t, a.Floats(), floats(t, got[i][leaf].Index(n-1)), tol, leaf, "after", n)
					}
				}
			})
		}
	}
}

// TestStepAlone takes the first ten steps of Adam one compiled step at a time, as a host loop does.
func TestStepAlone(t *testing.T) {
	v := read(t)
	gradients := arrays(v.Gradients)
	o := v.Optimizers[slices.IndexFunc(v.Optimizers, func(o run) bool { return o.Name == "adam_schedule" })]
	opt := optimizer(o.Name, o.Config)
	for name, backend := range xlatest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			step := xlabridge.Jit2(backend, func(c training, g tree) training {
				c.Params, c.State = optim.Step(opt, c.Params, g, c.State)
				return c
			})
			c := training{arrays(v.Start), opt.Init(arrays(v.Start)), graph.None{}}
			for i := range 10 {
				var err error
				c, err = step(c, graph.MapTree(func(g *graph.Array) *graph.Array {
					return g.Index(i)
				}, gradients))
				require.NoError(t, err)
			}
			for leaf, a := range o.Params["10"] {
				near(t, a.Floats(), floats(t, c.Params[leaf]), 1e-6, leaf)
			}
		})
	}
}

// All schedules are one program.
func TestSchedulesAgreeWithOptax(t *testing.T) {
	schedules := read(t).Schedules
	var counts []*graph.Array
	for _, s := range schedules {
		counts = append(counts, graph.Int32s(s.Counts))
	}
	for name, backend := range xlatest.Backends(t) {
		got, err := xlabridge.Jit(backend, func(counts []*graph.Array) (out []*graph.Array) {
			for i, s := range schedules {
				out = append(out, graph.VMap(schedule(s.Name, s.Config), graph.AxisSize(len(s.Counts)))(counts[i]))
			}
			return out
		})(counts)
		require.NoError(t, err)
		for i, s := range schedules {
			near(t, s.Values.Floats(), floats(t, got[i]), 2e-7, name, s.Name)
		}
	}
}

// All calls are one program.
func TestClippingAgreesWithOptax(t *testing.T) {
	calls := read(t).Transforms
	var inputs []tree
	for _, c := range calls {
		inputs = append(inputs, arrays(c.Input))
	}
	for name, backend := range xlatest.Backends(t) {
		got, err := xlabridge.Jit(backend, func(inputs []tree) (out []tree) {
			for i, c := range calls {
				clip := optim.Clip(c.Config.f("max_delta"))
				if c.Name == "clip_by_global_norm" {
					clip = optim.ClipByGlobalNorm(c.Config.f("max_norm"))
				}
				u, _ := optim.Update(clip, inputs[i], clip.Init(inputs[i]), inputs[i])
				out = append(out, u)
			}
			return out
		})(inputs)
		require.NoError(t, err)
		for i, c := range calls {
			for leaf, want := range c.Output {
				near(t, want.Floats(), floats(t, got[i][leaf]), 1e-6, name, i, c.Name, leaf)
			}
		}
	}
}
