package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkWindow measures the cost of a window for a sampler that learns. It compares studies with the window to
// studies in which each trial sees all earlier trials. The result is the probability that the window's best value is
// better (equal ones count half), over all functions and pairs of 20 seeds. With 0.5 the window costs nothing.
func BenchmarkWindow(b *testing.B) {
	const seeds = 20
	best := func(sampler string, trials, window int) (all map[string][]float64) {
		all = map[string][]float64{}
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			for seed := range int64(seeds) {
				s, err := New(name, Options{Sampler: map[string]Sampler{"tpe": &TPE{}, "cmaes": &CMAES{}}[sampler],
					Seed: seed + int64(window)<<20})
				require.NoError(b, err)
				for k := range int64(trials) {
					t, err := s.ask(max(k-int64(window)+1, 0), nil)
					require.NoError(b, err)
					require.NoError(b, s.Tell(t, functions[name](t)))
				}
				won, err := s.Best()
				require.NoError(b, err)
				all[name] = append(all[name], won[0].Values[0])
			}
		}
		return all
	}
	for _, sampler := range []string{"tpe", "cmaes"} {
		for _, trials := range []int{30, 100} {
			base := best(sampler, trials, 1)
			for _, window := range []int{2, 4, 8, 16, 32} {
				b.Run(fmt.Sprintf("%s/trials=%d/window=%d", sampler, trials, window), func(b *testing.B) {
					better, pairs := 0., 0.
					for b.Loop() {
						for name, ours := range best(sampler, trials, window) {
							for _, x := range ours {
								for _, y := range base[name] {
									better += .5 - .5*float64(cmp.Compare(x, y))
									pairs++
								}
							}
						}
					}
					b.ReportMetric(better/pairs, "P(better)")
				})
			}
		}
	}
}
