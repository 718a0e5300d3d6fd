package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/random"
)

// The distribution over actions equals distribution.Categorical, and draws have its frequencies.
func TestCategoricalHead(t *testing.T) {
	h, err := StochasticOf(envs.Discrete{N: 4})
	require.NoError(t, err)
	for i, c := range []struct {
		description string
		out         []float32
		legal       []bool
	}{
		{"all legal", []float32{1, -2, .5, 0}, []bool{true, true, true, true}},
		{"two legal", []float32{1, -2, .5, 0}, []bool{true, false, false, true}},
		{"one legal", []float32{1, -2, .5, 0}, []bool{false, true, false, false}},
		{"large outputs", []float32{1e4, -1e4, 0, 300}, []bool{false, true, true, true}},
		{"equal ones", []float32{3, 3, 3, 3}, []bool{true, true, true, false}},
		{"an output that is -Inf, beside numbers", []float32{float32(math.Inf(-1)), 0, 1, 2},
			[]bool{true, true, true, true}},
	} {
		legal := graph.Of(c.legal)
		out := Legal(graph.Float32s(c.out), legal)
		of := distribution.NewCategorical(out)
		probs := floats(t, of.Probs())
		require.InDelta(t, floats(t, of.Entropy())[0], floats(t, h.Entropy(graph.None{}, out))[0], 1e-6,
			"case %d: %s", i+1, c.description)
		draws := floats(t, graph.VMap(func(key random.Key) *graph.Array {
			return h.Draw(graph.None{}, out, h.Noise(key))
		})(random.Split(random.New(int64(i)), 4000)))
		count := make([]float64, 4)
		for _, a := range draws {
			count[int(a)]++
		}
		for a := range 4 {
			require.InDelta(t, probs[a], count[a]/4000, .03, "case %d: %s, action %d", i+1, c.description, a)
			log := func(out *graph.Array) *graph.Array {
				return h.LogProb(graph.None{}, Legal(out, legal), graph.Of(int32(a)))
			}
			if !c.legal[a] {
				require.Zero(t, count[a])
				continue
			}
			if probs[a] > 1e-30 {
				require.InDelta(t, math.Log(probs[a]), floats(t, log(graph.Float32s(c.out)))[0], 1e-3,
					"case %d: %s, action %d", i+1, c.description, a)
			}
			for k, g := range floats(t, graph.Grad(log)(graph.Float32s(c.out))) {
				want := -probs[k]
				if k == a {
					want++
				}
				if !c.legal[k] || math.IsInf(float64(c.out[k]), 0) {
					want = 0
				}
				require.InDelta(t, want, g, 1e-5, "case %d: %s, gradient of action %d by output %d", i+1, c.description,
					a, k)
			}
		}
		for _, g := range floats(t, graph.Grad(func(out *graph.Array) *graph.Array {
			return h.Entropy(graph.None{}, Legal(out, legal))
		})(graph.Float32s(c.out))) {
			require.False(t, math.IsNaN(g), "case %d: %s", i+1, c.description)
		}
	}
}

// Densities equal distribution.SquashedNormal for bounded elements and the normal one for others. Actions lie within
// the bounds.
func TestSquashedHead(t *testing.T) {
	box := envs.Box{Low: []float64{-2, -envs.Unbounded, 0}, High: []float64{2, envs.Unbounded, 1}, Dims: []int{3},
		DType: graph.Float32}
	h, err := StochasticOf(box)
	require.NoError(t, err)
	near := Squashed{1 / math.E, h.(Squashed).head, nil}.Start().(Deviations)
	require.InDeltaSlice(t, []float64{-1, -1, -1}, floats(t, near.Log), 1e-6)
	for i, deviation := range []float64{.3, 1, 3} {
		params := Deviations{graph.Float32s([]float32{float32(math.Log(deviation)), 0, float32(math.Log(deviation))})}
		out := graph.Float32s([]float32{.4, -1, -.8})
		bounded := distribution.NewSquashedNormal(graph.Float32s([]float32{.4, -.8}),
			graph.Float32s([]float32{float32(deviation), float32(deviation)}))
		free := distribution.NewNormal(-1, 1)
		sum := func(a *graph.Array) float64 { return floats(t, a.Sum())[0] }
		require.InDelta(t, sum(bounded.Entropy())+sum(free.Entropy()), floats(t, h.Entropy(params, out))[0], 2e-3,
			"case %d", i+1)
		draw := h.Draw(params, out, h.Noise(random.New(int64(i))))
		u := floats(t, draw)
		squashed := graph.Float32s([]float32{float32(math.Tanh(u[0])), float32(math.Tanh(u[2]))})
		want := sum(bounded.LogProb(squashed)) + sum(free.LogProb(graph.Scalar(u[1])))
		require.InDelta(t, want, floats(t, h.LogProb(params, out, draw))[0], 2e-3*(1+math.Abs(want)), "case %d", i+1)
		action := floats(t, h.Action(draw))
		require.InDeltaSlice(t, []float64{2 * math.Tanh(u[0]), u[1], .5 + .5*math.Tanh(u[2])}, action, 1e-5, "case %d",
			i+1)
	}
	far := graph.Float32s([]float32{50, 0, -50}) // tanh of it is a bound
	for _, g := range append(floats(t, h.LogProb(h.Start(), far, far)),
		floats(t, graph.Grad(func(out *graph.Array) *graph.Array {
			return h.LogProb(h.Start(), out, far)
		})(far))...) {
		require.False(t, math.IsNaN(g) || math.IsInf(g, 0))
	}
}

// Spaces without a distribution are refused.
func TestStochasticRefuses(t *testing.T) {
	_, err := StochasticOf(envs.Discrete{})
	require.ErrorContains(t, err, "policy: got the action space Discrete(0), want 1 to")
	_, err = StochasticOf(envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{0}, DType: graph.Float32})
	require.Error(t, err)
}

// Several choices are independent categoricals: probabilities multiply, entropies add up, illegal ones are never drawn,
// and draws have the frequencies.
func TestMultiCategoricalHead(t *testing.T) {
	space := envs.MultiDiscrete{N: []int{3, 2}}
	h, err := StochasticOf(space)
	require.NoError(t, err)
	legal := graph.Of([]bool{true, false, true, true, true})
	out := Legal(graph.Float32s([]float32{.5, 9, -1, 2, 1}), legal)
	total, entropy := 0., 0.
	for i := range 3 {
		for j := range 2 {
			log := floats(t, h.LogProb(nil, out, graph.Int32s([]int32{int32(i), int32(j)})))[0]
			if i == 1 {
				require.Less(t, log, -1e20)
				continue
			}
			total += math.Exp(log)
			entropy -= math.Exp(log) * log
		}
	}
	require.InDelta(t, 1, total, 1e-6)
	require.InDelta(t, entropy, floats(t, h.Entropy(nil, out))[0], 1e-6)
	const n = 4000
	draws := graph.VMap(func(key random.Key) *graph.Array {
		return h.Draw(nil, out, h.Noise(key))
	})(random.Split(random.New(1), n))
	counts := map[[2]float64]float64{}
	v := floats(t, draws)
	for i := 0; i < len(v); i += 2 {
		counts[[2]float64{v[i], v[i+1]}]++
	}
	require.Zero(t, counts[[2]float64{1, 0}]+counts[[2]float64{1, 1}])
	for pair, count := range counts {
		p := math.Exp(floats(t, h.LogProb(nil, out, graph.Int32s([]int32{int32(pair[0]), int32(pair[1])})))[0])
		require.InDelta(t, p, count/n, 4*math.Sqrt(p*(1-p)/n), "%v", pair)
	}
	likeliest, err := HeadOf(space)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0}, floats(t, likeliest.Action(out)))
	for _, c := range []struct {
		x    []int32
		want float64
	}{{[]int32{2, 1}, 1}, {[]int32{3, 0}, 0}, {[]int32{0, 2}, 0}, {[]int32{-1, 0}, 0}} {
		require.Equal(t, c.want, floats(t, space.Contains(graph.Int32s(c.x)).Convert(graph.Float32))[0], "%v",
			c.x)
	}
	_, err = StochasticOf(envs.MultiDiscrete{})
	require.ErrorContains(t, err, "want one choice or more")
	_, err = StochasticOf(envs.MultiDiscrete{N: []int{2, 0}})
	require.ErrorContains(t, err, "MultiDiscrete([2 0])")
}
