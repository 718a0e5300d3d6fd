package graphtest_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// An op of a function that C calls has the line of that function.
func TestPositionsBelowC(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	var where, want []string
	RegisterCallback("test_position", func(args []*Tensor) {
		for range 3 {
			f := func(x *Array) *Array { return Add(x, Iota(7)) }
			_, err := Trace("f", f, Iota(2))
			_, _, line, _ := runtime.Caller(0)
			where = append(where, err.(*Error).Where)
			want = append(want, fmt.Sprintf("position_xla_test.go:%d", line-2))
		}
	})
	_, err := xlabridge.Jit(client, func(x *Array) *Array {
		Callback("test_position", x)
		return Mul(x, 2)
	})(Float32s([]float32{1}))
	require.NoError(t, err)
	require.Len(t, where, 3)
	require.Equal(t, want, where)
}
