package minatar

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/gymnaxtest"
	"xlarun/graph"
)

func TestMatchesGymnax(t *testing.T) {
	t.Run("Breakout", func(t *testing.T) { match(t, Breakout{}, nil) })
	t.Run("Freeway", func(t *testing.T) { match(t, Freeway{}, nil) })
	t.Run("Asterix", func(t *testing.T) { match(t, Asterix{}, nil) })
	t.Run("SpaceInvaders", func(t *testing.T) { match(t, SpaceInvaders{}, nil) })
	t.Run("Seaquest", func(t *testing.T) { match(t, Seaquest{}, sortedSlots(t)) })
}

func match[S, P any](t *testing.T, env envs.Env[S, P], next func(any) any) {
	t.Parallel()
	gymnaxtest.Match(t, envs.Erase(env), filepath.Join("testdata", env.Spec().ID+".json.gz"), next)
}

// sortedSlots brings the slots of a batch of states into the form of the file: those that are taken in ascending order,
// then the free ones, all of which is -1.
func sortedSlots(t *testing.T) func(any) any {
	sorted := func(a *graph.Array) *graph.Array {
		v, err := graph.Floats(a)
		require.NoError(t, err)
		n, rows, slots := a.Dim(0), a.Dim(1), a.Dim(2)
		out := make([]int32, 0, len(v))
		for i := range n {
			var taken [][]int32
			for slot := range slots {
				var column []int32
				for row := range rows {
					column = append(column, int32(v[(i*rows+row)*slots+slot]))
				}
				if column[0] >= 0 {
					taken = append(taken, column)
				}
			}
			slices.SortFunc(taken, slices.Compare)
			for row := range rows {
				for slot := range slots {
					x := int32(-1)
					if slot < len(taken) {
						x = taken[slot][row]
					}
					out = append(out, x)
				}
			}
		}
		return graph.Int32s(out, n, rows, slots)
	}
	return func(state any) any {
		s := state.(SeaquestState)
		s.Friendly, s.Hostile, s.Fish, s.Subs, s.Divers = sorted(s.Friendly), sorted(s.Hostile), sorted(s.Fish),
			sorted(s.Subs), sorted(s.Divers)
		return s
	}
}
