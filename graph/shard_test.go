package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ShardMap with collectives is the global computation, and so are its derivatives.
func TestShardMap(t *testing.T) {
	m := Mesh{{"data", 2}, {"model", 3}}
	x := IotaAxis(ShapeOf(Float64, 24), 0)
	x = Reshape(Sin(x), 4, 6)
	for _, c := range []struct {
		name    string
		in, out Spec
		f       func(*Array) *Array
		want    func(*Array) *Array
	}{
		{"elementwise", Spec{"data", "model"}, Spec{"data", "model"}, sin1, sin1},
		{"columns", Spec{"", "model"}, Spec{"", "model"}, sin1, sin1},
		{"row sums", Spec{"data", "model"}, Spec{"data"}, func(v *Array) *Array {
			return PSum(Sum(v, 1), "model")
		}, func(v *Array) *Array { return Sum(v, 1) }},
		{"column means", Spec{"data", "model"}, Spec{"model"}, func(v *Array) *Array {
			return PMean(Mean(v, 0), "data")
		}, func(v *Array) *Array { return Mean(v, 0) }},
		{"total", Spec{"data", "model"}, nil, func(v *Array) *Array {
			return PSum(PSum(Sum(Square(v)), "model"), "data")
		}, func(v *Array) *Array { return Sum(Square(v)) }},
		{"gather", Spec{"", "model"}, Spec{"model"}, func(v *Array) *Array {
			return Transpose(v)
		}, func(v *Array) *Array { return Transpose(v) }},
		{"ring", Spec{"data"}, Spec{"data"}, func(v *Array) *Array {
			return PPermute(v, "data", Ring(2, 1)...)
		}, func(v *Array) *Array {
			return Concatenate(0, SliceAxis(v, 0, 2, 4), SliceAxis(v, 0, 0, 2))
		}},
		{"all to all", Spec{"data"}, Spec{"", "data"}, func(v *Array) *Array { // rows cut -> columns cut
			y := AllToAll(Reshape(v, 2, 2, 3), "data", 1, 0) // [from, rows, 3]
			return Reshape(y, 4, 3)
		}, func(v *Array) *Array { return v }},
		{"ordered sum", Spec{"data"}, nil, func(v *Array) *Array {
			return OrderedPSum(v, "data")
		}, func(v *Array) *Array { return Sum(v, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			compare := func(f, want func(*Array) *Array) {
				t.Helper()
				p, err := Trace2("sharded", func(a, _ *Array) [2]*Array { return [2]*Array{f(a), want(a)} }, x, x)
				require.NoError(t, err)
				require.NoError(t, p.Graph.Verify())
				out, err := p.Interpret([]*Array{x, x}, nil)
				require.NoError(t, err)
				a, err := ToTensor(out[0])
				require.NoError(t, err)
				b, err := ToTensor(out[1])
				require.NoError(t, err)
				near(t, b, a, 1e-12)
			}
			sharded := ShardMap(c.f, m, c.in, c.out)
			compare(sharded, c.want)
			loss := func(f func(*Array) *Array) func(*Array) *Array {
				return Grad(func(v *Array) *Array { y := f(v); return Sum(Mul(y, Add(y, 1))) })
			}
			compare(loss(sharded), loss(c.want))
		})
	}
	_, err := Trace("bad", ShardMap(sin1, m, Spec{"nowhere"}, nil), x)
	require.ErrorContains(t, err, `no axis "nowhere"`)
	_, err = Trace("bad", ShardMap(sin1, Mesh{{"data", 5}}, Spec{"data"}, nil), x)
	require.ErrorContains(t, err, "does not divide")
	_, err = Trace("bad", ShardMap(sin1, m, Spec{"data"}, Spec{"nowhere"}), x)
	require.ErrorContains(t, err, `no axis "nowhere"`)
	for _, twice := range [][2]Spec{{{"data", "data"}, nil}, {{"data"}, {"data", "data"}}} {
		_, err = Trace("bad", ShardMap(sin1, m, twice[0], twice[1]), x)
		require.ErrorContains(t, err, `over mesh axis "data", want each mesh axis once`)
	}
	_, err = Trace("bad", ShardMap(sin1, Mesh{{"data", 2}, {"data", 2}}, Spec{"data"}, nil), x)
	require.ErrorContains(t, err, `has the axis "data" twice`)
	_, err = Trace("bad", func(v *Array) *Array { return PSum(v, "nowhere") }, x)
	require.ErrorContains(t, err, `no axis is named "nowhere"`)
}
