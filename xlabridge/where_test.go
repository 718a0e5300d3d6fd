package xlabridge

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// An error that Jit finds after the user's function has returned also names the user's line.
func TestJitNamesTheUsersLine(t *testing.T) {
	var kept *graph.Array
	_, err := Jit(&Reference{}, func(x *graph.Array) *graph.Array {
		graph.Map(func(y *graph.Array) *graph.Array {
			kept = graph.Sin(y) // line 17
			return y
		}, x)
		return kept
	})(graph.Iota(3))
	require.ErrorContains(t, err, "where_test.go:17: trace: the traced f32[] that is made here is result 0")
	_, err = Jit(&Reference{}, graph.Grad(func(x *graph.Array) *graph.Array { return x }))(
		graph.Float32s([]float32{1, 2}))
	require.ErrorContains(t, err, "where_test.go:23: Grad: the function returns f32[2]")
}

// A panic of the user's own comes out of Jit as it is, with the stack of where it began.
func TestUsersPanicKeepsItsStack(t *testing.T) {
	defer func() {
		stack := string(debug.Stack())
		require.Equal(t, "mine", recover())
		require.Contains(t, stack, "xlabridge.theUsers(")
	}()
	_, _ = Jit(&Reference{}, theUsers)(graph.Iota(3))
}

//go:noinline
func theUsers(*graph.Array) *graph.Array { panic("mine") }
