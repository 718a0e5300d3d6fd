package optim_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// randomCase is a random optimizer over 1,000 steps: third_party/oracles/random_optax.py says what the fields hold.
type randomCase struct {
	Kind   string
	Spec   spec
	Seed   uint32
	Leaves []struct {
		DType string
		Shape []int
		Scale *int
	}
	Lanes          int
	Holes          [][5]any
	Fade, Feedback bool
	Count          int32
	Values         []oracles.Array
}

type randomVectors struct {
	Kept      []int
	Counts    []int32
	Cases     []randomCase
	Schedules []struct {
		Spec   spec
		Values oracles.Array
	}
	Plateaus []struct {
		Spec           spec
		Losses, Scales oracles.Array
	}
}

// spec is the name of an optimizer or of a schedule, with its arguments.
type spec map[string]json.RawMessage

func arg[T any](c spec, name string) T {
	var out T
	if raw, ok := c[name]; ok {
		if err := json.Unmarshal(raw, &out); err != nil {
			panic(fmt.Sprintf("argument %s: %v", name, err))
		}
	}
	return out
}

func (c spec) f(name string) float64 { return arg[float64](c, name) }
func (c spec) i(name string) int     { return arg[int](c, name) }

// options gives an optimizer's options from those arguments that the vector names.
func (c spec) options() []optim.Option {
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
	if _, ok := c["mask"]; ok {
		out = append(out, optim.DecayMask(masked(arg[[]string](c, "mask"))))
	}
	return out
}

// without is c without the named arguments.
func (c spec) without(names ...string) spec {
	out := spec{}
	for k, v := range c {
		if !slices.Contains(names, k) {
			out[k] = v
		}
	}
	return out
}

func (c spec) name() string { return arg[string](c, "name") }

// masked selects the leaves in the list that the argument holds.
func masked(names []string) optim.Mask {
	return func(path string, _ *graph.Array) bool {
		return slices.ContainsFunc(names, func(n string) bool { return path == fmt.Sprintf("[%q]", n) })
	}
}

func randomSchedule(c spec) optim.Schedule {
	init, end, steps := c.f("init"), c.f("end"), c.i("steps")
	switch c.name() {
	case "constant":
		return optim.Constant(init)
	case "linear":
		return optim.Linear(init, end, steps)
	case "polynomial":
		return optim.Polynomial(init, end, c.f("power"), steps, c.i("begin"))
	case "cosine":
		return optim.Cosine(init, steps, c.f("alpha"))
	case "exponential":
		return optim.Exponential(init, steps, c.f("rate"))
	case "warmup_cosine":
		return optim.WarmupCosine(init, c.f("peak"), c.i("warmup"), c.i("total"), end)
	case "piecewise_constant":
		factors := map[int]float64{}
		for i, at := range arg[[]int](c, "at") {
			factors[at] = arg[[]float64](c, "by")[i]
		}
		return optim.PiecewiseConstant(init, factors)
	case "cosine_onecycle":
		return optim.CosineOneCycle(c.f("peak"), steps, c.f("rise"), c.f("div"), c.f("final"))
	case "linear_onecycle":
		return optim.LinearOneCycle(c.f("peak"), steps, c.f("rise"), c.f("fall"), c.f("div"), c.f("final"))
	case "join":
		var parts []optim.Schedule
		for _, p := range arg[[]spec](c, "parts") {
			parts = append(parts, randomSchedule(p))
		}
		return optim.Join(parts, arg[[]int](c, "at"))
	}
	panic("no schedule " + c.name())
}

// plain are the optimizers that take a learning rate and options.
var plain = map[string]func(any, ...optim.Option) optim.Transform{"sgd": optim.SGD, "adam": optim.Adam,
	"adamw": optim.AdamW, "radam": optim.RAdam, "rmsprop": optim.RMSProp, "lion": optim.Lion, "muon": optim.Muon,
	"clipup": optim.ClipUp, "adagrad": optim.Adagrad, "adadelta": optim.Adadelta, "amsgrad": optim.AMSGrad,
	"nadam": optim.NAdam, "nadamw": optim.NAdamW, "adamax": optim.Adamax, "adabelief": optim.AdaBelief,
	"yogi": optim.Yogi, "lamb": optim.LAMB, "adafactor": optim.Adafactor, "prodigy": optim.Prodigy}

// randomOptimizer is a transform of a random case.
func randomOptimizer(c spec) optim.Transform {
	var rate any
	if raw, ok := c["rate"]; ok && raw[0] == '{' {
		rate = randomSchedule(arg[spec](c, "rate"))
	} else {
		rate = c.f("rate")
	}
	or := func(name string, otherwise float64) float64 {
		if _, ok := c[name]; ok {
			return c.f(name)
		}
		return otherwise
	}
	inner := func() optim.Transform { return randomOptimizer(arg[spec](c, "inner")) }
	options, name := c.options(), c.name()
	if f := plain[name]; f != nil {
		return f(rate, options...)
	}
	switch name {
	case "adamaxw":
		if _, ok := c["weight_decay"]; !ok {
			options = append(options, optim.WeightDecay(1e-4))
		}
		return optim.Adamax(rate, options...)
	case "lars":
		return optim.LARS(rate, .05, options...)
	case "sign_sgd":
		return optim.SignSGD(rate)
	case "signum":
		return optim.Signum(rate, .9)
	case "lookahead":
		return optim.Lookahead(optim.Adam(rate), 5, .5)
	case "schedule_free":
		return optim.ScheduleFree(optim.SGD(rate), rate, options...)
	case "clip":
		return optim.Clip(c.f("by"))
	case "clip_by_global_norm":
		return optim.ClipByGlobalNorm(c.f("by"))
	case "clip_by_block_rms":
		return optim.ClipByBlockRMS(c.f("by"))
	case "adaptive_grad_clip":
		return optim.AdaptiveGradClip(c.f("by"), c.f("eps"))
	case "zero_nans":
		return optim.ZeroNaNs()
	case "ema":
		return optim.EMA(c.f("decay"), arg[bool](c, "debias"))
	case "trace":
		return optim.Trace(c.f("decay"), c.without("decay").options()...)
	case "add_decayed_weights":
		return optim.AddDecayedWeights(c.f("decay"), masked(arg[[]string](c, "mask")))
	case "scale_by_param_block_rms":
		return optim.ScaleByParamBlockRMS()
	case "scale_by_trust_ratio":
		return optim.ScaleByTrustRatio(or("by", 1))
	case "factored_rms":
		return optim.ScaleByFactoredRMS(optim.FactoredFrom(c.i("from")))
	case "chain":
		var parts []optim.Transform
		for _, p := range arg[[]spec](c, "parts") {
			parts = append(parts, randomOptimizer(p))
		}
		return optim.Chain(parts...)
	case "multi_steps":
		return optim.MultiSteps(inner(), c.i("every"))
	case "apply_if_finite":
		return optim.ApplyIfFinite(inner(), c.i("most"))
	case "masked":
		return optim.Masked(inner(), masked(arg[[]string](c, "mask")))
	case "flatten":
		return optim.Flattened(inner())
	case "partition":
		labels := arg[[]int](c, "labels")
		parts := map[string]optim.Transform{}
		for i, p := range arg[[]spec](c, "parts") {
			parts[fmt.Sprint(i)] = randomOptimizer(p)
		}
		return optim.Partition(parts, func(path string, _ *graph.Array) string {
			return fmt.Sprint(labels[path[len(`["`)]-'a'])
		})
	case "inject":
		type hyper struct{ Rate, B1 *graph.Array }
		return optim.InjectHyperparams(hyper{graph.Scalar(c.f("rate")), graph.Scalar(c.f("b1"))},
			func(h hyper) optim.Transform { return optim.Adam(h.Rate, optim.B1(h.B1)) })
	}
	panic("no transform " + name)
}

// noise is that of random_optax.py.
func noise(seed, t, leaf uint32, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		x := seed*0x9E3779B1 ^ t*0x85EBCA6B ^ leaf*0xC2B2AE35 ^ uint32(i)*0x27D4EB2F
		x = (x ^ x>>16) * 0x85EBCA6B
		x = (x ^ x>>13) * 0xC2B2AE35
		x ^= x >> 16
		out[i] = (float64(x>>26) - 31.5) / 32
	}
	return out
}

var dtypes = map[string]graph.DType{"float16": graph.Float16, "bfloat16": graph.BFloat16, "float32": graph.Float32,
	"float64": graph.Float64}

// inputs are the parameters at the start and the gradients [lanes, steps, ...].
func (c randomCase) inputs(steps int) (start, gradients tree) {
	start, gradients = tree{}, tree{}
	for leaf, l := range c.Leaves {
		name, size := string(rune('a'+leaf)), 1
		for _, n := range l.Shape {
			size *= n
		}
		start[name] = graph.Float64s(noise(c.Seed, 1<<20, uint32(leaf), size), l.Shape...).Convert(dtypes[l.DType])
		var all []float64
		for lane := range c.Lanes {
			for t := range steps {
				g := noise(c.Seed, uint32(t), uint32(leaf), size)
				for i := range g {
					switch {
					case l.Scale == nil:
						g[i] = 0
					case c.Fade:
						g[i] = math.Ldexp(g[i], *l.Scale-t/128)
					default:
						g[i] = math.Ldexp(g[i], *l.Scale)
					}
				}
				for _, h := range c.Holes {
					at := func(i int) int { return int(h[i].(float64)) }
					if at(0) == lane && at(1) == t && at(2) == leaf {
						g[at(3)] = map[any]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[h[4]]
					}
				}
				all = append(all, g...)
			}
		}
		dims := append([]int{c.Lanes, steps}, l.Shape...)
		gradients[name] = graph.Float64s(all, dims...).Convert(dtypes[l.DType])
	}
	return start, gradients
}

// steps are the parameters after each step, of all lanes: [lanes, steps, ...].
func (c randomCase) steps(start, gradients tree) tree {
	opt := randomOptimizer(c.Spec)
	return graph.VMap(func(gradients tree) tree {
		state := opt.Init(start)
		if c.Count > 0 {
			state = graph.MapTree(func(a *graph.Array) *graph.Array {
				if a.DType() == graph.Int32 && a.Rank() == 0 {
					return graph.Scalar(c.Count, graph.Int32)
				}
				return a
			}, state)
		}
		_, all := graph.Scan(func(s training, g tree) (training, tree) {
			s = s.step(opt, g, c.Feedback)
			return s, s.Params
		}, training{start, state}, gradients)
		return all
	})(gradients)
}

// String is the case for a message.
func (c randomCase) String() string {
	text, err := json.Marshal(c.Spec)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(text), `"`, "")
}

// tolerance is that of the numbers after some steps: of the narrowest dtype, which a global norm brings to all leaves.
func (c randomCase) tolerance(steps int) float64 {
	tolerance := 1e-11
	if strings.Contains(c.String(), "rate:{") { // schedules are in float32
		tolerance = 1e-6
	}
	for _, l := range c.Leaves {
		tolerance = max(tolerance, map[string]float64{"float32": 2e-5, "float16": 2e-2, "bfloat16": 6e-2}[l.DType])
	}
	if steps > 20 && (c.Feedback || strings.Contains(c.String(), "add_decayed_weights") || tolerance > 1e-3) {
		return max(.05, 4*tolerance) // near the minimum normalized steps are signs of rounding noise
	}
	if steps > 20 {
		return 8 * tolerance // rounding adds up
	}
	return tolerance
}

// TestRandomOptimizers takes steps with random optimizers: chains, masks, all dtypes, lanes with NaN and infinities,
// which stay in their lane. The short form takes 20 steps, the long form 1,000. Once all are interpreted, XLA gets a
// few, in the long form all.
func TestRandomOptimizers(t *testing.T) {
	var v randomVectors
	require.NoError(t, oracles.Read("testdata/random_optax.json.gz", &v))
	require.NotEmpty(t, v.Cases)
	steps := 20
	if long.On() {
		steps = v.Kept[len(v.Kept)-1]
	}
	compiled := map[string]bool{"apply_if_finite": true, "multi_steps": true, "adafactor": true, "adam": true,
		"muon": true, "prodigy": true, "partition": true, "lookahead": true}
	for where, backend := range xlatest.Backends(t) {
		cases := v.Cases
		if where == "xla" {
			cases = long.Sample(cases, func(c randomCase) string { return c.Kind })
			if !long.On() {
				cases = slices.DeleteFunc(cases, func(c randomCase) bool { return !compiled[c.Kind] })
			}
		}
		t.Run(where, func(t *testing.T) {
			for cases := range slices.Chunk(cases, 8) {
				start, gradients := make([]tree, len(cases)), make([]tree, len(cases))
				for i, c := range cases {
					start[i], gradients[i] = c.inputs(steps)
				}
				got, err := xlabridge.Jit2(backend, func(start, gradients []tree) (out []tree) {
					for i, c := range cases {
						out = append(out, c.steps(start[i], gradients[i]))
					}
					return out
				})(start, gradients)
				require.NoError(t, err)
				for i, c := range cases {
					t.Run(fmt.Sprintf("%s %d", c.Kind, c.Seed), func(t *testing.T) {
						c.check(t, v.Kept, steps, start[i], got[i])
					})
				}
			}
		})
	}
}

// check compares the distances from the start after the steps that were kept, up to the number that was taken. In one
// leaf at least the parameters of the start are too far off.
func (c randomCase) check(t *testing.T, kept []int, steps int, start, got tree) {
	still := true
	for leaf, l := range c.Leaves {
		name := string(rune('a' + leaf))
		have, want, first := floats(t, got[name]), c.Values[leaf].Floats(), floats(t, start[name])
		size := len(have) / steps / c.Lanes
		for k, n := range kept {
			if n > steps {
				continue
			}
			for lane := range c.Lanes {
				a, b := want[(k*c.Lanes+lane)*size:][:size], have[(lane*steps+n-1)*size:][:size]
				a, b = distances(a, first), distances(b, first)
				still = still && apart(a, make([]float64, size)) < 2*c.tolerance(n)
				require.LessOrEqual(t, apart(a, b), c.tolerance(n), "%s: leaf %d %s%v in lane %d after %d steps is "+
					"%v from the start, want %v; holes %v, count %d", c, leaf, l.DType, l.Shape, lane, n, b, a, c.Holes,
					c.Count)
			}
		}
	}
	require.False(t, still, "%s: parameters that never move would pass", c)
}

// distances are those of a list from the first one.
func distances(from, first []float64) []float64 {
	out := slices.Clone(from)
	for i, x := range first {
		out[i] -= x
	}
	return out
}

// apart is the largest difference of two lists, in parts of the largest number, or of 1/8 where that is less.
func apart(a, b []float64) float64 {
	most, d := .125, 0.
	for _, x := range a {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			most = max(most, math.Abs(x))
		}
	}
	for i := range a {
		switch {
		case a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i]):
		case math.IsNaN(a[i]-b[i]) || math.IsInf(a[i]-b[i], 0):
			return math.Inf(1)
		default:
			d = max(d, math.Abs(a[i]-b[i])/most)
		}
	}
	return d
}

// Random schedules at counts up to the largest int32.
func TestRandomSchedules(t *testing.T) {
	var v randomVectors
	require.NoError(t, oracles.Read("testdata/random_optax.json.gz", &v))
	require.NotEmpty(t, v.Schedules)
	got, err := xlabridge.Jit(&xlabridge.Reference{}, func(c *graph.Array) (out []*graph.Array) {
		for _, s := range v.Schedules {
			out = append(out, graph.VMap(randomSchedule(s.Spec), graph.AxisSize(len(v.Counts)))(c))
		}
		return out
	})(graph.Int32s(v.Counts))
	require.NoError(t, err)
	for i, s := range v.Schedules {
		have, most := floats(t, got[i]), 0.
		for _, want := range s.Values.Floats() {
			most = max(most, math.Abs(want))
		}
		for k, want := range s.Values.Floats() {
			delta := 2e-6*math.Abs(want) + 3e-7*most
			require.InDelta(t, want, have[k], delta, "%v at %d", randomCase{Spec: s.Spec}, v.Counts[k])
		}
	}
}

// The scale of ReduceOnPlateau after each of 200 losses.
func TestRandomPlateaus(t *testing.T) {
	var v randomVectors
	require.NoError(t, oracles.Read("testdata/random_optax.json.gz", &v))
	require.NotEmpty(t, v.Plateaus)
	for i, p := range v.Plateaus {
		opt := optim.ReduceOnPlateau(optim.Plateau{Factor: p.Spec.f("factor"), Patience: p.Spec.i("patience"),
			Relative: p.Spec.f("relative"), Cooldown: p.Spec.i("cooldown"), Least: p.Spec.f("least")})
		one := graph.Scalar(1)
		got, err := xlabridge.Jit(&xlabridge.Reference{}, func(losses *graph.Array) *graph.Array {
			_, scales := graph.Scan(func(s optim.State, loss *graph.Array) (optim.State, *graph.Array) {
				update, s := optim.Update(opt, one, optim.SetLoss(s, loss), one)
				return s, update
			}, opt.Init(one), losses)
			return scales
		})(graph.Float32s(p.Losses.Float32s()))
		require.NoError(t, err)
		near(t, p.Scales.Floats(), floats(t, got), 1e-6, i, randomCase{Spec: p.Spec})
	}
}
