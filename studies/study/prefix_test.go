package study

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettled: what samplers keep of trials that are settled changes no choice: a study that goes on chooses what one
// that is opened anew for every trial does, whatever the order in which trials end, and however they do.
func TestSettled(t *testing.T) {
	unit := Distribution{Kind: Float, High: 1}
	space := Space{{Name: "a", Distribution: unit},
		{Name: "b", Distribution: Distribution{Kind: Int, High: 7, Step: 1}},
		{Name: "c", Distribution: Distribution{Kind: Categorical, Choices: []any{"x", "y"}}},
		{Name: "d", Distribution: Distribution{Kind: Float, Low: 1, High: 100, Log: true}, When: map[string][]any{
			"c": {"y"}}}}
	for _, kind := range []func() Sampler{
		func() Sampler {
			return &TPE{Startup: 5}
		}, func() Sampler { return &CMAES{} }, func() Sampler { return &NSGA2{Population: 7} },
		func() Sampler { g, err := NewGrid(space, 5); require.NoError(t, err); return g },
	} {
		t.Run(kind().Name(), func(t *testing.T) {
			const window = 6
			storage := InMemory()
			s, err := New("s", Options{Storage: storage, Sampler: kind(), Seed: 4})
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 2))
			open := map[int64]*Trial{}
			end := func(x *Trial) {
				delete(open, x.Number())
				switch r.IntN(6) {
				case 0:
					require.NoError(t, s.TellFailed(x, "so"))
				case 1:
					require.NoError(t, x.Report(3, r.Float64()))
					require.NoError(t, s.TellPruned(x))
				default:
					require.NoError(t, s.Tell(x, r.Float64()))
				}
			}
			for number := range int64(120) {
				sees := max(number-window+1, 0)
				for n, x := range open {
					if n < sees || r.IntN(4) == 0 {
						end(x)
					}
				}
				// another program's, of a range of its own: cmaes tells each trial by the range that is the newest when
				// it is seen
				if _, scales := s.options.Sampler.(*CMAES); number == 40 && !scales {
					other := &FrozenTrial{State: Complete, Values: []float64{.5}, Params: map[string]float64{"a": 1.5},
						Distributions: map[string]Distribution{"a": {Kind: Float, High: 2}}}
					require.NoError(t, storage.Add(s.ID(), number, other))
					continue
				}
				if number == 80 {
					_, err := s.View(20, 10) // as pruners ask for, of a trial before
					require.NoError(t, err)
				}
				fresh, err := New("s", Options{Storage: storage, Sampler: kind(), Seed: 4})
				require.NoError(t, err)
				_, err = fresh.Trials()
				require.NoError(t, err)
				_, want, wrong := fresh.prepareAll(number, 1, space, func(int64) int64 { return sees })
				x, err := s.AskSpace(space, sees)
				require.Equal(t, wrong, err)
				if errors.Is(err, ErrExhausted) {
					require.Greater(t, number, int64(50))
					return
				}
				require.EqualValues(t, number, x.Number())
				require.Equal(t, want[0].Params, x.frozen.Params, number)
				require.Equal(t, want[0].SystemAttrs, x.frozen.SystemAttrs)
				open[number] = x
			}
			require.Greater(t, s.prefix.n, 100)
			v, err := s.View(math.MaxInt64, All)
			require.NoError(t, err)
			bare := *v
			bare.prefix = finishedPrefix{}
			names, common := bare.common()
			have, kept := v.common()
			require.Equal(t, names, have)
			require.Equal(t, common, kept)
			require.Equal(t, bare.summary().notFailed, v.summary().notFailed)
			require.Len(t, v.completed(), v.summary().complete)
		})
	}
}
