package rollout_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func head(t *testing.T, name string, own settings.Values) value.Head {
	t.Helper()
	h, err := value.Make(name, own)
	require.NoError(t, err)
	return h
}

// number is a scalar on the host.
func number(t *testing.T, a *graph.Array) float64 {
	t.Helper()
	require.True(t, a.Shape().Equal(graph.ShapeOf(graph.Float32)))
	v, err := graph.Float(a)
	require.NoError(t, err)
	return v
}

func array(x ...float64) *graph.Array {
	return graph.Convert(graph.Float64s(x, len(x)), graph.Float32)
}

var nan, inf = math.NaN(), math.Inf(1)

// near holds a number to a tolerance that is relative above 1, infinities and NaN exactly.
func near(t *testing.T, want, got, tolerance float64, what string, args ...any) {
	t.Helper()
	if math.IsNaN(want) || math.IsInf(want, 0) {
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), fmt.Sprintf(what, args...))
		return
	}
	require.InDelta(t, want, got, tolerance*max(1, math.Abs(want)), fmt.Sprintf(what, args...))
}

func TestRegistry(t *testing.T) {
	require.Equal(t, []string{"plain", "popart", "twohot"}, value.Names())
	part := value.Part()
	require.Equal(t, "value", part.Name)
	require.Len(t, part.Choices, 3)
	require.Equal(t, []string{"beta", "min-sigma", "max-sigma"}, settings.Names(part.Choices["popart"]))
	for _, c := range []struct {
		name string
		own  settings.Values
		want string
	}{
		{"pop-art", nil, `value: got "pop-art", want one of plain, popart, twohot; did you mean popart?`},
		{"", nil, `value: got "", want one of plain, popart, twohot`},
		{"plain", settings.Values{"beta": .5},
			`value.beta: got a value, want nothing: the value head plain has no settings, leave it out`},
		{"popart", settings.Values{"beta": 0.}, `value.beta: got 0`},
		{"popart", settings.Values{"beta": 1.5}, `value.beta: got 1.5`},
		{"popart", settings.Values{"min-sigma": 2., "max-sigma": "1"},
			`value.min-sigma: got 2, want at most max-sigma, 1`},
		{"twohot", settings.Values{"bins": 2}, `value.bins: got 2`},
		{"twohot", settings.Values{"limit": 100.}, `value.limit: got 100`},
	} {
		_, err := value.Make(c.name, c.own)
		require.ErrorContains(t, err, c.want)
	}
}

// clippedSquares is the value loss of PPO.
func clippedSquares(v, old, target, clip float64) float64 {
	far := (v - target) * (v - target)
	if clip > 0 {
		held := old + min(max(v-old, -clip), clip)
		far = max(far, (held-target)*(held-target))
	}
	return far / 2
}

func TestPlain(t *testing.T) {
	h := head(t, "plain", nil)
	require.Equal(t, 1, h.Outputs())
	for i, c := range []struct{ out, old, target, clip, loss, grad float64 }{
		{2, 0, 5, 0, 4.5, -3},        // 1: no clip
		{2, 0, 5, nan, 4.5, -3},      // 2: nor here
		{2, 0, 5, -1, 4.5, -3},       // 3: nor here
		{2, 0, 5, .2, 11.52, 0},      // 4: farther towards the target than the clip: (5 - .2)^2 / 2
		{-1, 0, 5, .2, 18, -6},       // 5: farther away from it
		{.1, 0, 5, .2, 12.005, -4.9}, // 6: within the clip
		{2, 0, 5, inf, 4.5, -3},      // 7: a clip without a bound
		{3, 3, 3, .2, 0, 0},          // 8: no error
		{nan, 0, 5, .2, nan, nan},    // 9: outputs that are NaN
		{inf, 0, 5, 0, inf, inf},     // 10: infinite outputs
		{0, 0, 1e30, 0, inf, -1e30},  // 11: a target whose square float32 does not hold
	} {
		loss := func(out *graph.Array) *graph.Array {
			return h.Loss(h.Start(), out, graph.Scalar(c.old), graph.Scalar(c.target), graph.Scalar(c.clip))
		}
		out := array(c.out)
		near(t, c.loss, number(t, loss(out)), 1e-6, "case %d", i+1)
		near(t, c.grad, number(t, graph.Index(graph.Grad(loss)(out), 0)), 1e-6, "gradient of case %d", i+1)
		near(t, c.out, number(t, h.Read(h.Start(), out)), 1e-7, "case %d", i+1)
		if !(c.clip > 0) {
			near(t, c.loss, number(t, h.Loss(h.Start(), out, nil, graph.Scalar(c.target), nil)), 1e-6,
				"case %d without a clip", i+1)
		}
	}
	r := rand.New(rand.NewPCG(10, 11))
	for range 50 {
		v, old, target, clip := r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		got := h.Loss(h.Start(), array(v), graph.Scalar(old), graph.Scalar(target), graph.Scalar(clip))
		near(t, clippedSquares(v, old, target, clip), number(t, got), 1e-5, "%v, old %v, target %v, clip %v", v, old,
			target, clip)
	}
	w, b := graph.Ones(graph.ShapeOf(graph.Float32, 3, 1)), array(2)
	sameW, sameB := h.Rescale(h.Start(), h.Start(), w, b)
	require.True(t, w == sameW && b == sameB)
	require.Equal(t, h.Start(), h.Prepare(h.Start(), array(1, 2)))
}

// popArt are the moments as the paper has them.
type popArt struct{ first, second, share, beta float64 }

func (p *popArt) tell(targets []float64) {
	first, second := 0., 0.
	for _, x := range targets {
		first, second = first+x/float64(len(targets)), second+x*x/float64(len(targets))
	}
	p.first += p.beta * (first - p.first)
	p.second += p.beta * (second - p.second)
	p.share += p.beta * (1 - p.share)
}

func (p *popArt) scale() (mean, sigma float64) {
	mean = p.first / p.share
	return mean, min(math.Sqrt(max(p.second/p.share-mean*mean, 1e-8)), 1e6)
}

// The moments are debiased, and the outputs of the last layer stay as they are, for rewards of any size.
func TestPopArtPreservesOutputs(t *testing.T) {
	for _, beta := range []float64{3e-4, .1, 1} {
		for _, factor := range []float64{1, 100, 1e4} {
			h := head(t, "popart", settings.Values{"beta": beta})
			r := rand.New(rand.NewPCG(1, 2))
			want := popArt{beta: beta}
			state := h.Start()
			w, b := make([]float64, 8), []float64{.1}
			for i := range w {
				w[i] = r.NormFloat64()
			}
			layer, bias := graph.Reshape(array(w...), 8, 1), array(b...)
			for update := range 20 {
				targets := make([]float64, 64)
				for i := range targets {
					targets[i] = float64(float32(factor * (float64(update) + (1+float64(update))*r.NormFloat64())))
				}
				next := h.Prepare(state, array(targets...))
				want.tell(targets)
				mean, sigma := want.scale()
				m := next.(value.PopArtMoments)
				require.InDelta(t, mean, number(t, m.Mean), 1e-5*sigma)
				require.InEpsilon(t, sigma, math.Sqrt(number(t, m.Variance)), 1e-5)
				require.InEpsilon(t, want.share, number(t, m.Weight), 1e-5)

				x := make([]float64, 8)
				for i := range x {
					x[i] = r.NormFloat64()
				}
				read := func(state any, layer, bias *graph.Array) float64 {
					return number(t, h.Read(state, graph.Add(graph.Dot(array(x...), layer), bias)))
				}
				before := read(state, layer, bias)
				layer, bias = h.Rescale(state, next, layer, bias)
				state = next
				require.InDelta(t, before, read(state, layer, bias), 1e-5*max(1, sigma),
					"beta %v, factor %v, update %d", beta, factor, update)
			}
		}
	}
}

// Loss, gradient and clip are computed from normalized returns: they do not depend on the size of rewards.
func TestPopArtLoss(t *testing.T) {
	h := head(t, "popart", settings.Values{"beta": 1.})
	for _, factor := range []float64{1, 100, 1e4} {
		state := h.Prepare(h.Start(), array(-1*factor, 3*factor)) // mean 1, deviation 2
		for i, c := range []struct{ out, old, target, clip, loss, grad float64 }{
			{.5, 1, 5, 0, 1.125, -1.5},   // 1: the target is 2
			{.5, 1, 5, .2, 1.62, 0},      // 2: held at .2
			{-.5, 1, 5, .2, 3.125, -2.5}, // 3: away from the target
		} {
			loss := func(out *graph.Array) *graph.Array {
				return h.Loss(state, out, graph.Scalar(c.old*factor), graph.Scalar(c.target*factor),
					graph.Scalar(c.clip))
			}
			near(t, c.loss, number(t, loss(array(c.out))), 1e-5, "case %d, factor %v", i+1, factor)
			near(t, c.grad, number(t, graph.Index(graph.Grad(loss)(array(c.out)), 0)), 1e-5,
				"gradient of case %d, factor %v", i+1, factor)
			require.InDelta(t, factor*(1+2*c.out), number(t, h.Read(state, array(c.out))), 1e-5*factor)
		}
		near(t, 1.125, number(t, h.Loss(state, array(.5), nil, graph.Scalar(5*factor), nil)), 1e-5, "without a clip")
	}
}

// Random returns of many lanes against the paper's loop: sizes and offsets of any order, constant ones, single samples.
// NaN and infinities in a lane change no other lane, and in their own they count nothing. The outputs are preserved.
func TestPopArtOfManyLanes(t *testing.T) {
	const lanes, updates = 60, 40
	r := rand.New(rand.NewPCG(5, 6))
	for _, samples := range []int{1, 2, 33} {
		for _, beta := range []float64{1e-3, .1, 1} {
			h := head(t, "popart", settings.Values{"beta": beta})
			loops, largest := make([]popArt, lanes), make([]float64, lanes)
			var targets []float64
			for lane := range lanes {
				loops[lane].beta = beta
				size, offset := math.Pow(10, float64(lane%7-2)), float64(lane%3-1)*math.Pow(10, float64(lane%5))
				if lane%11 == 0 {
					size = 0
				}
				for range updates {
					var good []float64
					for range samples {
						x := float64(float32(offset + size*r.NormFloat64()))
						if lane%4 == 3 && r.IntN(3) == 0 {
							x = []float64{nan, inf, -inf}[r.IntN(3)]
						} else {
							good, largest[lane] = append(good, x), max(largest[lane], math.Abs(x))
						}
						targets = append(targets, x)
					}
					if good != nil {
						loops[lane].tell(good)
					}
				}
			}
			type layer struct {
				State any
				W, B  *graph.Array
			}
			x := graph.Float32s([]float32{.5, -2})
			read := func(l layer) *graph.Array { return h.Read(l.State, l.W.Mul(x).Sum().Add(l.B).Reshape(1)) }
			start := layer{h.Start(), graph.Float32s([]float32{1, .25}), graph.Scalar(.5)}
			type result struct{ Moments, Before, After any }
			all := graph.Float64s(targets, lanes, updates, samples).Convert(graph.Float32)
			got, err := xlabridge.Jit(&xlabridge.Reference{}, graph.VMap(func(targets *graph.Array) result {
				last, _ := graph.Scan(func(l layer, targets *graph.Array) (layer, graph.None) {
					next := h.Prepare(l.State, targets)
					w, b := h.Rescale(l.State, next, l.W, l.B)
					return layer{next, w, b}, graph.None{}
				}, start, targets)
				return result{last.State, read(start), read(last)}
			}))(all)
			require.NoError(t, err)
			numbers := func(tree any) []float64 {
				v := graphtest.Floats(t, tree.(*graph.Array))
				return v
			}
			m := got.Moments.(value.PopArtMoments)
			means, variances := numbers(m.Mean), numbers(m.Variance)
			before, after := numbers(got.Before), numbers(got.After)
			for lane, loop := range loops {
				mean, sigma := loop.scale()
				if loop.share == 0 {
					mean, sigma = 0, 1
				}
				at := fmt.Sprintf("beta %v, %d samples, lane %d", beta, samples, lane)
				tolerance := 1e-4*sigma + 1e-6*largest[lane]
				require.InDelta(t, mean, means[lane], tolerance, at)
				require.InDelta(t, sigma, min(max(math.Sqrt(variances[lane]), 1e-4), 1e6), tolerance, at)
				require.InDelta(t, before[lane], after[lane], 1e-4*sigma+1e-5*largest[lane]+1e-5, at)
			}
		}
	}
}

func TestPopArtExtremes(t *testing.T) {
	h := head(t, "popart", nil)
	known := h.Prepare(h.Start(), array(1, 2, 4))
	for i, c := range []struct {
		targets, like []float64 // with the same result; nil: nothing changes
	}{
		{[]float64{nan, inf, -inf, 1e30}, nil},                    // 1: none of them counts
		{[]float64{nan, 1, 2, inf, -1e20, 4}, []float64{1, 2, 4}}, // 2: only some do
		{[]float64{7}, []float64{7, 7}},                           // 3: a batch of one
	} {
		for _, before := range []any{h.Start(), known} {
			want := before
			if c.like != nil {
				want = h.Prepare(before, array(c.like...))
			}
			got, like := h.Prepare(before, array(c.targets...)), graph.Leaves(want)
			for j, a := range graph.Leaves(got) {
				near(t, number(t, like[j]), number(t, a), 1e-6, "case %d, leaf %d", i+1, j)
			}
		}
	}
	// Bounded deviations: returns that are all the same, and huge returns.
	same := h.Prepare(h.Start(), array(3, 3, 3))
	near(t, 3+1e-4, number(t, h.Read(same, array(1))), 1e-6, "least deviation")
	huge := h.Prepare(h.Start(), array(9e14, -9e14))
	near(t, 1e6, number(t, h.Read(huge, array(1))), 1e-6, "greatest deviation")
	// A small deviation beside a large mean, whose square float32 does not hold to a unit.
	far := h.Prepare(h.Prepare(h.Start(), array(9999, 10001)), array(9999, 10001))
	near(t, 10001, number(t, h.Read(far, array(1))), 1e-6, "deviation of 1")
	require.ErrorContains(t, graph.Try(func() { h.Prepare(h.Start(), graph.Scalar(1)) }), "want f32[n]")
	require.ErrorContains(t, graph.Try(func() { h.Prepare(h.Start(), array()) }), "want f32[n] of one or more samples")
	require.ErrorContains(t, graph.Try(func() { h.Read(h.Start(), array(1, 2)) }), "want 1 floats")
	require.ErrorContains(t, graph.Try(func() { h.Read(h.Start(), nil) }), "got nothing")
}

// twoHot is the distribution around a target, and the cross-entropy to logits, by loops.
func twoHot(logits []float64, target, limit float64) (loss float64, grad []float64) {
	n := len(logits)
	at := (math.Copysign(math.Log1p(math.Abs(target)), target) + limit) / (2 * limit) * float64(n-1)
	at = min(max(at, 0), float64(n-1))
	p := make([]float64, n)
	low := min(int(at), n-2)
	p[low], p[low+1] = 1-(at-float64(low)), at-float64(low)
	sum := 0.
	for _, x := range logits {
		sum += math.Exp(x)
	}
	for i, x := range logits {
		loss -= p[i] * (x - math.Log(sum))
		grad = append(grad, math.Exp(x)/sum-p[i])
	}
	return loss, grad
}

func TestTwoHot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		own   settings.Values
		bins  int
		limit float64
	}{{nil, 255, 20}, {settings.Values{"bins": 4, "limit": 3.}, 4, 3}} {
		h := head(t, "twohot", c.own)
		require.Equal(t, c.bins, h.Outputs())
		for _, target := range []float64{0, .3, -.3, 1, 25, -1e4, 12345.678, 1e8, 1e30, -inf} {
			logits, mean, sum := make([]float64, c.bins), 0., 0.
			for i := range logits {
				logits[i] = float64(float32(r.NormFloat64()))
				mean += math.Exp(logits[i]) * c.limit * (2*float64(i)/float64(c.bins-1) - 1)
				sum += math.Exp(logits[i])
			}
			mean /= sum
			loss := func(out *graph.Array) *graph.Array {
				return h.Loss(h.Start(), out, nil, graph.Scalar(target), nil)
			}
			want, grad := twoHot(logits, target, c.limit)
			near(t, want, number(t, loss(array(logits...))), 2e-4, "target %v", target)
			got := graphtest.Floats(t, graph.Grad(loss)(array(logits...)))
			require.InDeltaSlice(t, grad, got, 2e-4)
			near(t, math.Copysign(math.Expm1(math.Abs(mean)), mean), number(t, h.Read(h.Start(), array(logits...))),
				1e-4, "read")
		}
		w := graph.Ones(graph.ShapeOf(graph.Float32, 3, c.bins))
		b := graph.Ones(graph.ShapeOf(graph.Float32, c.bins))
		sameW, sameB := h.Rescale(h.Start(), h.Start(), w, b)
		require.True(t, w == sameW && b == sameB)
	}
	h := head(t, "twohot", nil)
	for i, c := range []struct{ target, read float64 }{ // logits that have learned a target
		{0, 0}, {1, 1}, {-7.5, -7.5}, {1e4, 1e4}, {1e30, math.Expm1(20)}, {-inf, -math.Expm1(20)}, {nan, nan},
	} {
		logits := graph.Grad(func(out *graph.Array) *graph.Array { // -the target's bins, up to the even rest
			return h.Loss(h.Start(), out, nil, graph.Scalar(c.target), nil)
		})(graph.Zeros(graph.ShapeOf(graph.Float32, 255)))
		p := graph.Sub(1./255, logits)
		near(t, c.read, number(t, h.Read(h.Start(), graph.Log(graph.Max(p, 1e-12)))), 2e-4, "case %d", i+1)
	}
}

// A value that went farther towards its target than the clip has no gradient; its loss is the same.
func TestTwoHotClip(t *testing.T) {
	h := head(t, "twohot", settings.Values{"bins": 3, "limit": 2.})
	logits := array(0, 0, 1)
	at := 2 * (math.E - 1) / (2 + math.E) // the bins' mean
	reward := func(log float64) *graph.Array { return graph.Scalar(math.Copysign(math.Expm1(math.Abs(log)), log)) }
	for i, c := range []struct {
		old, target, clip float64
		learns            bool
	}{
		{at - .5, 1.5, .2, false},   // 1: towards the target
		{at - .5, 1.5, .6, true},    // 2: within the clip
		{at + .5, 1.5, .2, true},    // 3: away from it
		{at - .5, at - 1, .2, true}, // 4: past the target
		{at - .5, 1.5, 0, true},     // 5: no clip
		{at - .5, 1.5, nan, true},   // 6: nor here
	} {
		loss := func(clip *graph.Array) func(out *graph.Array) *graph.Array {
			return func(out *graph.Array) *graph.Array {
				return h.Loss(h.Start(), out, reward(c.old), reward(c.target), clip)
			}
		}
		free := loss(nil)
		near(t, number(t, free(logits)), number(t, loss(graph.Scalar(c.clip))(logits)), 0, "case %d", i+1)
		want := graphtest.Floats(t, graph.Grad(free)(logits))
		if !c.learns {
			want = []float64{0, 0, 0}
		}
		got := graphtest.Floats(t, graph.Grad(loss(graph.Scalar(c.clip)))(logits))
		require.Equal(t, want, got, "case %d", i+1)
	}
}

// All of a head, with gradients and mapped over a batch, is a program without branches and loops, and of half precision
// the losses are float32. What is a target, an old value or a state has no gradient.
func TestHeadsHaveNoBranches(t *testing.T) {
	for _, name := range value.Names() {
		h := head(t, name, nil)
		n := h.Outputs()
		type in struct{ W, B, X, Old, Target, Clip *graph.Array }
		batch := in{graph.Ones(graph.ShapeOf(graph.Float32, 4, n)), graph.Ones(graph.ShapeOf(graph.Float32, n)),
			graph.Ones(graph.ShapeOf(graph.Float16, 6, 4)),
			graph.Ones(graph.ShapeOf(graph.Float32, 6)), graph.Convert(graph.Iota(6), graph.Float32), graph.Scalar(.2)}
		update := func(v in) any {
			state := h.Prepare(h.Start(), v.Target)
			w, b := h.Rescale(h.Start(), state, v.W, v.B)
			loss, grads := graph.ValueAndGrad(func(v in) *graph.Array {
				each := graph.VMap(func(row [3]*graph.Array) *graph.Array {
					x, old, target := row[0], row[1], row[2]
					out := graph.Add(graph.Dot(x, graph.Convert(w, graph.Float16)), graph.Convert(b, graph.Float16))
					return graph.Add(h.Loss(state, out, old, target, v.Clip), graph.Mul(0, h.Read(state, out)))
				})
				return graph.Mean(each([3]*graph.Array{v.X, v.Old, v.Target}))
			})(v)
			return []any{state, w, b, loss, grads.X, grads.Old, grads.Target, grads.Clip}
		}
		p, err := graph.Trace("update", update, batch)
		require.NoError(t, err)
		require.False(t, p.Graph.Uses("switch", "while", "scan", "cond"), name)
		out, err := p.Interpret(graph.Leaves(batch), nil)
		require.NoError(t, err)
		out = out[len(out)-5:]
		require.True(t, out[0].Shape().Equal(graph.ShapeOf(graph.Float32)))
		x := graphtest.Floats(t, out[1])
		require.True(t, slices.ContainsFunc(x, func(g float64) bool { return g != 0 }), "%s learns", name)
		for _, a := range out[2:] {
			v := graphtest.Floats(t, a)
			for _, g := range v {
				require.Zero(t, g, name)
			}
		}
	}
}

// Compiled and interpreted heads agree, also for NaN and huge numbers.
func TestCompiledHeads(t *testing.T) {
	b := xlatest.OpenCPU(t, 0)
	for _, name := range value.Names() {
		h := head(t, name, nil)
		type in struct{ Out, Old, Target, Clip *graph.Array }
		batch := in{graph.Reshape(graph.Sin(graph.Convert(graph.Iota(8*h.Outputs()), graph.Float32)), 8, h.Outputs()),
			array(0, 1, -1, 1e4, nan, inf, 3, 0), array(1, 2, -3, 2e4, 5, 1e30, nan, -inf),
			array(.2, nan, 0, .5, .2, .2, .2, inf)}
		update := func(v in) []*graph.Array {
			state := h.Prepare(h.Start(), v.Target)
			each := graph.VMap(func(v in) []*graph.Array {
				loss, grad := graph.ValueAndGrad(func(out *graph.Array) *graph.Array {
					return h.Loss(state, out, v.Old, v.Target, v.Clip)
				})(v.Out)
				return []*graph.Array{loss, grad, h.Read(state, v.Out)}
			})(v)
			w, c := h.Rescale(h.Start(), state, v.Out, graph.Index(v.Out, 0))
			return append(append(each, w, c), graph.Leaves(state)...)
		}
		got, err := xlabridge.Jit(b, update)(batch)
		require.NoError(t, err)
		want, err := graph.Eval(update(batch))
		require.NoError(t, err)
		for i := range want {
			w := graphtest.Floats(t, want[i])
			g := graphtest.Floats(t, got[i])
			for j := range w {
				near(t, w[j], g[j], 1e-4, "%s, result %d, number %d", name, i, j)
			}
		}
	}
}
