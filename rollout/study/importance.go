package study

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Importance is how much of how trials differ goes back to one parameter.
type Importance struct {
	Name  string
	Share float64 // of the variance of the values' ranks, from 0 to 1
}

// leastForImportance are the complete trials without which importances would be chance.
const leastForImportance = 10

// Importances of the parameters for an objective, the greatest first; nil where fewer than 10 trials are complete. A parameter's is the
// first-order sensitivity index, estimated from the trials as they are (Plischke, Borgonovo, Smith: Global sensitivity measures from given data,
// 2013): trials fall into classes of like values of the parameter, and what counts is the variance of the classes' means over all variance, less
// what chance alone would make (Kelley's epsilon squared, 1935). Ranks stand in for the values, so that neither outliers nor the scale of the
// objective matter; that the direction does not, either. Effects that two parameters have only together are not seen. Trials without
// the parameter are a class of their own.
func Importances(trials []*FrozenTrial, objective int) (all []Importance) {
	var complete []*FrozenTrial
	params := map[string]bool{}
	for _, t := range trials {
		if t.State != Complete || objective >= len(t.Values) || math.IsNaN(t.Values[objective]) {
			continue
		}
		complete = append(complete, t)
		for name := range t.Params {
			params[name] = true
		}
	}
	if len(complete) < leastForImportance {
		return nil
	}
	value := make([]float64, len(complete))
	for i, t := range complete {
		value[i] = t.Values[objective]
	}
	value = ranks(value)
	for name := range params {
		all = append(all, Importance{name, explained(value, classes(complete, name))})
	}
	slices.SortFunc(all, func(a, b Importance) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// ranks from 0; equal values have the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

// classes of trials by a parameter: a class a choice, else as many of like size as the square root of half their number, at most 10. Equal values
// are of one class.
func classes(trials []*FrozenTrial, name string) []int {
	class := make([]int, len(trials))
	var numbers []float64
	var at []int
	for i, t := range trials {
		x, has := t.Params[name]
		switch {
		case !has:
			class[i] = -1
		case t.Distributions[name].Kind == Categorical:
			class[i] = int(x)
		default:
			numbers, at = append(numbers, x), append(at, i)
		}
	}
	count := min(10, max(2, int(math.Sqrt(float64(len(numbers))/2))))
	for i, r := range ranks(numbers) {
		class[at[i]] = int(r * float64(count) / float64(len(numbers)))
	}
	return class
}

// explained is the share of the variance of ranks that lies between classes, less what chance makes, not below 0.
func explained(ranks []float64, class []int) float64 {
	n := float64(len(ranks))
	mean, all := (n-1)/2, 0. // of ranks it is known
	sum, count := map[int]float64{}, map[int]float64{}
	for i, x := range ranks {
		all += (x - mean) * (x - mean)
		sum[class[i]] += x - mean
		count[class[i]]++
	}
	k := float64(len(count))
	if all == 0 || n <= k {
		return 0
	}
	between := 0.
	for _, c := range slices.Sorted(maps.Keys(count)) { // sums in one order
		between += sum[c] * sum[c] / count[c]
	}
	return max(0, 1-(1-between/all)*(n-1)/(n-k))
}
