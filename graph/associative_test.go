package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// AssociativeScan is the loop over its elements, for every length, both directions and an operation that does not
// commute.
func TestAssociativeScanIsALoop(t *testing.T) {
	for n := range 20 {
		x := Sin(Reshape(Convert(Iota(4*n), Float32), n, 2, 2))
		for _, reverse := range []bool{false, true} {
			var opts []CumulativeOption
			var scan []ScanOption
			if reverse {
				opts, scan = append(opts, Reversed()), append(scan, ReverseScan())
			}
			got, err := ToTensor(AssociativeScan(Dot, x, opts...))
			require.NoError(t, err)
			_, all := Scan(func(c, x *Array) (*Array, *Array) {
				c = Dot(c, x)
				return c, c
			}, Eye(Float32, 2), x, scan...)
			want, err := ToTensor(all)
			require.NoError(t, err)
			near(t, want, got, 1e-5, n, reverse)
		}
	}
}

// Bools, integers and several leaves of different ranks go through, infinities and NaN stay where they are.
func TestAssociativeScanOfTrees(t *testing.T) {
	type state struct {
		First *Array // bool
		Count *Array // int32
	}
	got := AssociativeScan(func(a, b state) state {
		return state{Or(a.First, b.First), Select(b.First, b.Count, Add(a.Count, b.Count))}
	}, state{Of([]bool{false, false, true, false, false}), Ones(ShapeOf(Int32, 5))})
	v := floatsOf(t, got.Count)
	require.Equal(t, []float64{1, 2, 1, 2, 3}, v)
	x := Log(Float32s([]float32{1, 0, -1, 1})) // 0 -Inf NaN 0
	last := func(a, b *Array) *Array { return b }
	require.Equal(t, x.String(), AssociativeScan(last, x).String())
}

func TestAssociativeScanRefusals(t *testing.T) {
	for i, c := range []struct {
		want string
		call func()
	}{
		{"leaf value is a scalar and has no axis", func() { AssociativeScan(Dot, Scalar(1)) }},
		{"leaf [0] has 2 elements along axis 0, leaf [1] has 3", func() {
			AssociativeScan(func(a, b []*Array) []*Array { return a }, []*Array{Iota(2), Iota(3)})
		}},
		{"is f32[1], of its arguments f32[]", func() {
			AssociativeScan(func(a, b *Array) *Array { return ExpandDims(a, 0) }, Zeros(ShapeOf(Float32, 4)))
		}},
		{"got no arrays", func() { AssociativeScan(func(a, b None) None { return a }, None{}) }},
	} {
		require.ErrorContains(t, Try(c.call), c.want, i+1)
	}
}
