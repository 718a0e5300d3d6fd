package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The good ones are the first of all, sorted stably; the others follow by number, with those that run.
func TestSplitIsASort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []float64{0, 1, 1, 2, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, n := range []int{0, 1, 2, 9, 10, 11, 250, 400} {
		for _, direction := range []Direction{Minimize, Maximize} {
			v := &View{Directions: []Direction{direction}}
			var alive []*FrozenTrial
			for i := range n {
				f := &FrozenTrial{Number: int64(i), State: []State{Complete, Complete, Pruned, Fail}[r.IntN(4)],
					Values: []float64{values[r.IntN(len(values))]}}
				for range r.IntN(3) {
					f.Intermediate = append(f.Intermediate, Reported{Step: int64(len(f.Intermediate)),
						Value: values[r.IntN(len(values))]})
				}
				v.Finished = append(v.Finished, f)
				if f.State != Fail {
					alive = append(alive, f)
				}
			}
			v.Running = []*FrozenTrial{{Number: int64(n), State: Running}}
			good, bad := v.split()
			slices.SortStableFunc(alive, v.rank)
			best := alive[:bestCount(len(alive))]
			byNumber := func(a, b *FrozenTrial) int { return int(a.Number - b.Number) }
			want, rest := slices.SortedFunc(slices.Values(best), byNumber),
				slices.SortedFunc(slices.Values(append(alive[len(best):], v.Running...)), byNumber)
			require.Len(t, good, len(want))
			for i := range want {
				require.Same(t, want[i], good[i])
			}
			require.Len(t, bad, len(rest))
			for i := range rest {
				require.Same(t, rest[i], bad[i])
			}
		}
	}
}

// Widths are those that follow from sorting.
func TestWidthsAreTheNeighbors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 3, 10, 98, 99, 1000} {
		for _, few := range []bool{false, true} {
			for range 20 {
				low, high := -1., 3.
				mu := make([]float64, n)
				for i := range mu {
					if mu[i] = low + (high-low)*math.Pow(r.Float64(), 6); few { // many near the lower bound
						mu[i] = math.Round(mu[i]*4) / 4
					}
				}
				order := make([]int, n)
				for i := range order {
					order[i] = i
				}
				slices.SortStableFunc(order, func(a, b int) int { return byValue(mu[a], mu[b]) })
				want := make([]float64, n)
				for k, i := range order {
					left, right := mu[i]-low, high-mu[i]
					if k > 0 {
						left = mu[i] - mu[order[k-1]]
					} else if n > 1 {
						left = 0
					}
					if k < n-1 {
						right = mu[order[k+1]] - mu[i]
					} else if n > 1 {
						right = 0
					}
					want[i] = max(left, right, (high-low)/min(100, float64(n+2)))
				}
				require.Equal(t, want, widths(mu, low, high), "%d, %v", n, few)
			}
		}
	}
}
