// Package aggregate summarizes the scores of several runs of one or more tasks, with bootstrap intervals: Agarwal et
// al., "Deep reinforcement learning at the edge of the statistical precipice" (2021). The formulas are from rliable
// 1.2.
package aggregate

import (
	"math"
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

// task returns the scores of all runs of a task.
func (s Scores) task(task int) []float64 {
	column := make([]float64, len(s))
	for run := range s {
		column[run] = s[run][task]
	}
	return column
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
	for task := range means {
		means[task] = mean(s.task(task))
	}
	return mean(means)
}

// Above returns the statistic of a performance profile at a threshold: the share of scores above it.
func Above(threshold float64) Statistic {
	return func(s Scores) float64 {
		count, all := 0, 0
		for _, run := range s {
			for _, x := range run {
				all++
				if x > threshold {
					count++
				}
			}
		}
		return float64(count) / float64(all)
	}
}

// improvement is the probability that a run of x has a higher score than a run of y, the mean over tasks. Equal scores
// count half: the U of Mann and Whitney over the number of pairs.
func improvement(x, y Scores) float64 {
	probabilities := make([]float64, len(x[0]))
	for task := range probabilities {
		higher := 0.
		others := y.task(task)
		for _, a := range x.task(task) {
			for _, b := range others {
				switch {
				case a > b:
					higher++
				case a == b:
					higher += .5
				}
			}
		}
		probabilities[task] = higher / float64(len(x)*len(y))
	}
	return mean(probabilities)
}

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
