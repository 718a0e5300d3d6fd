package bbob

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// RankSum is the two-sided rank-sum test of Wilcoxon (Mann and Whitney, 1947). p is the probability, under the null
// hypothesis of equal distributions, that the rank sum of a is at least as far from its expectation. It is exact, also
// with ties: all ways to assign the ranks are counted. sign is negative if a has the smaller numbers, 0 if neither has.
// NaN ranks above all numbers. An empty sample gives 1.
func RankSum(a, b []float64) (p float64, sign int) {
	n, all := len(a), append(slices.Clone(a), b...)
	for i, x := range all {
		all[i] = numbered(x)
	}
	ranks := twiceRanks(all)
	sum, total := 0, 0
	for i, r := range ranks {
		total += r
		if i < n {
			sum += r
		}
	}
	if n == 0 || len(b) == 0 {
		return 1, 0
	}
	// ways[k][s] is the number of choices of k ranks that add up to s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	// Compared in whole numbers: times both sizes, so that the expectation n·total/(n+m) is one.
	return extremes(ways[n], sum, func(s int) int { return s*len(all) - n*total })
}

// extremes is the share of the ways, numbers of choices by their rank sum, that are at least as far away from the
// expectation as sum is, and the side of sum.
func extremes(ways []float64, sum int, away func(sum int) int) (p float64, sign int) {
	extreme, any := 0., 0.
	for s, w := range ways {
		any += w
		if max(away(s), -away(s)) >= max(away(sum), -away(sum)) {
			extreme += w
		}
	}
	return extreme / any, cmp.Compare(away(sum), 0)
}

// SignedRank is the two-sided signed-rank test of Wilcoxon (1945) of pairs. p is the probability, under the null
// hypothesis that both signs of a difference are equally likely, that the rank sum of the positive differences is at
// least as far from its expectation. Pairs of equals are left out. It is exact, also with ties: all signs are counted.
// sign is negative if a has the smaller numbers, 0 if neither has. NaN counts as infinity. It panics if a and b differ
// in length.
func SignedRank(a, b []float64) (p float64, sign int) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("bbob.SignedRank: got %d and %d values, wants pairs", len(a), len(b)))
	}
	var sizes []float64
	var up []bool
	for i := range a {
		if x, y := numbered(a[i]), numbered(b[i]); x != y {
			sizes, up = append(sizes, math.Abs(x-y)), append(up, x > y)
		}
	}
	ranks := twiceRanks(sizes)
	sum, total := 0, 0
	for i, r := range ranks {
		total += r
		if up[i] {
			sum += r
		}
	}
	// ways[s] is the number of choices of ranks that add up to s.
	ways := make([]float64, total+1)
	ways[0] = 1
	for _, r := range ranks {
		for s := total; s >= r; s-- {
			ways[s] += ways[s-r]
		}
	}
	return extremes(ways, sum, func(s int) int { return 2*s - total })
}

// numbered is a number, infinity for NaN.
func numbered(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}

// twiceRanks returns twice the ranks, from 1 on. Equal numbers have the mean of their ranks.
func twiceRanks(x []float64) []int {
	ranks := make([]int, len(x))
	for i, v := range x {
		for _, w := range x {
			switch {
			case w < v:
				ranks[i] += 2
			case w == v:
				ranks[i]++
			}
		}
		ranks[i]++
	}
	return ranks
}

// Holm corrects p-values for multiple comparisons (Holm, "A simple sequentially rejective multiple test procedure",
// 1979): if corrected values up to alpha count as significant, the probability of any false positive is at most alpha.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected, most := make([]float64, len(p)), 0.
	for place, i := range order {
		most = max(most, min(1, p[i]*float64(len(p)-place)))
		corrected[i] = most
	}
	return corrected
}
