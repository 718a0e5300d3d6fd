package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/stats"
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
		{1, "the largest of a NaN and an infinity is NaN", func() *Array {
			return ReduceMax(f(float32(inf), float32(nan), 1))
		}, []float64{nan}},
		{2, "the smallest of a NaN and an infinity is NaN", func() *Array {
			return ReduceMin(f(float32(nan), float32(-inf)))
		}, []float64{nan}},
		{3, "Max and Min of a NaN and an infinity are NaN", func() *Array {
			x, y := f(float32(inf), float32(nan)), f(float32(nan), float32(-inf))
			return Stack([]*Array{Max(x, y), Min(x, y)}, 0)
		}, []float64{nan, nan, nan, nan}},
		{4, "a NaN stays one between infinite bounds", func() *Array {
			return Clamp(-inf, f(float32(nan)), inf)
		}, []float64{nan}},
		{5, "a running maximum keeps a NaN", func() *Array {
			return CumMax(f(1, float32(nan), float32(inf), 3), 0)
		}, []float64{1, nan, nan, nan}},
		{10, "a negative index takes the first branch, a large one the last, under VMap too", func() *Array {
			at := func(i *Array) *Array {
				return Switch(i, func() *Array {
					return Scalar(10)
				}, func() *Array { return Scalar(11) }, func() *Array { return Scalar(12) })
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
		{14, "nor inside Scan, with batch last", func() *Array {
			return Grad(func(v *Array) *Array {
				end, _ := Scan(func(c *Array, _ None) (*Array, None) {
					return Add(c, VMap(logOrZero, BatchLast())(v)), None{}
				}, ZerosLike(v), None{}, Length(2))
				return Sum(end)
			})(f(0, 1, 2))
		}, []float64{0, 2, 1}},
		{15, "nor where the loop is mapped", func() *Array {
			return Grad(func(v *Array) *Array {
				return Sum(VMap(func(x *Array) *Array {
					end, _ := Scan(func(c *Array, _ None) (*Array, None) {
						return Add(c, logOrZero(x)), None{}
					}, Scalar(0), None{}, Length(2))
					return end
				})(v))
			})(f(0, 1, 2))
		}, []float64{0, 2, 1}},
		{16, "nor of Switch, checkpointed", func() *Array {
			return Grad(func(v *Array) *Array {
				return Sum(VMap(Checkpoint(func(x *Array) *Array {
					return Switch(Convert(x, Int32), func() *Array { return Mul(x, 2) }, func() *Array {
						return Sqrt(Sub(x, 1))
					}, func() *Array { return Log(Sub(x, 1)) })
				}))(v))
			})(f(0, 1.25, 3))
		}, []float64{2, 1, .5}},
		{17, "nor of second derivatives", func() *Array {
			return Hessian(func(v *Array) *Array { return Sum(VMap(logOrZero)(v)) })(f(0, 2))
		}, []float64{0, 0, 0, -.25}},
		{20, "small integers are summed in 32 bits", func() *Array {
			return Stack([]*Array{Convert(Sum(Of([]uint8{200, 200})), Int32),
				Sum(Of([]int16{30000, 30000})),
				Sum(Of([]int8{-100, -100})), Prod(Of([]int8{100, 100})), Prod(Of([]bool{true, true}))}, 0)
		}, []float64{400, 60000, -200, 10000, 1}},
		{21, "sums of 16-bit floats go on after 256", func() *Array {
			return Stack([]*Array{Sum(Ones(ShapeOf(BFloat16, 4096))),
				Index(CumSum(Ones(ShapeOf(BFloat16, 4096)), 0), 4095), Convert(Mean(Ones(ShapeOf(Float16,
					5000))), BFloat16)}, 0)
		}, []float64{4096, 4096, 1}},
		{22, "softmax in 16 bits adds up to 1 within 16 bits", func() *Array {
			return Sub(Sum(Convert(Softmax(Convert(Sin(Iota(257)), BFloat16), 0), Float32)), 1)
		}, []float64{0}},
		{23, "the slope of the cube root at 0 is infinite", func() *Array {
			return Grad(func(x *Array) *Array { return Cbrt(x) })(Scalar(0))
		}, []float64{inf}},
		{24, "NaN is inserted after all numbers, and before or after other NaNs", func() *Array {
			x := f(float32(nan), 2, 0, 4)
			return Stack([]*Array{SearchSorted(f(1, 2, 3), x, false),
				SearchSorted(f(1, 2, 3), x, true),
				SearchSorted(f(1, 2, float32(nan)), x, false), SearchSorted(f(1, 2, float32(nan)), x, true)}, 0)
		}, []float64{3, 1, 0, 3, 3, 2, 0, 3, 2, 1, 0, 2, 3, 2, 0, 2}},
		{25, "the gradient of a convolution without windows is zero", func() *Array {
			return Grad(func(w *Array) *Array {
				return Sum(Conv(Ones(ShapeOf(Float32, 1, 2, 1)), w))
			})(Ones(ShapeOf(Float32, 5, 1, 1)))
		}, []float64{0, 0, 0, 0, 0}},
		{26, "nothing is taken from an empty array", func() *Array { return Take(Float32s(nil), Int32s(nil), 0) }, nil},
		{27, "the logarithm of no exponentials is -Inf", func() *Array {
			return LogSumExp(Float32s(nil))
		}, []float64{-inf}},
		{29, "means of 16-bit floats do not overflow", func() *Array {
			x := Concatenate(0, Full(ShapeOf(Float16, 3000), 200), Full(ShapeOf(Float16, 3000), 300))
			return Stack([]*Array{Mean(x), Variance(x), Std(x)}, 0)
		}, []float64{250, 2500, 50}},
		{28, "a Go float makes a float32, which promotes nothing", func() *Array {
			if d := Add(Of(2.5), Scalar(1)).DType(); d != Float32 {
				return Scalar(0)
			}
			return Of([]float64{2.5})
		}, []float64{2.5}},
		{100, "nor of WhileBounded, whose derivative is mapped, for lanes that never enter", func() *Array {
			var all []*Array
			for _, n := range []int{1, 3, 12} {
				all = append(all, Grad(func(v *Array) *Array {
					return Sum(VMap(func(x *Array) *Array {
						return WhileBounded(func(c *Array) *Array { return Gt(c, 1) },
							func(c *Array) *Array { return Sqrt(Sub(c, .5)) }, x, n)
					})(v))
				})(f(1.25, .3)))
			}
			return Concatenate(0, all...)
		}, []float64{.5773503, 1, .5773503, 1, .5773503, 1}},
		{101, "nor of a branch in a custom derivative", func() *Array {
			g := CustomJvp(func(x *Array) *Array { return x },
				func(x, t *Array) (*Array, *Array) {
					return x, Cond(Gt(x, 0), func() *Array { return Div(t, x) }, func() *Array { return Mul(t, 2) })
				})
			return Grad(func(v *Array) *Array { return Sum(VMap(g)(v)) })(f(0, 4))
		}, []float64{2, .25}},
		{102, "LogAddExp has its second derivatives where its operands are equal", func() *Array {
			return Concatenate(0, Reshape(Hessian(func(v *Array) *Array {
				return LogAddExp(Index(v, 0), Index(v, 1))
			})(f(2, 2)), 4),
				Reshape(Hessian(func(v *Array) *Array { return Index(CumLogSumExp(v, 0), 1) })(f(2, 2)), 4))
		}, []float64{.25, -.25, -.25, .25, .25, -.25, -.25, .25}},
		{103, "LogAddExp of infinities and NaN, and its slopes", func() *Array {
			x, y := f(float32(inf), float32(inf), float32(-inf), float32(-inf), 1, float32(-inf), float32(nan), 0),
				f(float32(inf), 1, 1, float32(-inf), float32(-inf), float32(inf), 0, float32(nan))
			dx, dy := Grads2(func(x, y *Array) *Array { return Sum(Slice(LogAddExp(x, y), []int{0}, []int{6})) })(x, y)
			return Concatenate(0, LogAddExp(x, y), Slice(dx, []int{0}, []int{6}), Slice(dy, []int{0}, []int{6}))
		}, []float64{inf, inf, 1, -inf, 1, inf, nan, nan, .5, 1, 0, .5, 1, 0, .5, 0, 1, .5, 0, 1}},
		{104, "the mixed second derivatives of Pow at exponent 0 are alike", func() *Array {
			return Reshape(Hessian(func(v *Array) *Array { return Pow(Index(v, 0), Index(v, 1)) })(f(2, 0)), 4)
		}, []float64{0, .5, .5, .480453}},
		{105, "Pow and its slopes at base or exponent 0, at infinities, of negative bases", func() *Array {
			x := f(0, 0, 0, float32(inf), float32(-inf), -2, -2, 2)
			y := f(0, 2, 1, 0, 0, 0, 3, 0)
			dx, _ := Grads2(func(x, y *Array) *Array { return Sum(Pow(x, y)) })(x, y)
			_, dy := Grads2(func(x, y *Array) *Array {
				return Sum(Pow(Slice(x, []int{0}, []int{3}), Slice(y, []int{0}, []int{3})))
			})(x, y)
			return Concatenate(0, Pow(x, y), dx, dy)
		}, []float64{1, 0, 0, 1, 1, 1, -8, 1, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{106, "the slope of Clamp goes to what it gives: hi where lo is larger, nobody where one is NaN",
			func() *Array {
				lo := f(2, 2, 2, float32(nan), 0, 0, 0, 0, 0, 0, float32(nan))
				x := f(1, -1, 3, 1, 1, float32(nan), 0, 1, -1, 2, 3)
				hi := f(0, 0, 0, 3, float32(nan), 1, 1, 1, 1, 1, 1)
				return Concatenate(0, Grad(func(v []*Array) *Array {
					return Sum(Clamp(v[0], v[1], v[2]))
				})([]*Array{lo, x, hi})...)
			}, []float64{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1,
				0}},
		{107, "products of empty matrices with batch last", func() *Array {
			empty := VMap(func(x *Array) *Array {
				return MatMul(x, Transpose(x))
			}, BatchLast())(Zeros(ShapeOf(Float32, 2, 0, 3)))
			none := VMap(func(x *Array) *Array {
				return MatMul(x, Transpose(x))
			}, BatchLast())(Zeros(ShapeOf(Float32, 2, 3, 0)))
			return Concatenate(0, Reshape(empty, 0), Sum(none, 1, 2))
		}, []float64{0, 0}},
		{108, "the angle of a point of integers", func() *Array {
			return Atan2(Int32s([]int32{1, -1}), Int32s([]int32{2, 0}))
		}, []float64{.4636476, -math.Pi / 2}},
		{109, "integers by 0 leave themselves, and are whole", func() *Array {
			x := Int32s([]int32{7, -7})
			return Concatenate(0, Mod(x, 0), Rem(x, 0), Floor(x), Trunc(x))
		}, []float64{7, -7, 7, -7, 7, -7, 7, -7}},
		{110, "NanMedian beside infinities", func() *Array {
			p, m := float32(inf), float32(-inf)
			x := f(1, p, p, m, m, 1, p, float32(nan), float32(nan), 1, 2, p)
			return Concatenate(0, stats.NanMedian(Reshape(x, 4, 3), 1),
				Reshape(stats.NanQuantile(f(1, 2, p, p), .5, 0), 1),
				Reshape(stats.NanQuantile(f(m, p, float32(nan)), .5, 0), 1))
		}, []float64{inf, -inf, inf, 2, inf, nan}},
		{111, "NanMedian of more elements than the dtype counts", func() *Array {
			half := Convert(Ge(Iota(1031), 516), BFloat16)
			return Convert(
				Stack([]*Array{stats.NanMedian(half, 0),
					Convert(stats.NanMedian(Ones(ShapeOf(Float16, 70000)), 0), BFloat16)}, 0),
				Float32)
		}, []float64{0, 1}},
		{112, "NanVariance and NanStd of infinities are NaN, as Variance is", func() *Array {
			p := float32(inf)
			x := f(p, -p, 1, p, 1, float32(nan), float32(nan), 1, 3)
			return Concatenate(0, stats.NanVariance(Reshape(x, 3, 3), 1), stats.NanStd(Reshape(x, 3, 3), 1))
		}, []float64{nan, nan, 1, nan, nan, 1}},
		{113, "NanMean and NanVariance of more elements than float16 counts, of sums that it does not hold",
			func() *Array {
				x := Concatenate(0, Full(ShapeOf(Float16, 35000), 192),
					Full(ShapeOf(Float16, 35000), 320),
					Full(ShapeOf(Float16, 1), nan))
				return Stack([]*Array{stats.NanMean(x), stats.NanVariance(x), stats.NanStd(x)}, 0)
			}, []float64{256, 4096, 64}},
		{114, "where all are NaN the derivative of NanVariance is 0", func() *Array {
			return Grad(func(x *Array) *Array {
				return Sum(stats.NanVariance(x, 1))
			})(Reshape(f(float32(nan), float32(nan), 1, 3), 2, 2))
		}, []float64{0, 0, -1, 1}},
		{115, "an axis of size 0 makes any sizes beside it no elements", func() *Array {
			return Zeros(ShapeOf(Float32, 1<<62, 4, 0))
		}, nil},
	} {
		got := graphtest.Floats(t, c.got())
		require.Len(t, got, len(c.want), "%d: %s", c.number, c.what)
		for i, w := range c.want {
			if math.IsNaN(w) {
				require.True(t, math.IsNaN(got[i]), "%d: %s: %v", c.number, c.what, got)
				continue
			}
			if w == got[i] {
				continue
			}
			tol := 1e-5
			if c.number == 22 {
				tol = 2e-3 // half a unit in the last place of bfloat16 near 1
			}
			require.InDelta(t, w, got[i], tol, "%d: %s: %v", c.number, c.what, got)
		}
	}
}

// What a branch would give where it is not taken reaches no lane, in whichever order a function with branches is
// mapped, differentiated forward and transposed: the gradients equal those of the lanes one by one.
func TestBranchesNotTaken(t *testing.T) {
	type fn = func(x *Array) *Array
	root := func(x *Array) *Array { return Sqrt(Sub(x, .5)) }
	cond := func(x *Array) *Array {
		return Cond(Gt(x, .5), func() *Array { return root(x) }, func() *Array { return Mul(x, x) })
	}
	positive := func(x *Array) *Array { return Gt(x, 1) }
	for name, f := range map[string]fn{
		"cond": cond,
		"switch": func(x *Array) *Array {
			return Switch(Convert(x, Int32), func() *Array { return Sin(x) },
				func() *Array { return Log(Sub(x, 1)) },
				func() *Array { return Div(x, Sub(x, 1)) })
		},
		"nested": func(x *Array) *Array {
			return Cond(positive(x), func() *Array {
				return Cond(Gt(x, 2), func() *Array { return Log(Sub(x, 2)) }, func() *Array { return root(x) })
			}, func() *Array { return Cos(x) })
		},
		"while bounded": func(x *Array) *Array { return WhileBounded(positive, root, x, 5) },
		"loop": func(x *Array) *Array {
			return ForiLoop(0, 3, func(i, c *Array) *Array { return Add(c, cond(x)) }, x)
		},
		"scan": func(x *Array) *Array {
			end, ys := Scan(func(c *Array, _ None) (*Array, *Array) { return cond(c), Sin(c) }, x, None{}, Length(3))
			return Add(end, Sum(ys))
		},
		"checkpoint": Checkpoint(cond),
		"custom jvp": CustomJvp(cond, func(x, t *Array) (*Array, *Array) {
			return cond(x), Cond(Gt(x, .5), func() *Array {
				return Div(t, Sub(x, .5))
			}, func() *Array { return Mul(Sin(x), t) })
		}),
		"custom vjp": CustomVjp(cond, func(x *Array) (*Array, *Array) { return cond(x), x },
			func(x, ct *Array) *Array {
				return Cond(Gt(x, .5), func() *Array { return Div(ct, Sub(x, .5)) }, func() *Array { return ct })
			}),
	} {
		t.Run(name, func(t *testing.T) {
			x, w := Float32s([]float32{.25, .5, 1, 2, 3}), Float32s([]float32{1, 2, 3, 4, 5})
			type weighted = func(x, w *Array) *Array
			along := func(x, t *Array) *Array { _, d := Jvp(f, x, t); return d }
			for _, order := range []struct {
				name          string
				mapped, alone weighted
			}{
				{"mapped, then transposed", func(x, w *Array) *Array {
					return Sum(Mul(w, VMap(f)(x)))
				}, func(x, w *Array) *Array { return Mul(w, f(x)) }},
				{"forward, mapped, then transposed", func(x, w *Array) *Array {
					return Sum(VMap2(along)(x, w))
				}, along},
				{"mapped, forward, then transposed", func(x, w *Array) *Array {
					_, d := Jvp(VMap(f), x, w)
					return Sum(d)
				}, along},
			} {
				if name == "custom vjp" && order.name != "mapped, then transposed" {
					continue // it has no forward mode
				}
				dx, dw := Grads2(order.mapped)(x, w)
				for i := range x.Dim(0) {
					x1, w1 := Grads2(order.alone)(Index(x, i), Index(w, i))
					for by, pair := range [][2]*Array{{x1, Index(dx, i)}, {w1, Index(dw, i)}} {
						want := graphtest.Floats(t, pair[0])
						got := graphtest.Floats(t, pair[1])
						if !math.IsNaN(want[0]) {
							require.InDelta(t, want[0], got[0], 1e-4, "%s, lane %d, by operand %d", order.name, i, by)
						}
					}
				}
			}
		})
	}
}
