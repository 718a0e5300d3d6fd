package parallelbench

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// Cost is what it costs to coordinate trials, in seconds of a worker's time for each: Fixed whatever the number of workers, Serial more for each other worker (they wait for
// one coordinator), Pair more for each pair of them: Gunther's Universal Scalability Law in seconds.
type Cost struct {
	Fixed  float64 `json:"fixed_seconds"`
	Serial float64 `json:"serial_seconds"`
	Pair   float64 `json:"pair_seconds"`
}

// Of a trial with so many workers.
func (c Cost) Of(workers float64) float64 {
	return c.Fixed + c.Serial*(workers-1) + c.Pair*workers*(workers-1)
}

// CostAt is a measured cost of a trial.
type CostAt struct {
	Workers int     `json:"workers"`
	Lost    float64 `json:"lost_seconds"`
}

// FitCost fits the cost to measurements, in their logarithms: they reach over orders of magnitude, and none of its parts is negative.
func FitCost(at []CostAt) (c Cost, err error) {
	if len(at) < 3 {
		return c, errors.New("the model of costs has three numbers: it wants measurements with three numbers of workers")
	}
	read := func(x []float64) Cost { return Cost{math.Exp(x[0]), math.Exp(x[1]), math.Exp(x[2])} }
	problem := optimize.Problem{Func: func(x []float64) float64 {
		sum, c := 0., read(x)
		for _, m := range at {
			d := math.Log(c.Of(float64(m.Workers))) - math.Log(max(m.Lost, 1e-7))
			sum += d * d
		}
		return sum
	}}
	best := math.Inf(1)
	first := math.Log(max(at[0].Lost, 1e-7))
	for _, start := range [][]float64{{first, first - 3, first - 7}, {first, first, first - 10}, {first, first - 10, first - 5}} {
		r, err := optimize.Minimize(problem, start, nil, &optimize.NelderMead{})
		if err != nil {
			return c, err
		}
		if r.F < best {
			best, c = r.F, read(r.X)
		}
	}
	return c, nil
}

// Model is the speed-up of trials that compute for Trial seconds on a core of their own.
type Model struct {
	Trial float64 `json:"trial_seconds"`
	// Contention is the part more that a trial takes for each other worker that computes beside it: measured with one and two.
	Contention float64 `json:"contention"`
	Cost       Cost    `json:"coordination"`
}

// ContentionOf is the model's number for a speed-up that two workers were measured to have, of trials of so many seconds: what coordination does not
// explain of what is missing to 2. It is never below 0: no machine computes faster as more is asked of it.
func ContentionOf(trial, speedup float64, cost Cost) float64 {
	one := trial + cost.Of(1)
	return max(0, (2*one/speedup-cost.Of(2))/trial-1)
}

// SpeedUp with so many workers that have a core each, over one.
func (m Model) SpeedUp(workers float64) float64 {
	one := m.Trial + m.Cost.Of(1)
	return workers * one / (m.Trial*(1+m.Contention*(workers-1)) + m.Cost.Of(workers))
}

// Allowed is the contention with which so many workers still have the speed-up; negative where coordination alone is too much.
func (m Model) Allowed(workers, speedup float64) float64 {
	one := m.Trial + m.Cost.Of(1)
	return ((workers*one/speedup-m.Cost.Of(workers))/m.Trial - 1) / (workers - 1)
}

// Waves is the part of a speed-up that is left where a study has so many trials of one length: the last of them leave workers with nothing to do.
func Waves(trials, workers int) float64 {
	rounds := (trials + workers - 1) / workers
	return float64(trials) / float64(workers*rounds)
}

// Spread are the second smallest and second largest of forty medians of samples drawn from x with replacement: about the 95 % interval of its median.
func Spread(x []float64) (low, high float64) {
	const draws = 40
	r := rand.New(rand.NewPCG(3, 4))
	medians := make([]float64, draws)
	for i := range medians {
		some := make([]float64, len(x))
		for j := range some {
			some[j] = x[r.IntN(len(x))]
		}
		medians[i] = Median(some)
	}
	slices.Sort(medians)
	return medians[1], medians[draws-2]
}

// Median of x, which stays as it is; NaN of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// RankCorrelation is Spearman's of two lists of one length: 1 where they have the same order. Equal values share the mean of their ranks.
func RankCorrelation(a, b []float64) float64 {
	return stat.Correlation(ranks(a), ranks(b), nil)
}

func ranks(x []float64) []float64 {
	r := make([]float64, len(x))
	for i := range x {
		for j := range x {
			switch {
			case x[j] < x[i]:
				r[i]++
			case x[j] == x[i] && j != i:
				r[i] += .5
			}
		}
	}
	return r
}
