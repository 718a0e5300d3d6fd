package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
)

// TestNilArguments is graphtest's TestNothing, compiled: a nil argument of an interface type has no
// arrays.
func TestNilArguments(t *testing.T) {
	client := open(t, Options{})
	one := graph.Scalar(1)
	first := func(x any) *graph.Array { return graph.Add(x.(*graph.Array), 1) }
	for _, b := range []Backend{&Reference{}, client} {
		for i, f := range []func() (*graph.Array, error){
			func() (*graph.Array, error) {
				return Jit(b, func(x any) *graph.Array { assert.Nil(t, x); return one })(nil)
			},
			func() (*graph.Array, error) {
				return Jit2(b, func(x *graph.Array, y error) *graph.Array { assert.NoError(t, y); return x })(one, nil)
			},
		} {
			got, err := f()
			require.NoError(t, err, "Jit%d", i+1)
			values := graphtest.Floats(t, got)
			assert.Equal(t, []float64{1}, values, "Jit%d", i+1)
		}
		values, err := Jit(b, first)(one) // an array in an interface is an argument as any other
		require.NoError(t, err)
		numbers := graphtest.Floats(t, values)
		assert.Equal(t, []float64{2}, numbers)
	}
	m := graph.Mesh{{Name: "i", Size: 1}}
	got, err := ShardMap(client, func(x any) *graph.Array { assert.Nil(t, x); return one }, m, nil, nil)(nil)
	require.NoError(t, err)
	numbers := graphtest.Floats(t, got)
	assert.Equal(t, []float64{1}, numbers)
}

// Without a backend a Jit says so. It was a nil dereference.
func TestJitWithoutBackend(t *testing.T) {
	for _, f := range []func() error{
		func() error { _, err := Jit(nil, func(x *graph.Array) any { return x })(graph.Scalar(1)); return err },
		func() error {
			_, err := Jit2(nil, func(_, x *graph.Array) any { return x })(nil, graph.Scalar(1))
			return err
		},
	} {
		require.EqualError(t, f(), "xlabridge: Jit jit: got no backend: give what Open returns, or a *Reference")
	}
}
