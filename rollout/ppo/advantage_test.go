package ppo_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/rollout/ppo/advantage"
)

// steps are a trajectory on the host.
type steps struct {
	rewards, values, final []float64
	terminated, truncated  []bool
	last, gamma, lambda    float64
}

// loop is the estimate, step by step from the end.
func (s steps) loop() (advantages []float64) {
	advantages = make([]float64, len(s.rewards))
	next, behind := s.last, 0.
	for t := len(s.rewards) - 1; t >= 0; t-- {
		if s.truncated[t] {
			next, behind = s.final[t], 0
		}
		if s.terminated[t] {
			next, behind = 0, 0
		}
		behind = s.rewards[t] + s.gamma*next - s.values[t] + s.gamma*s.lambda*behind
		advantages[t], next = behind, s.values[t]
	}
	return advantages
}

type arrays struct{ Rewards, Values, Final, Terminated, Truncated, Last, Gamma, Lambda *graph.Array }

func (s steps) arrays() arrays {
	floats := func(x []float64) *graph.Array { return graph.Convert(graph.Float64s(x, len(x)), graph.Float32) }
	flags := func(x []bool) *graph.Array { return graph.Of(x) }
	return arrays{floats(s.rewards), floats(s.values), floats(s.final), flags(s.terminated), flags(s.truncated),
		graph.Scalar(s.last), graph.Scalar(s.gamma),
		graph.Scalar(s.lambda)}
}

func gae(a arrays) []*graph.Array {
	advantages, targets := advantage.GAE(a.Rewards, a.Values, a.Final, a.Terminated, a.Truncated, a.Last, a.Gamma,
		a.Lambda)
	return []*graph.Array{advantages, targets}
}

// check holds a trajectory's estimates to the loop's.
func (s steps) check(t *testing.T, what string) {
	t.Helper()
	out := gae(s.arrays())
	advantages := graphtest.Floats(t, out[0])
	targets := graphtest.Floats(t, out[1])
	for i, want := range s.loop() {
		for _, c := range [][2]float64{{want, advantages[i]}, {want + s.values[i], targets[i]}} {
			if math.IsNaN(c[0]) || math.IsInf(c[0], 0) {
				require.Equal(t, fmt.Sprint(c[0]), fmt.Sprint(c[1]), "%s, step %d", what, i)
				continue
			}
			require.InDelta(t, c[0], c[1], 2e-5*max(1, math.Abs(want)), "%s, step %d", what, i)
		}
	}
}

func draw(r *rand.Rand, n int, terminated, truncated float64) steps {
	s := steps{last: r.NormFloat64(), gamma: r.Float64(), lambda: r.Float64()}
	for range n {
		s.rewards, s.values, s.final = append(s.rewards, r.NormFloat64()), append(s.values, r.NormFloat64()),
			append(s.final, r.NormFloat64())
		s.terminated, s.truncated = append(s.terminated, r.Float64() < terminated),
			append(s.truncated, r.Float64() < truncated)
	}
	return s
}

func TestAgainstTheLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 7, 33, 100} {
		for _, ends := range [][2]float64{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {.2, .2}, {.5, .5}, {.1, 0}, {0, .1}} {
			s := draw(r, n, ends[0], ends[1])
			s.check(t, fmt.Sprintf("%d steps, ends %v", n, ends))
			for _, gamma := range []float64{0, 1} {
				for _, lambda := range []float64{0, 1} {
					s.gamma, s.lambda = gamma, lambda
					s.check(t, fmt.Sprintf("%d steps, ends %v, gamma %v, lambda %v", n, ends, gamma, lambda))
				}
			}
		}
	}
}

func TestByHand(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ones := func(flags ...int) (out []bool) {
		for _, f := range flags {
			out = append(out, f == 1)
		}
		return out
	}
	for i, c := range []struct {
		s    steps
		want []float64
	}{
		// 1: two steps within an episode
		{steps{[]float64{1, 2}, []float64{.5, 1}, []float64{0, 0}, ones(0, 0), ones(0, 0), 4, .5, .5}, []float64{
			1.75, 3}},
		// 2: the first one truncates: its own final observation is worth 8
		{steps{[]float64{1, 2}, []float64{.5, 1}, []float64{8, 0}, ones(0, 0), ones(1, 0), 4, .5, .5}, []float64{
			4.5, 3}},
		// 3: it terminates
		{steps{[]float64{1, 2}, []float64{.5, 1}, []float64{8, 0}, ones(1, 0), ones(0, 0), 4, .5, .5}, []float64{
			.5, 3}},
		// 4: it does both, which is to terminate
		{steps{[]float64{1, 2}, []float64{.5, 1}, []float64{8, 0}, ones(1, 0), ones(1, 0), 4, .5, .5}, []float64{
			.5, 3}},
		// 5: what is not used may be anything
		{steps{[]float64{1, 2}, []float64{.5, 1}, []float64{nan, inf}, ones(0, 1), ones(0, 0), nan, .5, .5}, []float64{
			1.25, 1}},
		// 6: a NaN affects only the earlier steps of its episode
		{steps{[]float64{1, 2, nan, 2}, []float64{.5, 1, 0, 1}, []float64{0, 8, 0, 0}, ones(0, 0, 0, 1),
			ones(0, 1, 0, 0), 0, .5, .5}, []float64{2.25, 5, nan, 1}},
		// 7: so does an infinite step
		{steps{[]float64{1, inf}, []float64{.5, 0}, []float64{0, 0}, ones(1, 0), ones(0, 0), 0, .5, .5}, []float64{
			.5, inf}},
		// 8: huge numbers
		{steps{[]float64{1e30, -1e30}, []float64{0, 0}, []float64{0, 0}, ones(0, 0), ones(0, 0), 0, 1, 1}, []float64{
			0, -1e30}},
	} {
		c.s.check(t, fmt.Sprintf("case %d", i+1))
		got := graphtest.Floats(t, gae(c.s.arrays())[0])
		require.Equal(t, fmt.Sprint(c.want), fmt.Sprint(float32s(got)), "case %d", i+1)
	}
}

// float32s writes numbers without the digits that float32 does not have.
func float32s(x []float64) (out []float32) {
	for _, v := range x {
		out = append(out, float32(v))
	}
	return out
}

// Nothing that goes in has a gradient, and lanes are estimated each by itself.
func TestGradientsAndLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	a, b := draw(r, 9, .2, .2).arrays(), draw(r, 9, .2, .2).arrays()
	grads := graph.Grad(func(v [2]*graph.Array) *graph.Array {
		w := a
		w.Rewards, w.Values = v[0], v[1]
		out := gae(w)
		return graph.Add(graph.Sum(graph.Square(out[0])), graph.Sum(out[1]))
	})([2]*graph.Array{a.Rewards, a.Values})
	for _, g := range grads {
		v := graphtest.Floats(t, g)
		require.Equal(t, make([]float64, 9), v)
	}
	both := graph.MapTree2(func(x, y *graph.Array) *graph.Array { return graph.Stack([]*graph.Array{x, y}, 0) }, a, b)
	together := graph.VMap(gae)(both)
	for lane, alone := range []arrays{a, b} {
		for i, want := range gae(alone) {
			w := graphtest.Floats(t, want)
			got := graphtest.Floats(t, graph.Index(together[i], lane))
			require.Equal(t, w, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := draw(rand.New(rand.NewPCG(9, 9)), 3, 0, 0).arrays()
	for _, c := range []struct {
		spoil func(a *arrays)
		want  string
	}{
		{func(a *arrays) { a.Rewards = graph.Scalar(1) }, "rewards are f32[], want f32[T]"},
		{func(a *arrays) {
			a.Rewards = graph.Zeros(graph.ShapeOf(graph.Float32, 0))
		}, "want f32[T] of one or more steps"},
		{func(a *arrays) { a.Values = graph.Zeros(graph.ShapeOf(graph.Float32, 4)) }, "values is f32[4], want f32[3]"},
		{func(a *arrays) { a.Truncated = a.Rewards }, "truncated is f32[3], want bool[3]"},
		{func(a *arrays) { a.Last = a.Rewards }, "last is f32[3], want f32[]"},
	} {
		bad := good
		c.spoil(&bad)
		require.ErrorContains(t, graph.Try(func() { gae(bad) }), c.want)
	}
}
