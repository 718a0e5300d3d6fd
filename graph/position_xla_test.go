package graph_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// An op of a function that C calls has the line of that function.
func TestPositionsBelowC(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	var where, want []string
	graph.RegisterCallback("test_position", func(args []*graph.Tensor) {
		for range 3 {
			f := func(x *graph.Array) *graph.Array { return graph.Add(x, graph.Iota(7)) }
			_, err := graph.Trace("f", f, graph.Iota(2))
			_, _, line, _ := runtime.Caller(0)
			where = append(where, err.(*graph.Error).Where)
			want = append(want, fmt.Sprintf("position_xla_test.go:%d", line-2))
		}
	})
	_, err := xlabridge.Jit(client, func(x *graph.Array) *graph.Array {
		graph.Callback("test_position", x)
		return graph.Mul(x, 2)
	})(graph.Float32s([]float32{1}))
	require.NoError(t, err)
	require.Len(t, where, 3)
	require.Equal(t, want, where)
}
