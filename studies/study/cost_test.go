package study

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAsk is what a sampler takes to choose a trial of four parameters, in a study that has so many already, in
// memory.
func BenchmarkAsk(b *testing.B) {
	unit := Distribution{Kind: Float, High: 1}
	space := Space{{Name: "a", Distribution: unit}, {Name: "b", Distribution: Distribution{Kind: Float, Low: 1e-4,
		High: 1, Log: true}}, {Name: "c", Distribution: Distribution{Kind: Int, High: 15, Step: 1}},
		{Name: "d", Distribution: unit}}
	grid, err := NewGrid(space, 16)
	require.NoError(b, err)
	for _, sampler := range []Sampler{Random{}, &Halton{}, grid, &TPE{}, &CMAES{}, &NSGA2{}} {
		for _, n := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/after=%d", sampler.Name(), n), func(b *testing.B) {
				s, err := New("s", Options{Sampler: Random{}})
				require.NoError(b, err)
				for done := 0; done < n; {
					some, err := s.AskSpaces(min(n-done, 1000), space, func(int64) int64 { return 0 })
					require.NoError(b, err)
					for _, t := range some {
						require.NoError(b, s.Tell(t, t.frozen.Params["a"]))
					}
					done += len(some)
				}
				s.options.Sampler = sampler
				_, err = s.AskSpace(space, All) // what it learns of the trials that there are already
				require.NoError(b, err)
				b.ResetTimer()
				for range b.N {
					t, err := s.AskSpace(space, All)
					require.NoError(b, err)
					require.NoError(b, s.Tell(t, t.frozen.Params["a"]))
				}
			})
		}
	}
}
