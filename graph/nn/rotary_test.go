package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Attention step by step is attention over all steps at once: with a cache that holds all, and with one that holds
// the last three, over those.
func TestAttentionCache(t *testing.T) {
	m := nn.NewMultiHeadAttention(random.New(1), 2, 8)
	x := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, 7, 8))
	for _, c := range []struct {
		description string
		capacity    int
	}{{"a cache of all steps", 7}, {"a cache of the last three", 3}} {
		_, steps := graph.Scan(func(cache nn.AttentionCache, x *graph.Array) (nn.AttentionCache, *graph.Array) {
			return m.Step(cache, x)
		}, m.Cache(c.capacity), x)
		got := floats(t, steps)
		for i := range 7 {
			from := max(0, i+1-c.capacity)
			window := m.ApplyRotary(graph.SliceAxis(x, 0, from, i+1))
			want, err := graph.Floats(window.Index(i - from)) // only distances count
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got[8*i:8*i+8], 1e-5, c.description)
		}
	}
}
