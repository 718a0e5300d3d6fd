package graphtest_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/linalg"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/graph/stats"
	"xlarun/internal/long"
)

// values are what a caller may pass where a number or an array is taken.
var values = []any{nil, "x", true, -1, 0, 3, int64(math.MaxInt64), uint64(math.MaxUint64), -2.5, math.NaN(),
	math.Inf(1), math.Inf(-1), 1e300, 1e-300, float32(.5), complex(1, 2), []float64{1, 2}, struct{}{}, func() {},
	&struct{ X int }{}, array(nil), graph.Ones(f32(2)), graph.Zeros(f32(0)), graph.Of(true), graph.Of(int8(-7)),
	graph.Scalar(1, graph.Float64)}

// valueTakers are the functions that take numbers of any kind, each as a function of one of them.
func valueTakers() map[string]func(v any) any {
	x := graph.Float32s([]float32{-1, 0, 2})
	i := graph.Int32s([]int32{1, 0, 2})
	key := random.New(1)
	m := map[string]func(v any) any{
		"Add":              func(v any) any { return graph.Add(x, v) },
		"Add to integers":  func(v any) any { return graph.Add(i, v) },
		"Quo":              func(v any) any { return graph.Quo(i, v) },
		"Rem":              func(v any) any { return graph.Rem(i, v) },
		"Mod":              func(v any) any { return graph.Mod(i, v) },
		"FloorDiv":         func(v any) any { return graph.FloorDiv(i, v) },
		"Pow":              func(v any) any { return graph.Pow(x, v) },
		"Pow of integers":  func(v any) any { return graph.Pow(i, v) },
		"ShiftLeft":        func(v any) any { return graph.ShiftLeft(i, v) },
		"And":              func(v any) any { return graph.And(i, v) },
		"Eq":               func(v any) any { return graph.Eq(x, v) },
		"Clamp":            func(v any) any { return graph.Clamp(v, x, 1) },
		"Clamp x":          func(v any) any { return graph.Clamp(0, v, 1) },
		"Select":           func(v any) any { return graph.Select(graph.Gt(x, 0), v, 0) },
		"Select cond":      func(v any) any { return graph.Select(v, x, 0) },
		"Select of two":    func(v any) any { return graph.Select(graph.Gt(x, 0), v, v) },
		"Where":            func(v any) any { return graph.Where(v, 1, 2) },
		"Sqrt":             func(v any) any { return graph.Sqrt(v) },
		"Neg":              func(v any) any { return graph.Neg(v) },
		"Not":              func(v any) any { return graph.Not(v) },
		"PopCount":         func(v any) any { return graph.PopCount(v) },
		"LogicalAnd":       func(v any) any { return graph.LogicalAnd(v, v) },
		"IsNaN":            func(v any) any { return graph.IsNaN(v) },
		"AllClose":         func(v any) any { return graph.AllClose(x, v, 1e-3, 1e-3) },
		"Full":             func(v any) any { return graph.Full(f32(2), v) },
		"Full of integers": func(v any) any { return graph.Full(graph.ShapeOf(graph.Uint8, 2), v) },
		"FullLike":         func(v any) any { return graph.FullLike(i, v) },
		"Of":               func(v any) any { return graph.Of(v) },
		"Pad":              func(v any) any { return graph.Pad(x, v, []int{1}, []int{1}) },
		"Histogram lo":     func(v any) any { a, b := stats.Histogram(x, 3, v, 1); return []array{a, b} },
		"Histogram hi":     func(v any) any { a, b := stats.Histogram(x, 3, 0, v); return []array{a, b} },
		"Unique":           func(v any) any { return graph.Unique(x, 5, v) },
		"ForiLoop": func(v any) any {
			return loop(func(c array) array { return graph.ForiLoop(0, v, add, c) })
		},
		"Flatten": func(v any) any { a, _ := graph.Flatten(v); return a },
		"Jvp": func(v any) any {
			a, b := graph.Jvp(func(x any) any { return x }, v, v)
			return []any{a, b}
		},
		"VMap": func(v any) any { return graph.VMap(func(x any) any { return x })(v) },
		"Scan": func(v any) any {
			c, y := graph.Scan(func(c, x any) (any, any) { return c, x }, v, any(x))
			return []any{c, y}
		},
		"Scan over": func(v any) any {
			c, y := graph.Scan(func(c, x any) (any, any) { return c, x }, any(x), v)
			return []any{c, y}
		},
		"Trace": func(v any) any { return lowered(graph.Trace("f", func(x any) any { return x }, v)) },
		"Trace of a result": func(v any) any {
			return lowered(graph.Trace("f", func(x array) any { return v }, x))
		},

		"random.Uniform lo": func(v any) any { return random.Uniform(key, f32(2), v, 1) },
		"random.Uniform hi": func(v any) any { return random.Uniform(key, f32(2), 0, v) },
		"random.Randint lo": func(v any) any { return random.Randint(key, graph.ShapeOf(graph.Int8, 2), v, 9) },
		"random.Randint hi": func(v any) any {
			return random.Randint(key, graph.ShapeOf(graph.Int32, 2), 0, v)
		},
		"random.Bernoulli":          func(v any) any { return random.Bernoulli(key, v, 2) },
		"random.Beta":               func(v any) any { return random.Beta(key, f32(2), v, 1) },
		"random.Beta b":             func(v any) any { return random.Beta(key, f32(2), 1, v) },
		"random.Gamma":              func(v any) any { return random.Gamma(key, f32(2), v) },
		"random.Poisson":            func(v any) any { return random.Poisson(key, v, 2) },
		"random.TruncatedNormal":    func(v any) any { return random.TruncatedNormal(key, f32(2), v, 1) },
		"random.TruncatedNormal hi": func(v any) any { return random.TruncatedNormal(key, f32(2), -1, v) },
		"random.FoldIn":             func(v any) any { return random.FoldIn(key, v).Data },

		"nn.Dropout":   func(v any) any { return nn.Dropout(key, x, v) },
		"nn.LeakyRelu": func(v any) any { return nn.LeakyRelu(x, v) },
		"nn.Elu":       func(v any) any { return nn.Elu(x, v) },
		"nn.Summary":   func(v any) any { return graph.Of(nn.Summary(v) == "") },
		"nn.Count":     func(v any) any { return graph.Of(nn.Count(v)) },
		"nn.Bytes":     func(v any) any { return graph.Of(nn.Bytes(v)) },

		"distribution.Bernoulli":      func(v any) any { return drawn(distribution.NewBernoulli(v)) },
		"distribution.BernoulliOf":    func(v any) any { return drawn(distribution.BernoulliOf(v)) },
		"distribution.Laplace":        func(v any) any { return drawn(distribution.NewLaplace(v, 1)) },
		"distribution.Laplace scale":  func(v any) any { return drawn(distribution.NewLaplace(0, v)) },
		"distribution.Normal":         func(v any) any { return drawn(distribution.NewNormal(v, 1)) },
		"distribution.Normal scale":   func(v any) any { return drawn(distribution.NewNormal(0, v)) },
		"distribution.Poisson":        func(v any) any { return drawn(distribution.NewPoisson(v)) },
		"distribution.SquashedNormal": func(v any) any { return drawn(distribution.NewSquashedNormal(v, 1)) },

		"optim.Step":              func(v any) any { return optim.ApplyUpdates(v, v) },
		"optim.IncrementalUpdate": func(v any) any { return optim.IncrementalUpdate(x, x, v) },
		"optim.GlobalNorm":        func(v any) any { return optim.GlobalNorm(v) },
		"optim.Joined":            func(v any) any { return optim.Joined(v) },
		"optim.Update":            func(v any) any { p, _ := optim.Update(optim.SGD(.1), v, nil, v); return p },
		"optim.params": func(v any) any {
			t := optim.Adam(.1)
			p, _ := optim.Step(t, v, v, t.Init(v))
			return p
		},
		"optim.state": func(v any) any {
			t := optim.Adam(.1)
			p, _ := optim.Step(t, x, x, optim.State(v))
			return p
		},
	}
	for name, f := range map[string]func(v float64) any{
		"NanToNum":   func(v float64) any { return graph.NanToNum(x, v, v, v) },
		"Quantile":   func(v float64) any { return stats.Quantile(x, v, 0) },
		"Linspace":   func(v float64) any { return graph.Linspace(v, 1, 3) },
		"VectorNorm": func(v float64) any { return linalg.VectorNorm(x, 0, v) },
		"Pinv":       func(v float64) any { return linalg.Pinv(graph.Eye(graph.Float32, 2), v) },
		"MatrixRank": func(v float64) any { return linalg.MatrixRank(graph.Eye(graph.Float32, 2), v) },
		"nn.Epsilon": func(v float64) any { return nn.NewLayerNorm(3, nn.Epsilon(v)).Apply(x) },
		"nn.Momentum": func(v float64) any {
			a, b := nn.NewBatchNorm(3, "i", nn.Momentum(v))
			return a.Apply(b, x)
		},
		"nn.Decay":           func(v float64) any { return nn.NewLIF(key, 3, nn.Decay(v)).Integrate(x, x, x) },
		"nn.Threshold":       func(v float64) any { return nn.NewLIF(key, 3, nn.Threshold(v)).Integrate(x, x, x) },
		"nn.Adaptation":      func(v float64) any { return nn.NewALIF(key, 3, nn.Adaptation(v)).Start(3) },
		"nn.Synapse":         func(v float64) any { return nn.NewCuBaLIF(key, 3, nn.Synapse(v)).Start(3) },
		"nn.Delta":           func(v float64) any { a, b := nn.Delta{Threshold: v}.Step(x, x); return []array{a, b} },
		"nn.ForgetBias":      func(v float64) any { return nn.NewLSTM(key, 2, 3, nn.ForgetBias(v)) },
		"nn.Constant":        func(v float64) any { return nn.Constant(v)(key, f32(3)) },
		"nn.Normal":          func(v float64) any { return nn.Normal(v)(key, f32(3)) },
		"nn.Uniform":         func(v float64) any { return nn.Uniform(v)(key, f32(3)) },
		"nn.Orthogonal":      func(v float64) any { return nn.Orthogonal(v)(key, f32(3, 2)) },
		"nn.TruncatedNormal": func(v float64) any { return nn.TruncatedNormal(v, v, v)(key, f32(3)) },
		"nn.VarianceScaling": func(v float64) any { return nn.VarianceScaling(v, "fan_in", "normal")(key, f32(3, 2)) },
		"nn.Surrogate":       func(v float64) any { return nn.Surrogate{Slope: v}.Spike(x) },
		"nn.Huber":           func(v float64) any { return nn.Huber(x, x, v) },
		"nn.CosineDistance":  func(v float64) any { return nn.CosineDistance(x, x, v) },
		"nn.LatencyCode":     func(v float64) any { return nn.LatencyCode(x, 3, v) },
		"nn.PopulationCode":  func(v float64) any { return nn.PopulationCode(x, 3, v, 1) },
		"nn.PopulationCode2": func(v float64) any { return nn.PopulationCode(x, 3, 0, v) },
		"optim.OneCycle": func(v float64) any {
			return optim.CosineOneCycle(1, 10, v, 25, 1e4)(graph.Of(int32(3)))
		},
		"optim.OneCycle div": func(v float64) any {
			return optim.LinearOneCycle(1, 10, .3, .8, v, v)(graph.Of(int32(3)))
		},
		"optim.Piecewise": func(v float64) any {
			return optim.PiecewiseConstant(1, map[int]float64{3: v})(graph.Of(int32(3)))
		},
	} {
		m[name] = func(v any) any {
			if number, is := v.(float64); is {
				return f(number)
			}
			return nil
		}
	}
	for name, t := range map[string]func(v any) optim.Transform{
		"Adam":                func(v any) optim.Transform { return optim.Adam(v) },
		"AdamW decay":         func(v any) optim.Transform { return optim.AdamW(.1, optim.WeightDecay(v)) },
		"B1":                  func(v any) optim.Transform { return optim.Adam(.1, optim.B1(v)) },
		"B2":                  func(v any) optim.Transform { return optim.Adam(.1, optim.B2(v)) },
		"Eps":                 func(v any) optim.Transform { return optim.Adam(.1, optim.Eps(v)) },
		"EpsRoot":             func(v any) optim.Transform { return optim.Adam(.1, optim.EpsRoot(v)) },
		"Decay":               func(v any) optim.Transform { return optim.RMSProp(.1, optim.Decay(v)) },
		"MaxSpeed":            func(v any) optim.Transform { return optim.ClipUp(.1, optim.MaxSpeed(v)) },
		"Momentum":            func(v any) optim.Transform { return optim.SGD(.1, optim.Momentum(v)) },
		"AddDecayedWeights":   func(v any) optim.Transform { return optim.AddDecayedWeights(v, nil) },
		"Clip":                func(v any) optim.Transform { return optim.Clip(v) },
		"ClipByGlobalNorm":    func(v any) optim.Transform { return optim.ClipByGlobalNorm(v) },
		"EMA":                 func(v any) optim.Transform { return optim.EMA(v, true) },
		"Scale":               func(v any) optim.Transform { return optim.Scale(v) },
		"ScaleByLearningRate": func(v any) optim.Transform { return optim.ScaleByLearningRate(v) },
		"Trace":               func(v any) optim.Transform { return optim.Trace(v) },
		"Lion":                func(v any) optim.Transform { return optim.Lion(v) },
		"Muon":                func(v any) optim.Transform { return optim.Muon(v) },
		"RAdam":               func(v any) optim.Transform { return optim.RAdam(v) },
		"InjectHyperparams of nil": func(v any) optim.Transform {
			return optim.InjectHyperparams(x, func(array) optim.Transform { return nil })
		},
		"a Schedule":   func(v any) optim.Transform { return optim.SGD(optim.Linear(v, 0, 10)) },
		"Cosine":       func(v any) optim.Transform { return optim.SGD(optim.Cosine(1, 10, v)) },
		"Exponential":  func(v any) optim.Transform { return optim.SGD(optim.Exponential(v, 10, v)) },
		"Polynomial":   func(v any) optim.Transform { return optim.SGD(optim.Polynomial(1, 0, v, 10, 0)) },
		"WarmupCosine": func(v any) optim.Transform { return optim.SGD(optim.WarmupCosine(v, v, 2, 10, v)) },
		"InjectHyperparams": func(v any) optim.Transform {
			return optim.InjectHyperparams(v, func(h any) optim.Transform { return optim.SGD(h) })
		},
	} {
		m["optim."+name] = func(v any) any { return optimized(t(v), x) }
	}
	return m
}

func drawn(d interface {
	Sample(key random.Key, dims ...int) array
	LogProb(x array) array
	Entropy() array
}) any {
	x := d.Sample(random.New(1), 2)
	return []array{x, d.LogProb(x), d.Entropy()}
}

// Functions that take numbers give a result or one sentence for whatever is passed. The short form passes every second
// value to each, and the others to the next.
func TestValuesOfAnyKind(t *testing.T) {
	takers := valueTakers()
	for i, name := range slices.Sorted(maps.Keys(takers)) {
		f := takers[name]
		for k, v := range values {
			if (i+k)%2 == 1 && !long.On() {
				continue
			}
			assert.Empty(t, fault(true, func() any { return f(v) }), "%s of the %T %v", name, v, v)
		}
	}
}
