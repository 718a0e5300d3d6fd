package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForiLoop(t *testing.T) {
	for i, c := range []struct {
		from, to any
		want     float64
	}{
		{0, 5, 10}, {2, 5, 9}, {-3, 0, -6}, {5, 0, 0}, {3, 3, 0}, {Of(2), uint8(5), 9},
		{Of(int64(-3)), Of(int8(0)), -6},
	} {
		sum := func(from, to any) *Array {
			return ForiLoop(from, to, func(i, c *Array) *Array { return Add(c, i) }, Scalar(0, Int32))
		}
		got, err := Float(sum(c.from, c.to))
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%d: bounds known", i+1)
		p, err := Trace("for", func(to *Array) *Array { return sum(c.from, to) }, Abstract(ShapeOf(Int32)))
		require.NoError(t, err)
		end, _ := loopBound("", c.to)
		out, err := p.Interpret([]*Array{Of(int32(end.(int64)))}, nil)
		require.NoError(t, err)
		got, err = Float(out[0])
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%d: bound computed", i+1)
	}
}

func TestForiLoopRefusals(t *testing.T) {
	add := func(i, c *Array) *Array { return Add(c, i) }
	for i, c := range []struct {
		want string
		call func(x *Array) *Array
	}{
		{"got the bound 1.5, want an integer", func(x *Array) *Array { return ForiLoop(0, 1.5, add, x) }},
		{"got the bound i32[2], want an integer scalar", func(x *Array) *Array { return ForiLoop(Iota(2), 3, add, x) }},
		{"want one that fits in an int32", func(x *Array) *Array { return ForiLoop(0, int64(1)<<40, add, x) }},
		{"got options of Scan for a loop whose bounds are computed", func(x *Array) *Array {
			return ForiLoop(0, x, add, x, Unroll(2))
		}},
		{"got at most -1 iterations", func(x *Array) *Array {
			return WhileBounded(func(c *Array) *Array { return Lt(c, 1) }, func(c *Array) *Array { return c }, x, -1)
		}},
		{"the condition returns i32[], want a bool scalar", func(x *Array) *Array {
			return WhileBounded(func(c *Array) *Array { return c }, func(c *Array) *Array { return c }, x, 3)
		}},
		{"goes in as i32[] and comes out as f32[]", func(x *Array) *Array {
			return WhileBounded(func(c *Array) *Array { return Lt(c, 1) }, func(c *Array) *Array { return Sin(c) }, x,
				3)
		}},
	} {
		_, err := Trace("f", c.call, Abstract(ShapeOf(Int32)))
		require.ErrorContains(t, err, c.want, i+1)
	}
}

// A bounded loop has the derivative of its unrolled iterations, whatever the bound, and lanes take as many iterations
// as each needs.
func TestWhileBoundedDerivative(t *testing.T) {
	for _, most := range []int{7, 8, 9, 10, 30} {
		f := func(x *Array) *Array {
			return WhileBounded(func(c *Array) *Array {
				return Lt(c, 100)
			}, func(c *Array) *Array { return Mul(c, x) }, x, most)
		}
		got := floatsOf(t, VMap(Grad(f))(Float32s([]float32{2, 3, 200})))
		require.InDeltaSlice(t, []float64{7 * 64, 5 * 81, 1}, got, 1e-3, most)
	}
}

// What all lanes share is not repeated for each of them.
func TestWhileBoundedSharesConstants(t *testing.T) {
	w := Abstract(ShapeOf(Float32, 200, 200))
	p, err := Trace2("f", func(w, x *Array) *Array {
		return VMap(func(x *Array) *Array {
			return WhileBounded(func(c *Array) *Array {
				return Lt(Sum(c), 100)
			}, func(c *Array) *Array { return Dot(w, c) }, x, 5)
		})(x)
	}, w, Abstract(ShapeOf(Float32, 7, 200)))
	require.NoError(t, err)
	require.NotContains(t, p.Graph.String(), "f32[7,200,200]")
}
