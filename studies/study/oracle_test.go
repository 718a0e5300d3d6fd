package study

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"

	"xlarun/cmd/xlarun-bench/bench/bbob"
)

// oracle is what Optuna did (third_party/oracles/optuna_study.py).
type oracle struct {
	Parzen []struct {
		Space  []Distribution
		Rows   [][]float64
		Points [][]float64
		LogPDF []float64 `json:"log_pdf"`
	}
	Halton [][]float64
	Prune  []struct {
		Pruner    string
		Direction string
		Curves    [][]*float64
		PrunedAt  []int64 `json:"pruned_at"`
	}
	Fronts []struct {
		Values [][]float64
		Rank   []int
	}
	Regret []struct {
		Function, Sampler string
		Best50, Best200   []float64
	}
}

func readOracle(t *testing.T) (o oracle) {
	t.Helper()
	text, err := os.ReadFile("testdata/optuna_study.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

func TestParzenIsOptunas(t *testing.T) {
	for i, c := range readOracle(t).Parzen {
		p := newParzen(c.Space, c.Rows)
		terms := make([]float64, len(p.weights))
		for j, point := range c.Points {
			require.InDelta(t, c.LogPDF[j], p.logDensity(point, terms), 1e-9*(1+math.Abs(c.LogPDF[j])),
				"case %d, point %d", i, j)
		}
		// Draws have the density that is said: the mean of 1/density is the volume of the space, where that is finite.
		r := (&View{Number: int64(i)}).Rand("test")
		for range 200 {
			point := p.sample(r)
			for k, d := range c.Space {
				require.True(t, d.contains(point[k]), "case %d: %v of %v", i, point[k], d)
				require.Equal(t, d.Round(point[k]), point[k])
			}
		}
	}
}

func TestHaltonIsScipys(t *testing.T) {
	h := &Halton{Plain: true}
	for n, row := range readOracle(t).Halton {
		for k, want := range row {
			got, err := h.Independent(&View{Number: int64(n)}, fmt.Sprint(k), Distribution{Kind: Float, High: 1})
			require.NoError(t, err)
			require.InDelta(t, want, got, 1e-15)
		}
	}
}

// With permuted digits each of b^k equal parts still gets one of b^k points in a row.
func TestPermutedHaltonIsEven(t *testing.T) {
	h := &Halton{}
	for k, base := range []int{2, 3, 5} {
		n := base * base * base
		seen := map[int]bool{}
		for i := range n {
			x, err := h.Independent(&View{Seed: 9, Number: int64(i + 4*n)}, fmt.Sprint(k), Distribution{
				Kind: Float, High: 1})
			require.NoError(t, err)
			seen[int(x*float64(n))] = true
		}
		require.Len(t, seen, n)
	}
}

func TestPrunersAreOptunas(t *testing.T) {
	for i, c := range readOracle(t).Prune {
		pruner := map[string]Pruner{"median": Median{}, "asha": ASHA{Least: 1}, "hyperband": Hyperband{
			Least: 1, Most: 30}}[c.Pruner]
		direction := map[string]Direction{"minimize": Minimize, "maximize": Maximize}[c.Direction]
		s, err := New("curves", Options{Pruner: pruner, Sampler: Random{}, Directions: []Direction{direction}})
		require.NoError(t, err)
		pruned := 0
		for n, curve := range c.Curves {
			trial, err := s.Ask()
			require.NoError(t, err)
			ended, last := int64(0), 0.
			for step, x := range curve {
				last = math.NaN()
				if x != nil {
					last = *x
				}
				require.NoError(t, trial.Report(int64(step+1), last))
				stop, err := trial.ShouldPrune()
				require.NoError(t, err)
				if stop {
					ended = int64(step + 1)
					break
				}
			}
			require.Equal(t, c.PrunedAt[n], ended, "case %d (%s), trial %d", i, c.Pruner, n)
			if ended > 0 {
				pruned++
				require.NoError(t, s.TellPruned(trial))
			} else {
				require.NoError(t, s.Tell(trial, last))
			}
		}
		require.Positive(t, pruned)
		require.Less(t, pruned, len(c.Curves))
	}
}

func TestFrontsAreOptunas(t *testing.T) {
	for i, c := range readOracle(t).Fronts {
		v := &View{}
		for range c.Values[0] {
			v.Directions = append(v.Directions, Minimize)
		}
		var trials []*FrozenTrial
		for n, values := range c.Values {
			trials = append(trials, &FrozenTrial{Number: int64(n), State: Complete, Values: values})
		}
		for rank, front := range v.fronts(trials) {
			for _, x := range front {
				require.Equal(t, c.Rank[x.Number], rank, "case %d, point %d", i, x.Number)
			}
		}
	}
}

// A trial of another program's may have too few values. Those that are missing are the worst.
func TestFrontsOfTooFewValues(t *testing.T) {
	v := &View{Directions: []Direction{Minimize, Maximize}}
	trials := []*FrozenTrial{{Number: 0, State: Complete, Values: []float64{1, 1}}, {Number: 1, State: Complete},
		{Number: 2, State: Complete, Values: []float64{0}}, {Number: 3, State: Complete, Values: []float64{1, 0}}}
	fronts := v.fronts(trials)
	require.Equal(t, [][]*FrozenTrial{{trials[0], trials[2]}, {trials[3]}, {trials[1]}}, fronts)
	require.Equal(t, []*FrozenTrial{trials[0], trials[2], trials[3]}, v.survivors(trials, 3))
	require.Len(t, v.survivors(trials, 1), 1)
	require.Len(t, Best(trials, v.Directions), 2)
}

// functions are the functions of the script. They are minimized.
var functions = map[string]func(*Trial) float64{
	"branin": func(t *Trial) float64 {
		x, y := float(t, "x", -5, 10), float(t, "y", 0, 15)
		return math.Pow(y-5.1/(4*math.Pi*math.Pi)*x*x+5/math.Pi*x-6, 2) + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
	},
	"sphere": func(t *Trial) (sum float64) {
		for i := range 5 {
			sum += math.Pow(float(t, fmt.Sprint("x", i), -5, 5)-float64(i)/2, 2)
		}
		return sum
	},
	"rosenbrock": func(t *Trial) (sum float64) {
		x := make([]float64, 4)
		for i := range x {
			x[i] = float(t, fmt.Sprint("x", i), -2, 2)
		}
		for i := range 3 {
			sum += 100*math.Pow(x[i+1]-x[i]*x[i], 2) + math.Pow(1-x[i], 2)
		}
		return sum
	},
	"rastrigin": func(t *Trial) (sum float64) {
		for i := range 3 {
			x := float(t, fmt.Sprint("x", i), -5.12, 5.12)
			sum += 10 + x*x - 10*math.Cos(2*math.Pi*x)
		}
		return sum
	},
	"mixed": func(t *Trial) float64 {
		rate := number(t.Suggest("rate", Distribution{Kind: Float, Low: 1e-5, High: 1, Log: true}))
		units := number(t.Suggest("units", Distribution{Kind: Int, Low: 1, High: 64, Step: 1, Log: true}))
		kind, err := t.SuggestCategorical("kind", "a", "b", "c")
		drop := number(t.Suggest("drop", Distribution{Kind: Float, High: .9, Step: .1}))
		if err != nil {
			panic(err)
		}
		return math.Pow(math.Log10(rate)+2.5, 2) + math.Abs(math.Log2(units)-4)/2 + map[any]float64{
			"a": 1, "b": 0, "c": .5}[kind] + math.Pow(drop-.3, 2)
	},
	"conditional": func(t *Trial) float64 {
		if kind, err := t.SuggestCategorical("kind", "low", "high"); err != nil {
			panic(err)
		} else if kind == "low" {
			return 1 + math.Pow(float(t, "x", -1, 1), 2)
		}
		return .5 + math.Abs(float(t, "y", 0, 10)-7) +
			math.Abs(number(t.Suggest("n", Distribution{Kind: Int, High: 20, Step: 1}))-3)/10
	},
}

func float(t *Trial, name string, low, high float64) float64 {
	return number(t.Suggest(name, Distribution{Kind: Float, Low: low, High: high}))
}

func number(v any, err error) float64 {
	if err != nil {
		panic(err)
	}
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

// TestRegretIsOptunas compares the best values after 50 and, in the long form, 200 trials with those of Optuna's
// sampler of the name, by rank-sum tests of the seeds: none may be worse (Holm), and all taken together each sampler
// but the random one has to be better than random.
func TestRegretIsOptunas(t *testing.T) {
	trials := 50
	if long.On() {
		trials = 200
	}
	var names []string
	var values []float64
	for _, c := range readOracle(t).Regret {
		theirs := c.Best50
		if trials == 200 {
			theirs = c.Best200
		}
		var ours []float64
		for seed := range theirs {
			sampler := map[string]Sampler{"tpe": &TPE{}, "cmaes": &CMAES{}, "random": Random{}}[c.Sampler]
			s, err := New(c.Function, Options{Sampler: sampler, Seed: int64(seed)})
			require.NoError(t, err)
			require.NoError(t, s.Optimize(t.Context(), trials, 1, func(x *Trial) ([]float64, error) {
				return []float64{functions[c.Function](x)}, nil
			}))
			best, err := s.Best()
			require.NoError(t, err)
			ours = append(ours, best[0].Values[0])
		}
		names = append(names, c.Function+" "+c.Sampler)
		values = append(values, worse(ours, theirs))
		t.Logf("%s, %s after %d: ours %.4g, Optuna's %.4g, p %.3f", c.Function, c.Sampler, trials, median(ours),
			median(theirs), values[len(values)-1])
	}
	for i, p := range bbob.Holm(values) {
		require.Greater(t, p, .05, names[i])
	}
}

// worse is the probability of the rank-sum test where ours are greater, else 1.
func worse(ours, theirs []float64) float64 {
	p, sign := bbob.RankSum(ours, theirs)
	if sign <= 0 {
		return 1
	}
	return p
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
