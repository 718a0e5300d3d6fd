// Package aggregate summarizes the scores of several runs of one or more tasks, with bootstrap intervals: Agarwal et
// al., "Deep reinforcement learning at the edge of the statistical precipice" (2021). The formulas are from rliable
// 1.2.
package aggregate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Scores are final scores, Scores[run][task]. Each run has the same number of tasks.
type Scores [][]float64

// Of returns the scores of runs of a single task.
func Of(scores []float64) Scores {
	s := make(Scores, len(scores))
	for i, x := range scores {
		s[i] = []float64{x}
	}
	return s
}

// Statistic is one number for all scores.
type Statistic func(Scores) float64

// IQM is the interquartile mean: the mean of all scores without the lowest and the highest quarter, each rounded down
// to whole scores. It is NaN if a score is NaN.
func IQM(s Scores) float64 {
	all := slices.Concat(s...)
	if slices.ContainsFunc(all, math.IsNaN) {
		return math.NaN()
	}
	slices.Sort(all)
	cut := len(all) / 4
	return mean(all[cut : len(all)-cut])
}

// Mean is the mean over tasks of the mean over runs.
func Mean(s Scores) float64 {
	means := make([]float64, len(s[0]))
	column := make([]float64, len(s))
	for task := range means {
		for run := range s {
			column[run] = s[run][task]
		}
		means[task] = mean(column)
	}
	return mean(means)
}

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// percentile returns the number at the fraction q, 0 to 1, of the sorted numbers, interpolated between neighbors. It
// is NaN if a number is NaN.
func percentile(x []float64, q float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	position := q * float64(len(x)-1)
	low := min(int(position), len(x)-1)
	high := min(low+1, len(x)-1)
	if x[low] == x[high] { // infinities, too
		return x[low]
	}
	return x[low] + (x[high]-x[low])*(position-float64(low))
}

// Interval is an estimate with its confidence interval.
type Interval struct{ Point, Low, High float64 }

// Options are the options of intervals.
type Options struct {
	Resamples  int     // 0: 2,000
	Confidence float64 // above 0, below 1; 0: 0.95
	Seed       uint64  // of the draws: equal seeds give equal intervals
}

// Intervals estimates statistics with stratified bootstrap intervals by percentiles. A resample draws for each task as
// many runs as there are, with replacement. All statistics use the same resamples. For one run, or for scores that are
// all equal, bounds and point are equal. Errors: no runs or tasks, runs with unequal numbers of tasks, options out of
// range.
func Intervals(s Scores, o Options, statistics ...Statistic) ([]Interval, error) {
	if o.Resamples == 0 {
		o.Resamples = 2000
	}
	if o.Confidence == 0 {
		o.Confidence = .95
	}
	draws := rand.New(rand.NewPCG(o.Seed, 0))
	return intervals(s, o, statistics, func() int { return draws.IntN(len(s)) })
}

// intervals is Intervals with the numbers of the drawn runs from a function: resample by resample, run by run, task by
// task.
func intervals(s Scores, o Options, statistics []Statistic, draw func() int) ([]Interval, error) {
	if len(s) == 0 || len(s[0]) == 0 {
		return nil, fmt.Errorf("aggregate.Intervals: got no scores, want one run and one task or more")
	}
	for i, run := range s {
		if len(run) != len(s[0]) {
			return nil, fmt.Errorf("aggregate.Intervals: run 0 has %d tasks and run %d has %d, want the same number "+
				"in each", len(s[0]), i, len(run))
		}
	}
	if o.Resamples < 1 || !(o.Confidence > 0 && o.Confidence < 1) {
		return nil, fmt.Errorf("aggregate.Intervals: got %d resamples and confidence %v, want 1 or more, and a "+
			"confidence between 0 and 1", o.Resamples, o.Confidence)
	}
	resample := make(Scores, len(s))
	for run := range resample {
		resample[run] = make([]float64, len(s[0]))
	}
	values := make([][]float64, len(statistics)) // [statistic][resample]
	for range o.Resamples {
		for _, run := range resample {
			for task := range run {
				run[task] = s[draw()][task]
			}
		}
		for i, f := range statistics {
			values[i] = append(values[i], f(resample))
		}
	}
	out := make([]Interval, len(statistics))
	tail := (1 - o.Confidence) / 2
	for i, f := range statistics {
		out[i] = Interval{f(s), percentile(values[i], tail), percentile(values[i], 1-tail)}
	}
	return out, nil
}
