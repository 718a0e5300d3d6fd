package graph_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// What makes a kept value may ask for another one: it waited for itself. All callers of a key get one value.
func TestKept(t *testing.T) {
	p, err := graph.Trace("p", func(x *graph.Array) *graph.Array { return x }, graph.Float32s([]float32{1}))
	require.NoError(t, err)
	made := 0
	got := make([]any, 8)
	var callers sync.WaitGroup
	for i := range got {
		callers.Go(func() {
			got[i] = p.Kept("outer", func() any {
				made++
				return "outer of " + p.Kept("inner", func() any { return "inner" }).(string)
			})
		})
	}
	callers.Wait()
	require.Equal(t, 1, made)
	for _, value := range got {
		require.Equal(t, "outer of inner", value)
	}
}
