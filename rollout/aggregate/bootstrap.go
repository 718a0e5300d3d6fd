package aggregate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// LeastRuns is the number of runs from which there are intervals, of any number of tasks: runs are resampled. Of fewer,
// the percentiles of resamples promise too much: a 95 % interval of the interquartile mean of 4 runs of one task holds
// the true value in 73 to 87 % of cases, of 5 in 79 to 90 %, of 8 in 93 % (normal, exponential, log-normal scores, and
// runs of which 70 % are solved).
const LeastRuns = 8

// Interval is an estimate with its confidence interval. Low and High are NaN for fewer than LeastRuns runs.
type Interval struct{ Point, Low, High float64 }

// Options are the options of intervals.
type Options struct {
	Resamples  int     // 0: 2,000
	Confidence float64 // above 0, below 1; 0: 0.95
	Seed       uint64  // of the draws: equal seeds give equal intervals
}

// Intervals estimates statistics with stratified bootstrap intervals by percentiles. A resample draws for each task as
// many runs as there are, with replacement. All statistics use the same resamples. Errors: no runs or tasks, runs with
// unequal numbers of tasks, options out of range.
func Intervals(s Scores, o Options, statistics ...Statistic) ([]Interval, error) {
	return enough(o, each(statistics), s)
}

// Improvement estimates the probability that a run of x has a higher score than a run of y of the same task, the mean
// over tasks; equal scores count half. Runs of x and of y are resampled apart. Errors: as Intervals, and other numbers
// of tasks in x than in y.
func Improvement(x, y Scores, o Options) (Interval, error) {
	all, err := enough(o, improvements, x, y)
	if err != nil {
		return Interval{}, err
	}
	return all[0], nil
}

// statistics are numbers of the scores of one algorithm or more.
type statistics func(of []Scores) []float64

func each(all []Statistic) statistics {
	return func(of []Scores) []float64 {
		values := make([]float64, len(all))
		for i, f := range all {
			values[i] = f(of[0])
		}
		return values
	}
}

func improvements(of []Scores) []float64 { return []float64{improvement(of[0], of[1])} }

// enough estimates statistics, without intervals if there are too few runs for them.
func enough(o Options, f statistics, of ...Scores) ([]Interval, error) {
	if o.Resamples == 0 {
		o.Resamples = 2000
	}
	if o.Confidence == 0 {
		o.Confidence = .95
	}
	few := slices.ContainsFunc(of, func(s Scores) bool { return len(s) < LeastRuns })
	if few && o.Resamples > 1 {
		o.Resamples = 1
	}
	draws := rand.New(rand.NewPCG(o.Seed, 0))
	all, err := intervals(o, f, draws.IntN, of...)
	if few {
		for i := range all {
			all[i].Low, all[i].High = math.NaN(), math.NaN()
		}
	}
	return all, err
}

// intervals estimates statistics. draw returns the number of a drawn run, below n: resample by resample, algorithm by
// algorithm, run by run, task by task.
func intervals(o Options, f statistics, draw func(n int) int, of ...Scores) ([]Interval, error) {
	var resample []Scores
	for _, s := range of {
		if len(s) == 0 || len(s[0]) == 0 {
			return nil, fmt.Errorf("aggregate: got no scores, want one run and one task or more")
		}
		for i, run := range s {
			if len(run) != len(of[0][0]) {
				return nil, fmt.Errorf("aggregate: run 0 has %d tasks and run %d has %d, want the same number in each",
					len(of[0][0]), i, len(run))
			}
		}
		drawn := make(Scores, len(s))
		for run := range drawn {
			drawn[run] = make([]float64, len(s[0]))
		}
		resample = append(resample, drawn)
	}
	if o.Resamples < 1 || !(o.Confidence > 0 && o.Confidence < 1) {
		return nil, fmt.Errorf("aggregate: got %d resamples and confidence %v, want 1 or more, and a confidence "+
			"between 0 and 1", o.Resamples, o.Confidence)
	}
	points := f(of)
	values := make([][]float64, len(points)) // [statistic][resample]
	for range o.Resamples {
		for i, s := range of {
			for _, run := range resample[i] {
				for task := range run {
					run[task] = s[draw(len(s))][task]
				}
			}
		}
		for i, x := range f(resample) {
			values[i] = append(values[i], x)
		}
	}
	out := make([]Interval, len(points))
	tail := (1 - o.Confidence) / 2
	for i, point := range points {
		slices.Sort(values[i])
		out[i] = Interval{point, percentile(values[i], tail), percentile(values[i], 1-tail)}
	}
	return out, nil
}

// percentile returns the number at the fraction q, 0 to 1, of sorted numbers, interpolated between neighbors. It is NaN
// if a number is NaN.
func percentile(sorted []float64, q float64) float64 {
	if math.IsNaN(sorted[0]) { // slices.Sort puts NaN first
		return math.NaN()
	}
	position := q * float64(len(sorted)-1)
	low := min(int(position), len(sorted)-1)
	high := min(low+1, len(sorted)-1)
	if sorted[low] == sorted[high] { // infinities, too
		return sorted[low]
	}
	return sorted[low] + (sorted[high]-sorted[low])*(position-float64(low))
}
