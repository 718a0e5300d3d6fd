package graph_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
)

// What makes a kept value may ask for another one: it waited for itself. All callers of a key get one value.
func TestKept(t *testing.T) {
	p, err := Trace("p", func(x *Array) *Array { return x }, Float32s([]float32{1}))
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

// What makes a kept value, or one that it asks for, may not ask for the same value: it waited for itself.
func TestKeptRefusesItsOwnKey(t *testing.T) {
	p, err := Trace("p", func(x *Array) *Array { return x }, Float32s([]float32{1}))
	require.NoError(t, err)
	for range 2 { // every call panics alike
		err = Try(func() {
			p.Kept("a", func() any { return p.Kept("b", func() any { return p.Kept("a", func() any { return 1 }) }) })
		})
		require.ErrorContains(t, err, "Program.Kept: what makes the value of the key a asks for that value")
	}
	require.Equal(t, 2, p.Kept("c", func() any { return 2 }))
}
