package study

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Importance is the share of the variance of results that one parameter explains.
type Importance struct {
	Name  string
	Share float64 // of the variance of the values' ranks, from 0 to 1
	// Error is the standard error of Share, by the jackknife over groups of trials.
	Error float64
}

// jackknifeGroups is the largest number of groups of trials that the jackknife leaves out, one after the other.
const jackknifeGroups = 12

// leastForImportance is the number of complete trials below which importances would be noise.
const leastForImportance = 10

// Importances returns the importance of each parameter for an objective, the highest first; nil if fewer than 10 trials
// are complete. It is the first-order sensitivity index, estimated from given data (Plischke, Borgonovo, Smith: Global
// sensitivity measures from given data, 2013). Trials fall into classes of similar values of the parameter. The index
// is the variance of the class means divided by the total variance, minus what chance would give (Kelley's epsilon
// squared, 1935). Ranks replace the values, so that outliers, the scale of the objective and its direction do not
// matter. Joint effects of two parameters are not seen. Trials without the parameter are a class of their own.
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
	type sample struct {
		trials []*FrozenTrial
		ranks  []float64
	}
	of := func(keep func(i int) bool) (s sample) {
		var values []float64
		for i, t := range complete {
			if keep(i) {
				s.trials, values = append(s.trials, t), append(values, t.Values[objective])
			}
		}
		s.ranks = ranks(values)
		return s
	}
	whole := of(func(int) bool { return true })
	groups := min(len(complete), jackknifeGroups)
	without := make([]sample, groups)
	for g := range without {
		without[g] = of(func(i int) bool { return i%groups != g })
	}
	for name := range params {
		estimate := func(s sample) float64 { return explained(s.ranks, classes(s.trials, name)) }
		mean, variance := 0., 0.
		left := make([]float64, groups)
		for g, s := range without {
			left[g] = estimate(s)
			mean += left[g] / float64(groups)
		}
		for _, x := range left {
			variance += (x - mean) * (x - mean) * float64(groups-1) / float64(groups)
		}
		all = append(all, Importance{name, max(0, estimate(whole)), math.Sqrt(variance)})
	}
	slices.SortFunc(all, func(a, b Importance) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// ranks returns ranks from 0; equal values have the mean of their ranks.
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

// classes returns the class of each trial: one per choice, else classes of similar size, whose number is the square
// root of half the number of trials, at most 10. Equal values are in one class.
func classes(trials []*FrozenTrial, name string) []int {
	class := make([]int, len(trials))
	var numbers []float64
	var indices []int
	for i, t := range trials {
		x, found := t.Params[name]
		switch {
		case !found:
			class[i] = -1
		case t.Distributions[name].Kind == Categorical:
			class[i] = int(x)
		default:
			numbers, indices = append(numbers, x), append(indices, i)
		}
	}
	count := min(10, max(2, int(math.Sqrt(float64(len(numbers))/2))))
	for i, r := range ranks(numbers) {
		class[indices[i]] = int(r * float64(count) / float64(len(numbers)))
	}
	return class
}

// explained returns the share of the variance of ranks between classes, minus what chance would give, which may be
// below 0.
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
	return 1 - (1-between/all)*(n-1)/(n-k)
}
