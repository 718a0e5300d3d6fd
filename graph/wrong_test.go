package graph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Results that once were wrong. Numbers are never given twice.
func TestOnceWrong(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	f := func(v ...float32) *Array { return Float32s(v) }
	logOrZero := func(x *Array) *Array {
		return Cond(Gt(x, 0), func() *Array { return Log(x) }, func() *Array { return Scalar(0) })
	}
	for _, c := range []struct {
		number int
		what   string
		got    func() *Array
		want   []float64
	}{
		{1, "the largest of a NaN and an infinity is NaN", func() *Array { return ReduceMax(f(float32(inf), float32(nan), 1)) }, []float64{nan}},
		{2, "the smallest of a NaN and an infinity is NaN", func() *Array { return ReduceMin(f(float32(nan), float32(-inf))) }, []float64{nan}},
		{3, "Max and Min of a NaN and an infinity are NaN", func() *Array {
			x, y := f(float32(inf), float32(nan)), f(float32(nan), float32(-inf))
			return Stack([]*Array{Max(x, y), Min(x, y)}, 0)
		}, []float64{nan, nan, nan, nan}},
		{4, "a NaN stays one between infinite bounds", func() *Array { return Clamp(-inf, f(float32(nan)), inf) }, []float64{nan}},
		{5, "a running maximum keeps a NaN", func() *Array { return CumMax(f(1, float32(nan), float32(inf), 3), 0) }, []float64{1, nan, nan, nan}},
		{10, "a negative index takes the first branch, a large one the last, under VMap too", func() *Array {
			at := func(i *Array) *Array {
				return Switch(i, func() *Array { return Scalar(10) }, func() *Array { return Scalar(11) }, func() *Array { return Scalar(12) })
			}
			var each []*Array
			for _, i := range []int32{-7, 1, 9} {
				each = append(each, at(Of(i)))
			}
			return Concatenate(0, VMap(at)(Of([]int32{-7, 1, 9})), Stack(each, 0))
		}, []float64{10, 11, 12, 10, 11, 12}},
		{11, "an index that no int32 holds takes the last branch", func() *Array {
			return Switch(Of(int64(1)<<32), func() *Array { return Scalar(10) }, func() *Array { return Scalar(11) })
		}, []float64{11}},
		{12, "the gradient of a mapped Cond takes nothing from the branch not taken", func() *Array {
			return Grad(func(v *Array) *Array { return Sum(VMap(logOrZero)(v)) })(f(0, 1, 2))
		}, []float64{0, 1, .5}},
		{13, "nor does that by a value which all lanes share", func() *Array {
			x := f(0, 1, 2)
			return Grad(func(w *Array) *Array {
				return Sum(VMap(func(x *Array) *Array {
					return Cond(Gt(x, 0), func() *Array { return Mul(w, Log(x)) }, func() *Array { return w })
				})(x))
			})(Scalar(3))
		}, []float64{1 + math.Ln2}},
		{14, "nor inside Scan, with lanes last", func() *Array {
			return Grad(func(v *Array) *Array {
				end, _ := Scan(func(c *Array, _ None) (*Array, None) { return Add(c, VMap(logOrZero, LanesLast())(v)), None{} }, ZerosLike(v), None{}, Length(2))
				return Sum(end)
			})(f(0, 1, 2))
		}, []float64{0, 2, 1}},
		{15, "nor where the loop is mapped", func() *Array {
			return Grad(func(v *Array) *Array {
				return Sum(VMap(func(x *Array) *Array {
					end, _ := Scan(func(c *Array, _ None) (*Array, None) { return Add(c, logOrZero(x)), None{} }, Scalar(0), None{}, Length(2))
					return end
				})(v))
			})(f(0, 1, 2))
		}, []float64{0, 2, 1}},
		{16, "nor of Switch, checkpointed", func() *Array {
			return Grad(func(v *Array) *Array {
				return Sum(VMap(Checkpoint(func(x *Array) *Array {
					return Switch(Convert(x, Int32), func() *Array { return Mul(x, 2) }, func() *Array { return Sqrt(Sub(x, 1)) }, func() *Array { return Log(Sub(x, 1)) })
				}))(v))
			})(f(0, 1.25, 3))
		}, []float64{2, 1, .5}},
		{17, "nor of second derivatives", func() *Array {
			return Hessian(func(v *Array) *Array { return Sum(VMap(logOrZero)(v)) })(f(0, 2))
		}, []float64{0, 0, 0, -.25}},
	} {
		got, err := Floats(c.got())
		require.NoError(t, err, "%d: %s", c.number, c.what)
		require.Len(t, got, len(c.want), "%d: %s", c.number, c.what)
		for i, w := range c.want {
			if math.IsNaN(w) {
				require.True(t, math.IsNaN(got[i]), "%d: %s: %v", c.number, c.what, got)
				continue
			}
			require.InDelta(t, w, got[i], 1e-5, "%d: %s: %v", c.number, c.what, got)
		}
	}
}
