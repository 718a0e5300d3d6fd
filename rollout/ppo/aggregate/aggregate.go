// Package aggregate sums up what several runs, of one task or several, came to, and how sure that is: Agarwal et al.,
// "Deep reinforcement learning at the edge of the statistical precipice" (2021). Formulas are those of rliable 1.2.
package aggregate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Scores are final scores by run and task: Scores[run][task], as many tasks in each run.
type Scores [][]float64

// Of are the scores of runs of a single task.
func Of(scores []float64) Scores {
	s := make(Scores, len(scores))
	for i, x := range scores {
		s[i] = []float64{x}
	}
	return s
}

// Statistic is one number for all scores.
type Statistic func(Scores) float64

// IQM is the interquartile mean: the mean of what is left of all scores without the lowest and the highest quarter,
// each rounded down to whole scores. NaN if a score is.
func IQM(s Scores) float64 {
	all := slices.Concat(s...)
	if slices.ContainsFunc(all, math.IsNaN) {
		return math.NaN()
	}
	slices.Sort(all)
	cut := len(all) / 4
	return mean(all[cut : len(all)-cut])
}

// Mean is the mean over tasks of the mean of the runs.
func Mean(s Scores) float64 { return mean(s.tasks()) }

// Median is the median over tasks of the mean of the runs: of a single task its mean.
func Median(s Scores) float64 { return percentile(s.tasks(), .5) }

// OptimalityGap is how far scores, where those above the threshold count as it, are below the threshold on average.
func OptimalityGap(threshold float64) Statistic {
	return func(s Scores) float64 {
		var capped []float64
		for _, run := range s {
			for _, x := range run {
				capped = append(capped, min(x, threshold))
			}
		}
		return threshold - mean(capped)
	}
}

// tasks are the means of the runs.
func (s Scores) tasks() []float64 {
	means := make([]float64, len(s[0]))
	column := make([]float64, len(s))
	for task := range means {
		for run := range s {
			column[run] = s[run][task]
		}
		means[task] = mean(column)
	}
	return means
}

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// percentile is between the two numbers around the place q, from 0 to 1, of the sorted ones. NaN if one is.
func percentile(x []float64, q float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	at := q * float64(len(x)-1)
	low := min(int(at), len(x)-1)
	high := min(low+1, len(x)-1)
	if x[low] == x[high] { // infinities, too
		return x[low]
	}
	return x[low] + (x[high]-x[low])*(at-float64(low))
}

// Interval is an estimate with the bounds of its confidence.
type Interval struct{ Point, Low, High float64 }

// Options say how intervals are made.
type Options struct {
	Resamples  int     // 0: 2,000
	Confidence float64 // above 0, below 1; 0: 0.95
	Seed       uint64  // of the draws: equal seeds give equal intervals
}

// Intervals estimates statistics with stratified bootstrap intervals by percentiles: a resample has for each task as
// many runs as there are, drawn from that task's with replacement; all statistics are of the same resamples. Of one
// run, or of scores that are all the same, there is nothing to be unsure about: bounds and point are equal. Errors: no
// runs or tasks, runs of unequal tasks, options out of range.
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

// intervals takes the runs that are drawn from a function: resample by resample, run by run, task by task.
func intervals(s Scores, o Options, statistics []Statistic, draw func() int) ([]Interval, error) {
	if len(s) == 0 || len(s[0]) == 0 {
		return nil, fmt.Errorf("aggregate.Intervals: got no scores, want one run and one task at least")
	}
	for i, run := range s {
		if len(run) != len(s[0]) {
			return nil, fmt.Errorf("aggregate.Intervals: run 0 has %d tasks and run %d has %d, want as many in each",
				len(s[0]), i, len(run))
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
	reached := make([][]float64, len(statistics))
	for range o.Resamples {
		for _, run := range resample {
			for task := range run {
				run[task] = s[draw()][task]
			}
		}
		for i, f := range statistics {
			reached[i] = append(reached[i], f(resample))
		}
	}
	out := make([]Interval, len(statistics))
	outside := (1 - o.Confidence) / 2
	for i, f := range statistics {
		out[i] = Interval{f(s), percentile(reached[i], outside), percentile(reached[i], 1-outside)}
	}
	return out, nil
}
