package graph

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// opsOf counts the ops of a function as a target gets it, those of loops' bodies too.
func opsOf(t *testing.T, target Target, p *Program) map[string]int {
	t.Helper()
	l, err := Lower(p, target)
	require.NoError(t, err)
	all := map[string]int{}
	for _, o := range Ops(l.Graph) {
		all[o.Op] = o.Count
	}
	return all
}

// A scan with a short body takes several steps in a turn on accelerators, which write their outputs at once.
func TestShortScans(t *testing.T) {
	discounted := func(length int, step func(c, x *Array) *Array) *Program {
		p, err := Trace("discounted", func(x *Array) *Array {
			_, all := Scan(func(c, x *Array) (*Array, *Array) {
				c = step(c, x)
				return c, c
			}, Zeros(ShapeOf(Float32, 3)), x, ReverseScan())
			return all
		}, Abstract(ShapeOf(Float32, length, 3)))
		require.NoError(t, err)
		return p
	}
	once := func(c, x *Array) *Array { return x.Add(c.Mul(.9)) }
	for _, c := range []struct {
		what   string
		length int
		step   func(c, x *Array) *Array
		steps  int // in a turn
	}{
		{"a divisor of the length", 128, once, 16},
		{"the largest divisor up to 16", 60, once, 15},
		{"a prime number of steps", 127, once, 1},
		{"a carry that is used twice", 128, func(c, x *Array) *Array { return x.Add(c.Mul(c)) }, 1},
		{"a product", 128, func(c, x *Array) *Array { return x.Add(Full(ShapeOf(Float32, 3, 3), .1).Dot(c)) }, 1},
	} {
		p := discounted(c.length, c.step)
		require.Equal(t, c.steps, opsOf(t, TargetCUDA, p)["dynamic_update_slice"]*c.steps, c.what)
		require.GreaterOrEqual(t, opsOf(t, TargetCUDA, p)["add"], c.steps, c.what)
		if c.steps == 1 {
			require.Less(t, opsOf(t, TargetCUDA, p)["add"], 4, c.what)
		}
		require.Equal(t, opsOf(t, TargetCPU, p)["add"], opsOf(t, TargetCPU, discounted(127, c.step))["add"], "CPUs")
	}
}

// On a GPU only large donated arguments become results: the others would be copied by kernels of their own.
func TestAliases(t *testing.T) {
	p, err := TraceArgs("step", []any{Abstract(ShapeOf(Float32, 1<<18)), Abstract(ShapeOf(Float32, 7))},
		TraceOptions{Donate: []int{0, 1}}, func(in []any) any {
			return []*Array{in[0].(*Array).Add(1), in[1].(*Array).Add(1)}
		})
	require.NoError(t, err)
	require.Len(t, p.Donated, 2)
	for target, aliases := range map[Target]int{TargetCPU: 2, TargetCUDA: 1, TargetTPU: 2} {
		l, err := Lower(p, target)
		require.NoError(t, err)
		require.Equal(t, aliases, strings.Count(l.StableHLO, "tf.aliasing_output"), "%s", target)
		f, err := Memory(p, target)
		require.NoError(t, err)
		require.EqualValues(t, 28*(2-aliases), f.Results, "%s", target)
	}
}
