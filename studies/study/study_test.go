package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// samplers are new ones of each kind, for one objective.
func samplers(t *testing.T, space Space) map[string]func() Sampler {
	return map[string]func() Sampler{
		"random": func() Sampler { return Random{} }, "halton": func() Sampler { return &Halton{} },
		"tpe":   func() Sampler { return &TPE{Startup: 5} },
		"cmaes": func() Sampler { return &CMAES{} }, "nsga2": func() Sampler { return &NSGA2{Population: 8} },
		"grid": func() Sampler {
			g, err := NewGrid(space, 7)
			require.NoError(t, err)
			return g
		},
	}
}

var everything = Space{
	{Name: "x", Distribution: Distribution{Kind: Float, Low: -2, High: 2}},
	{Name: "rate", Distribution: Distribution{Kind: Float, Low: 1e-6, High: 1, Log: true}},
	{Name: "n", Distribution: Distribution{Kind: Int, Low: 1, High: 5, Step: 2}},
	{Name: "kind", Distribution: Distribution{Kind: Categorical, Choices: []any{"a", true, nil, 2.5}}},
	{Name: "only a", Distribution: Distribution{Kind: Int, Low: 1, High: 100, Step: 1, Log: true},
		When: map[string][]any{"kind": {"a", 2.5}}},
	{Name: "only 5", Distribution: Distribution{Kind: Float, High: 1, Step: .25}, When: map[string][]any{
		"only a": {int64(1), int64(10)}, "n": {int64(5)}}},
	{Name: "one", Distribution: Distribution{Kind: Float, Low: 3, High: 3}},
}

// asked runs a study whose trials end in a random order, up to `window` of them under way, each seeing what is so far
// before it.
func asked(t *testing.T, sampler Sampler, space Space, trials, window int, order *rand.Rand) string {
	s, err := New("s", Options{Sampler: sampler, Seed: 3})
	require.NoError(t, err)
	var open []*Trial
	text := ""
	for n := 0; n < trials || len(open) > 0; {
		if n < trials && (len(open) == 0 || open[0].Number() > int64(n-window)) {
			x, err := s.AskSpace(space, int64(n-window+1))
			if errors.Is(err, ErrExhausted) {
				trials = n
				continue
			}
			require.NoError(t, err)
			open = append(open, x)
			for _, p := range space {
				v, has := x.frozen.Params[p.Name]
				require.Equal(t, p.holds(space, x.frozen.Params), has, p.Name)
				if has {
					require.True(t, p.Distribution.contains(v), "%s: %v", p.Name, v)
					require.Equal(t, p.Distribution.Round(v), v)
				}
			}
			params, err := json.Marshal(x.Params())
			require.NoError(t, err)
			text += fmt.Sprintln(n, string(params))
			n++
			if order.IntN(2) == 0 {
				continue
			}
		}
		i := order.IntN(len(open))
		x := open[i]
		open = append(open[:i], open[i+1:]...)
		switch p := x.frozen.Params; {
		case x.Number()%11 == 7:
			require.NoError(t, s.TellFailed(x, "no"))
		case x.Number()%7 == 3:
			require.NoError(t, x.Report(1, p["x"]))
			require.NoError(t, s.TellPruned(x))
		default:
			require.NoError(t, s.Tell(x, p["x"]*p["x"]+p["n"]+math.Log(p["rate"])))
		}
	}
	return text
}

// TestTheSameQuestions: whatever the order in which trials end, the same seed asks the same.
func TestTheSameQuestions(t *testing.T) {
	for name, make := range samplers(t, everything) {
		for _, window := range []int{1, 4} {
			first := asked(t, make(), everything, 50, window, rand.New(rand.NewPCG(1, 1)))
			require.NotEmpty(t, first)
			for seed := range uint64(4) {
				require.Equal(t, first, asked(t, make(), everything, 50, window, rand.New(rand.NewPCG(2, seed))),
					"%s, window %d", name, window)
			}
		}
	}
}

// TestGrid tries all points once, those that others tried not at all, and each combination of conditions.
func TestGrid(t *testing.T) {
	space := Space{{Name: "a", Distribution: Distribution{Kind: Categorical, Choices: []any{"x", "y"}}},
		{Name: "b", Distribution: Distribution{Kind: Int, Low: 1, High: 3, Step: 1}, When: map[string][]any{
			"a": {"x"}}},
		{Name: "c", Distribution: Distribution{Kind: Float, High: 1}}}
	g, err := NewGrid(space, 3)
	require.NoError(t, err)
	require.Equal(t, 4*3, g.Size())
	s, err := New("s", Options{Sampler: g})
	require.NoError(t, err)
	require.NoError(t, s.Enqueue(map[string]any{"a": "x", "b": 2, "c": .5}))
	seen := map[string]bool{}
	for {
		x, err := s.AskSpace(space, All)
		if errors.Is(err, ErrExhausted) {
			break
		}
		require.NoError(t, err)
		text := fmt.Sprint(x.Params())
		require.False(t, seen[text], text)
		seen[text] = true
		require.NoError(t, s.Tell(x, 1))
	}
	require.Len(t, seen, 12)
	_, err = NewGrid(Space{{Name: "big", Distribution: Distribution{Kind: Int, High: 1 << 40, Step: 1}}}, 3)
	require.ErrorContains(t, err, "more than")
}

// TestCMAESOfAnEllipse: the step size falls on a function whose axes are turned, and its lengths differ by 100.
func TestCMAESOfAnEllipse(t *testing.T) {
	s, err := New("s", Options{Sampler: &CMAES{}})
	require.NoError(t, err)
	require.NoError(t, s.Optimize(t.Context(), 600, 1, func(x *Trial) ([]float64, error) {
		a, b, c := float(x, "a", -4, 4), float(x, "b", -4, 4), float(x, "c", -4, 4)
		return []float64{math.Pow(a+b-1, 2) + 1e4*math.Pow(a-b, 2) + math.Pow(c+2, 2)}, nil
	}))
	best, err := s.Best()
	require.NoError(t, err)
	require.Less(t, best[0].Values[0], 1e-6)
}

// TestJacobi: axes and lengths of a matrix that is made of them.
func TestJacobi(t *testing.T) {
	values, vectors := jacobi([][]float64{{2, 1, 0}, {1, 2, 0}, {0, 0, 5}})
	for i, want := range []float64{1, 3, 5} {
		require.InDelta(t, want, values[i], 1e-12)
		norm := 0.
		for j := range 3 {
			norm += vectors[j][i] * vectors[j][i]
		}
		require.InDelta(t, 1, norm, 1e-12)
	}
}

// TestNSGA2: of two distances, to (0, 0, …) and (1, 0, …), the best points lie on the line between. It comes closer to
// it than random points do.
func TestNSGA2(t *testing.T) {
	off := func(sampler Sampler) float64 {
		s, err := New("s", Options{Sampler: sampler, Directions: []Direction{Minimize, Maximize}})
		require.NoError(t, err)
		require.NoError(t, s.Optimize(t.Context(), 600, 1, func(trial *Trial) ([]float64, error) {
			x, rest := float(trial, "x", -2, 2), 0.
			for i := range 4 {
				rest = math.Hypot(rest, float(trial, fmt.Sprint("y", i), -2, 2))
			}
			return []float64{math.Hypot(x, rest), -math.Hypot(x-1, rest)}, nil
		}))
		best, err := s.Best()
		require.NoError(t, err)
		var all []float64
		for _, b := range best {
			all = append(all, math.Hypot(math.Hypot(b.Params["y0"], b.Params["y1"]),
				math.Hypot(b.Params["y2"], b.Params["y3"])))
		}
		return median(all)
	}
	require.Less(t, off(&NSGA2{Population: 20}), off(Random{})/2)
	_, err := New("s", Options{Sampler: &TPE{}, Directions: []Direction{Minimize, Minimize}})
	require.ErrorContains(t, err, "nsga2")
	_, err = New("s", Options{Pruner: Median{}, Directions: []Direction{Minimize, Minimize}})
	require.ErrorContains(t, err, "one objective")
}

// With the factor 1 the pruner never returned.
func TestFactorsOfPruners(t *testing.T) {
	for _, factor := range []int64{math.MinInt64, -1, 1} {
		for _, pruner := range []Pruner{ASHA{Factor: factor}, Hyperband{Factor: factor, Most: 9}} {
			_, err := New("s", Options{Pruner: pruner})
			require.EqualError(t, err, fmt.Sprintf("pruner %s got the factor %d, wants 2 or more, or 0 for its default",
				pruner.Name(), factor))
		}
	}
	for _, pruner := range []Pruner{Median{}, ASHA{}, ASHA{Factor: 2}, Hyperband{Factor: 2, Most: 9}} {
		_, err := New("s", Options{Pruner: pruner})
		require.NoError(t, err)
	}
}

// TestConstantLiar: trials that run at the same time spread out, where those of one that does not see the others crowd.
func TestConstantLiar(t *testing.T) {
	s, err := New("s", Options{Sampler: &TPE{}, Seed: 2})
	require.NoError(t, err)
	require.NoError(t, s.Optimize(t.Context(), 40, 1, func(x *Trial) ([]float64, error) {
		return []float64{math.Abs(float(x, "x", -100, 100) - 5)}, nil
	}))
	space := Space{{Name: "x", Distribution: Distribution{Kind: Float, Low: -100, High: 100}}}
	near := func(hide bool) float64 { // the mean distance to the nearest of those chosen before
		var chosen []float64
		sum := 0.
		for n := range int64(30) {
			v, err := s.View(40+n, All)
			require.NoError(t, err)
			if hide {
				v.Running = nil
			}
			got, err := (&TPE{}).Relative(v)
			require.NoError(t, err)
			nearest := 200.
			for _, x := range chosen {
				nearest = min(nearest, math.Abs(x-got["x"]))
			}
			chosen = append(chosen, got["x"])
			if n > 0 {
				sum += nearest / 29
			}
			if !hide {
				x, err := s.AskSpace(space, All)
				require.NoError(t, err)
				require.Equal(t, got["x"], x.frozen.Params["x"])
			}
		}
		return sum
	}
	crowded := near(true)
	require.Greater(t, near(false), 1.5*crowded)
}

func TestDistributions(t *testing.T) {
	for i, c := range []struct {
		what string
		d    Distribution
		want string // of the error; "" for none
	}{
		{"a number", Distribution{Kind: Float, Low: -1, High: 1}, ""},
		{"one number", Distribution{Kind: Float, Low: 1, High: 1}, ""},
		{"no kind", Distribution{High: 1}, "kind"},
		{"turned round", Distribution{Kind: Float, Low: 1, High: 0}, "above high"},
		{"NaN", Distribution{Kind: Float, Low: math.NaN()}, "finite"},
		{"infinite", Distribution{Kind: Float, High: math.Inf(1)}, "finite"},
		{"too wide", Distribution{Kind: Float, Low: -math.MaxFloat64, High: math.MaxFloat64}, "too far"},
		{"log of 0", Distribution{Kind: Float, High: 1, Log: true}, "above 0"},
		{"log with steps", Distribution{Kind: Float, Low: 1, High: 2, Log: true, Step: .1}, "log scale"},
		{"half a whole number", Distribution{Kind: Int, Low: .5, High: 2, Step: 1}, "whole"},
		{"whole numbers beyond float64's", Distribution{Kind: Int, High: 1e17, Step: 1}, "whole"},
		{"no step of whole numbers", Distribution{Kind: Int, High: 3}, "step"},
		{"a tiny step", Distribution{Kind: Float, High: 1, Step: 1e-300}, "too small"},
		{"no choices", Distribution{Kind: Categorical}, "no choices"},
		{"equal choices", Distribution{Kind: Categorical, Choices: []any{int64(1), 1.}}, "twice"},
		{"a list as a choice", Distribution{Kind: Categorical, Choices: []any{[]any{1}}}, "want a number"},
		{"the smallest on a log scale", Distribution{Kind: Float, Low: 5e-324, High: 1e308, Log: true}, ""},
	} {
		err := c.d.Check()
		if c.want != "" {
			require.ErrorContains(t, err, c.want, "%d: %s", i, c.what)
			continue
		}
		require.NoError(t, err, "%d: %s", i, c.what)
		for _, u := range []float64{0, .3, math.Nextafter(1, 0), 1} {
			x := c.d.At(u)
			require.True(t, c.d.contains(x), "%d: %s at %v is %v", i, c.what, u, x)
		}
		text, err := json.Marshal(c.d)
		require.NoError(t, err)
		var back Distribution
		require.NoError(t, json.Unmarshal(text, &back))
		require.True(t, back.equal(c.d), "%s", text)
	}
}

func TestObjectivesThatFail(t *testing.T) {
	s, err := New("s", Options{})
	require.NoError(t, err)
	require.NoError(t, s.Optimize(t.Context(), 30, 4, func(x *Trial) ([]float64, error) {
		v := float(x, "x", 0, 1)
		switch x.Number() % 4 {
		case 1:
			return []float64{math.NaN()}, nil
		case 2:
			panic("broken")
		case 3:
			return nil, errors.New("no")
		}
		return []float64{v}, nil
	}))
	trials, err := s.Trials()
	require.NoError(t, err)
	require.Len(t, trials, 30)
	for _, x := range trials {
		require.Equal(t, map[int64]State{0: Complete, 1: Fail, 2: Fail, 3: Fail}[x.Number%4], x.State)
		if x.State == Fail {
			require.NotEmpty(t, x.UserAttrs[ReasonAttr])
		}
	}
	x, err := s.Ask()
	require.NoError(t, err)
	require.ErrorContains(t, s.Tell(x, 1, 2), "1 objectives")
	_, err = x.SuggestFloat("x", 1, 0)
	require.ErrorContains(t, err, `parameter "x"`)
	_, err = x.SuggestFloat("x", 0, 1)
	require.NoError(t, err)
	_, err = x.SuggestFloat("x", 0, 2)
	require.ErrorContains(t, err, "before")
}
