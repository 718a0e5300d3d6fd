package lower

import (
	"strings"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// opsOf counts the ops of a function as a target gets it, those of loops' bodies too.
func opsOf(t *testing.T, target graph.Target, p *graph.Program) map[string]int {
	t.Helper()
	l, err := Lower(p, target)
	require.NoError(t, err)
	all := map[string]int{}
	for _, o := range Ops(l.Graph) {
		all[o.Op] = o.Count
	}
	return all
}

// A scan with a short body takes several steps in an iteration on accelerators, which write their outputs at once.
func TestShortScans(t *testing.T) {
	discounted := func(length int, step func(c, x *graph.Array) *graph.Array) *graph.Program {
		p, err := graph.Trace("discounted", func(x *graph.Array) *graph.Array {
			_, all := graph.Scan(func(c, x *graph.Array) (*graph.Array, *graph.Array) {
				c = step(c, x)
				return c, c
			}, graph.Zeros(graph.ShapeOf(graph.Float32, 3)), x, graph.ReverseScan())
			return all
		}, graph.Abstract(graph.ShapeOf(graph.Float32, length, 3)))
		require.NoError(t, err)
		return p
	}
	once := func(c, x *graph.Array) *graph.Array { return x.Add(c.Mul(.9)) }
	for _, c := range []struct {
		what   string
		length int
		step   func(c, x *graph.Array) *graph.Array
		steps  int // in an iteration
	}{
		{"a divisor of the length", 128, once, 16},
		{"the largest divisor up to 16", 60, once, 15},
		{"a prime number of steps", 127, once, 1},
		{"a carry that is used twice", 128, func(c, x *graph.Array) *graph.Array { return x.Add(c.Mul(c)) }, 1},
		{"a product", 128, func(c, x *graph.Array) *graph.Array {
			return x.Add(graph.Full(graph.ShapeOf(graph.Float32, 3, 3), .1).Dot(c))
		}, 1},
	} {
		p := discounted(c.length, c.step)
		require.Equal(t, c.steps, opsOf(t, graph.TargetCUDA, p)["dynamic_update_slice"]*c.steps, c.what)
		require.GreaterOrEqual(t, opsOf(t, graph.TargetCUDA, p)["add"], c.steps, c.what)
		if c.steps == 1 {
			require.Less(t, opsOf(t, graph.TargetCUDA, p)["add"], 4, c.what)
		}
		require.Equal(t, opsOf(t, graph.TargetCPU, p)["add"], opsOf(t, graph.TargetCPU,
			discounted(127, c.step))["add"], "CPUs")
	}
}

// On a GPU only large donated arguments become results: the others would be copied by kernels of their own.
func TestAliases(t *testing.T) {
	p, err := graph.TraceArgs("step", []any{graph.Abstract(graph.ShapeOf(graph.Float32, 1<<18)),
		graph.Abstract(graph.ShapeOf(graph.Float32, 7))},
		graph.TraceOptions{Donate: []int{0, 1}}, func(in []any) any {
			return []*graph.Array{in[0].(*graph.Array).Add(1), in[1].(*graph.Array).Add(1)}
		})
	require.NoError(t, err)
	require.Len(t, p.Donated, 2)
	for target, aliases := range map[graph.Target]int{graph.TargetCPU: 2, graph.TargetCUDA: 1, graph.TargetTPU: 2} {
		l, err := Lower(p, target)
		require.NoError(t, err)
		require.Equal(t, aliases, strings.Count(l.StableHLO, "tf.aliasing_output"), "%s", target)
		f, err := Memory(p, target)
		require.NoError(t, err)
		require.EqualValues(t, 28*(2-aliases), f.Results, "%s", target)
	}
}
