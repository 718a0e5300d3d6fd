package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/stats"
)

// Results that once were wrong. Numbers are never given twice.
func TestOnceWrong(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	f := func(v ...float32) *graph.Array { return graph.Float32s(v) }
	logOrZero := func(x *graph.Array) *graph.Array {
		return graph.Cond(graph.Gt(x, 0), func() *graph.Array { return graph.Log(x) },
			func() *graph.Array { return graph.Scalar(0) })
	}
	for _, c := range []struct {
		number int
		what   string
		got    func() *graph.Array
		want   []float64
	}{
		{1, "the largest of a NaN and an infinity is NaN", func() *graph.Array {
			return graph.ReduceMax(f(float32(inf), float32(nan), 1))
		}, []float64{nan}},
		{2, "the smallest of a NaN and an infinity is NaN", func() *graph.Array {
			return graph.ReduceMin(f(float32(nan), float32(-inf)))
		}, []float64{nan}},
		{3, "Max and Min of a NaN and an infinity are NaN", func() *graph.Array {
			x, y := f(float32(inf), float32(nan)), f(float32(nan), float32(-inf))
			return graph.Stack([]*graph.Array{graph.Max(x, y), graph.Min(x, y)}, 0)
		}, []float64{nan, nan, nan, nan}},
		{4, "a NaN stays one between infinite bounds", func() *graph.Array {
			return graph.Clamp(-inf, f(float32(nan)), inf)
		}, []float64{nan}},
		{5, "a running maximum keeps a NaN", func() *graph.Array {
			return graph.CumMax(f(1, float32(nan), float32(inf), 3), 0)
		}, []float64{1, nan, nan, nan}},
		{10, "a negative index takes the first branch, a large one the last, under VMap too", func() *graph.Array {
			at := func(i *graph.Array) *graph.Array {
				return graph.Switch(i, func() *graph.Array {
					return graph.Scalar(10)
				}, func() *graph.Array { return graph.Scalar(11) }, func() *graph.Array { return graph.Scalar(12) })
			}
			var each []*graph.Array
			for _, i := range []int32{-7, 1, 9} {
				each = append(each, at(graph.Of(i)))
			}
			return graph.Concatenate(0, graph.VMap(at)(graph.Of([]int32{-7, 1, 9})), graph.Stack(each, 0))
		}, []float64{10, 11, 12, 10, 11, 12}},
		{11, "an index that no int32 holds takes the last branch", func() *graph.Array {
			return graph.Switch(graph.Of(int64(1)<<32), func() *graph.Array { return graph.Scalar(10) },
				func() *graph.Array { return graph.Scalar(11) })
		}, []float64{11}},
		{12, "the gradient of a mapped Cond takes nothing from the branch not taken", func() *graph.Array {
			return graph.Grad(func(v *graph.Array) *graph.Array { return graph.Sum(graph.VMap(logOrZero)(v)) })(f(0, 1,
				2))
		}, []float64{0, 1, .5}},
		{13, "nor does that by a value which all lanes share", func() *graph.Array {
			x := f(0, 1, 2)
			return graph.Grad(func(w *graph.Array) *graph.Array {
				return graph.Sum(graph.VMap(func(x *graph.Array) *graph.Array {
					return graph.Cond(graph.Gt(x, 0), func() *graph.Array { return graph.Mul(w, graph.Log(x)) },
						func() *graph.Array { return w })
				})(x))
			})(graph.Scalar(3))
		}, []float64{1 + math.Ln2}},
		{14, "nor inside Scan, with batch last", func() *graph.Array {
			return graph.Grad(func(v *graph.Array) *graph.Array {
				end, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
					return graph.Add(c, graph.VMap(logOrZero, graph.BatchLast())(v)), graph.None{}
				}, graph.ZerosLike(v), graph.None{}, graph.Length(2))
				return graph.Sum(end)
			})(f(0, 1, 2))
		}, []float64{0, 2, 1}},
		{15, "nor where the loop is mapped", func() *graph.Array {
			return graph.Grad(func(v *graph.Array) *graph.Array {
				return graph.Sum(graph.VMap(func(x *graph.Array) *graph.Array {
					end, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
						return graph.Add(c, logOrZero(x)), graph.None{}
					}, graph.Scalar(0), graph.None{}, graph.Length(2))
					return end
				})(v))
			})(f(0, 1, 2))
		}, []float64{0, 2, 1}},
		{16, "nor of Switch, checkpointed", func() *graph.Array {
			return graph.Grad(func(v *graph.Array) *graph.Array {
				return graph.Sum(graph.VMap(graph.Checkpoint(func(x *graph.Array) *graph.Array {
					return graph.Switch(graph.Convert(x, graph.Int32), func() *graph.Array {
						return graph.Mul(x, 2)
					}, func() *graph.Array {
						return graph.Sqrt(graph.Sub(x,
							1))
					}, func() *graph.Array { return graph.Log(graph.Sub(x, 1)) })
				}))(v))
			})(f(0, 1.25, 3))
		}, []float64{2, 1, .5}},
		{17, "nor of second derivatives", func() *graph.Array {
			return graph.Hessian(func(v *graph.Array) *graph.Array { return graph.Sum(graph.VMap(logOrZero)(v)) })(f(0,
				2))
		}, []float64{0, 0, 0, -.25}},
		{20, "small integers are summed in 32 bits", func() *graph.Array {
			return graph.Stack([]*graph.Array{graph.Convert(graph.Sum(graph.Of([]uint8{200, 200})), graph.Int32),
				graph.Sum(graph.Of([]int16{30000, 30000})),
				graph.Sum(graph.Of([]int8{-100, -100})), graph.Prod(graph.Of([]int8{100,
					100})), graph.Prod(graph.Of([]bool{true, true}))}, 0)
		}, []float64{400, 60000, -200, 10000, 1}},
		{21, "sums of 16-bit floats go on after 256", func() *graph.Array {
			return graph.Stack([]*graph.Array{graph.Sum(graph.Ones(graph.ShapeOf(graph.BFloat16, 4096))),
				graph.Index(graph.CumSum(graph.Ones(graph.ShapeOf(graph.BFloat16, 4096)), 0),
					4095), graph.Convert(graph.Mean(graph.Ones(graph.ShapeOf(graph.Float16,
					5000))), graph.BFloat16)}, 0)
		}, []float64{4096, 4096, 1}},
		{22, "softmax in 16 bits adds up to 1 within 16 bits", func() *graph.Array {
			return graph.Sub(graph.Sum(graph.Convert(graph.Softmax(graph.Convert(graph.Sin(graph.Iota(257)),
				graph.BFloat16), 0), graph.Float32)), 1)
		}, []float64{0}},
		{23, "the slope of the cube root at 0 is infinite", func() *graph.Array {
			return graph.Grad(func(x *graph.Array) *graph.Array { return graph.Cbrt(x) })(graph.Scalar(0))
		}, []float64{inf}},
		{24, "NaN is inserted after all numbers, and before or after other NaNs", func() *graph.Array {
			x := f(float32(nan), 2, 0, 4)
			return graph.Stack([]*graph.Array{graph.SearchSorted(f(1, 2, 3), x, false),
				graph.SearchSorted(f(1, 2, 3), x, true),
				graph.SearchSorted(f(1, 2, float32(nan)), x, false), graph.SearchSorted(f(1, 2, float32(nan)), x,
					true)}, 0)
		}, []float64{3, 1, 0, 3, 3, 2, 0, 3, 2, 1, 0, 2, 3, 2, 0, 2}},
		{25, "the gradient of a convolution without windows is zero", func() *graph.Array {
			return graph.Grad(func(w *graph.Array) *graph.Array {
				return graph.Sum(graph.Conv(graph.Ones(graph.ShapeOf(graph.Float32, 1, 2, 1)), w))
			})(graph.Ones(graph.ShapeOf(graph.Float32, 5, 1, 1)))
		}, []float64{0, 0, 0, 0, 0}},
		{26, "nothing is taken from an empty array",
			func() *graph.Array { return graph.Take(graph.Float32s(nil), graph.Int32s(nil), 0) }, nil},
		{27, "the logarithm of no exponentials is -Inf", func() *graph.Array {
			return graph.LogSumExp(graph.Float32s(nil))
		}, []float64{-inf}},
		{29, "means of 16-bit floats do not overflow", func() *graph.Array {
			x := graph.Concatenate(0, graph.Full(graph.ShapeOf(graph.Float16, 3000), 200),
				graph.Full(graph.ShapeOf(graph.Float16, 3000), 300))
			return graph.Stack([]*graph.Array{graph.Mean(x), graph.Variance(x), graph.Std(x)}, 0)
		}, []float64{250, 2500, 50}},
		{28, "a Go float makes a float32, which promotes nothing", func() *graph.Array {
			if d := graph.Add(graph.Of(2.5), graph.Scalar(1)).DType(); d != graph.Float32 {
				return graph.Scalar(0)
			}
			return graph.Of([]float64{2.5})
		}, []float64{2.5}},
		{100, "nor of WhileBounded, whose derivative is mapped, for lanes that never enter", func() *graph.Array {
			var all []*graph.Array
			for _, n := range []int{1, 3, 12} {
				all = append(all, graph.Grad(func(v *graph.Array) *graph.Array {
					return graph.Sum(graph.VMap(func(x *graph.Array) *graph.Array {
						return graph.WhileBounded(func(c *graph.Array) *graph.Array { return graph.Gt(c, 1) },
							func(c *graph.Array) *graph.Array { return graph.Sqrt(graph.Sub(c, .5)) }, x, n)
					})(v))
				})(f(1.25, .3)))
			}
			return graph.Concatenate(0, all...)
		}, []float64{.5773503, 1, .5773503, 1, .5773503, 1}},
		{101, "nor of a branch in a custom derivative", func() *graph.Array {
			g := graph.CustomJvp(func(x *graph.Array) *graph.Array { return x },
				func(x, t *graph.Array) (*graph.Array, *graph.Array) {
					return x, graph.Cond(graph.Gt(x, 0), func() *graph.Array { return graph.Div(t, x) },
						func() *graph.Array { return graph.Mul(t, 2) })
				})
			return graph.Grad(func(v *graph.Array) *graph.Array { return graph.Sum(graph.VMap(g)(v)) })(f(0, 4))
		}, []float64{2, .25}},
		{102, "LogAddExp has its second derivatives where its operands are equal", func() *graph.Array {
			return graph.Concatenate(0, graph.Reshape(graph.Hessian(func(v *graph.Array) *graph.Array {
				return graph.LogAddExp(graph.Index(v, 0), graph.Index(v, 1))
			})(f(2, 2)), 4),
				graph.Reshape(graph.Hessian(func(v *graph.Array) *graph.Array {
					return graph.Index(graph.CumLogSumExp(v,
						0), 1)
				})(f(2, 2)), 4))
		}, []float64{.25, -.25, -.25, .25, .25, -.25, -.25, .25}},
		{103, "LogAddExp of infinities and NaN, and its slopes", func() *graph.Array {
			x, y := f(float32(inf), float32(inf), float32(-inf), float32(-inf), 1, float32(-inf), float32(nan), 0),
				f(float32(inf), 1, 1, float32(-inf), float32(-inf), float32(inf), 0, float32(nan))
			dx, dy := graph.Grads2(func(x, y *graph.Array) *graph.Array {
				return graph.Sum(graph.Slice(graph.LogAddExp(x, y), []int{0}, []int{6}))
			})(x, y)
			return graph.Concatenate(0, graph.LogAddExp(x, y), graph.Slice(dx, []int{0}, []int{6}),
				graph.Slice(dy, []int{0}, []int{6}))
		}, []float64{inf, inf, 1, -inf, 1, inf, nan, nan, .5, 1, 0, .5, 1, 0, .5, 0, 1, .5, 0, 1}},
		{104, "the mixed second derivatives of Pow at exponent 0 are alike", func() *graph.Array {
			return graph.Reshape(graph.Hessian(func(v *graph.Array) *graph.Array {
				return graph.Pow(graph.Index(v, 0),
					graph.Index(v, 1))
			})(f(2, 0)), 4)
		}, []float64{0, .5, .5, .480453}},
		{105, "Pow and its slopes at base or exponent 0, at infinities, of negative bases", func() *graph.Array {
			x := f(0, 0, 0, float32(inf), float32(-inf), -2, -2, 2)
			y := f(0, 2, 1, 0, 0, 0, 3, 0)
			dx, _ := graph.Grads2(func(x, y *graph.Array) *graph.Array { return graph.Sum(graph.Pow(x, y)) })(x, y)
			_, dy := graph.Grads2(func(x, y *graph.Array) *graph.Array {
				return graph.Sum(graph.Pow(graph.Slice(x, []int{0}, []int{3}), graph.Slice(y, []int{0}, []int{3})))
			})(x, y)
			return graph.Concatenate(0, graph.Pow(x, y), dx, dy)
		}, []float64{1, 0, 0, 1, 1, 1, -8, 1, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{106, "the slope of Clamp goes to what it gives: hi where lo is larger, nobody where one is NaN",
			func() *graph.Array {
				lo := f(2, 2, 2, float32(nan), 0, 0, 0, 0, 0, 0, float32(nan))
				x := f(1, -1, 3, 1, 1, float32(nan), 0, 1, -1, 2, 3)
				hi := f(0, 0, 0, 3, float32(nan), 1, 1, 1, 1, 1, 1)
				return graph.Concatenate(0, graph.Grad(func(v []*graph.Array) *graph.Array {
					return graph.Sum(graph.Clamp(v[0], v[1], v[2]))
				})([]*graph.Array{lo, x, hi})...)
			}, []float64{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1,
				0}},
		{107, "products of empty matrices with batch last", func() *graph.Array {
			empty := graph.VMap(func(x *graph.Array) *graph.Array {
				return graph.MatMul(x, graph.Transpose(x))
			}, graph.BatchLast())(graph.Zeros(graph.ShapeOf(graph.Float32, 2, 0, 3)))
			none := graph.VMap(func(x *graph.Array) *graph.Array {
				return graph.MatMul(x, graph.Transpose(x))
			}, graph.BatchLast())(graph.Zeros(graph.ShapeOf(graph.Float32, 2, 3, 0)))
			return graph.Concatenate(0, graph.Reshape(empty, 0), graph.Sum(none, 1, 2))
		}, []float64{0, 0}},
		{108, "the angle of a point of integers", func() *graph.Array {
			return graph.Atan2(graph.Int32s([]int32{1, -1}), graph.Int32s([]int32{2, 0}))
		}, []float64{.4636476, -math.Pi / 2}},
		{109, "integers by 0 leave themselves, and are whole", func() *graph.Array {
			x := graph.Int32s([]int32{7, -7})
			return graph.Concatenate(0, graph.Mod(x, 0), graph.Rem(x, 0), graph.Floor(x), graph.Trunc(x))
		}, []float64{7, -7, 7, -7, 7, -7, 7, -7}},
		{110, "NanMedian beside infinities", func() *graph.Array {
			p, m := float32(inf), float32(-inf)
			x := f(1, p, p, m, m, 1, p, float32(nan), float32(nan), 1, 2, p)
			return graph.Concatenate(0, stats.NanMedian(graph.Reshape(x, 4, 3), 1),
				graph.Reshape(stats.NanQuantile(f(1, 2, p, p), .5, 0), 1),
				graph.Reshape(stats.NanQuantile(f(m, p, float32(nan)), .5, 0), 1))
		}, []float64{inf, -inf, inf, 2, inf, nan}},
		{111, "NanMedian of more elements than the dtype counts", func() *graph.Array {
			half := graph.Convert(graph.Ge(graph.Iota(1031), 516), graph.BFloat16)
			return graph.Convert(
				graph.Stack([]*graph.Array{stats.NanMedian(half, 0),
					graph.Convert(stats.NanMedian(graph.Ones(graph.ShapeOf(graph.Float16, 70000)), 0),
						graph.BFloat16)}, 0),
				graph.Float32)
		}, []float64{0, 1}},
		{112, "NanVariance and NanStd of infinities are NaN, as Variance is", func() *graph.Array {
			p := float32(inf)
			x := f(p, -p, 1, p, 1, float32(nan), float32(nan), 1, 3)
			return graph.Concatenate(0, stats.NanVariance(graph.Reshape(x, 3, 3), 1),
				stats.NanStd(graph.Reshape(x, 3, 3), 1))
		}, []float64{nan, nan, 1, nan, nan, 1}},
		{113, "NanMean and NanVariance of more elements than float16 counts, of sums that it does not hold",
			func() *graph.Array {
				x := graph.Concatenate(0, graph.Full(graph.ShapeOf(graph.Float16, 35000), 192),
					graph.Full(graph.ShapeOf(graph.Float16, 35000), 320),
					graph.Full(graph.ShapeOf(graph.Float16, 1), nan))
				return graph.Stack([]*graph.Array{stats.NanMean(x), stats.NanVariance(x), stats.NanStd(x)}, 0)
			}, []float64{256, 4096, 64}},
		{114, "where all are NaN the derivative of NanVariance is 0", func() *graph.Array {
			return graph.Grad(func(x *graph.Array) *graph.Array {
				return graph.Sum(stats.NanVariance(x, 1))
			})(graph.Reshape(f(float32(nan), float32(nan), 1, 3), 2, 2))
		}, []float64{0, 0, -1, 1}},
		{115, "an axis of size 0 makes any sizes beside it no elements", func() *graph.Array {
			return graph.Zeros(graph.ShapeOf(graph.Float32, 1<<62, 4, 0))
		}, nil},
	} {
		got, err := graph.Floats(c.got())
		require.NoError(t, err, "%d: %s", c.number, c.what)
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
	type fn = func(x *graph.Array) *graph.Array
	root := func(x *graph.Array) *graph.Array { return graph.Sqrt(graph.Sub(x, .5)) }
	cond := func(x *graph.Array) *graph.Array {
		return graph.Cond(graph.Gt(x, .5), func() *graph.Array { return root(x) },
			func() *graph.Array { return graph.Mul(x, x) })
	}
	positive := func(x *graph.Array) *graph.Array { return graph.Gt(x, 1) }
	for name, f := range map[string]fn{
		"cond": cond,
		"switch": func(x *graph.Array) *graph.Array {
			return graph.Switch(graph.Convert(x, graph.Int32), func() *graph.Array { return graph.Sin(x) },
				func() *graph.Array { return graph.Log(graph.Sub(x, 1)) },
				func() *graph.Array { return graph.Div(x, graph.Sub(x, 1)) })
		},
		"nested": func(x *graph.Array) *graph.Array {
			return graph.Cond(positive(x), func() *graph.Array {
				return graph.Cond(graph.Gt(x, 2), func() *graph.Array { return graph.Log(graph.Sub(x, 2)) },
					func() *graph.Array { return root(x) })
			}, func() *graph.Array { return graph.Cos(x) })
		},
		"while bounded": func(x *graph.Array) *graph.Array { return graph.WhileBounded(positive, root, x, 5) },
		"loop": func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 3, func(i, c *graph.Array) *graph.Array { return graph.Add(c, cond(x)) }, x)
		},
		"scan": func(x *graph.Array) *graph.Array {
			end, ys := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, *graph.Array) {
				return cond(c),
					graph.Sin(c)
			}, x, graph.None{}, graph.Length(3))
			return graph.Add(end, graph.Sum(ys))
		},
		"checkpoint": graph.Checkpoint(cond),
		"custom jvp": graph.CustomJvp(cond, func(x, t *graph.Array) (*graph.Array, *graph.Array) {
			return cond(x), graph.Cond(graph.Gt(x, .5), func() *graph.Array {
				return graph.Div(t, graph.Sub(x, .5))
			}, func() *graph.Array { return graph.Mul(graph.Sin(x), t) })
		}),
		"custom vjp": graph.CustomVjp(cond, func(x *graph.Array) (*graph.Array, *graph.Array) { return cond(x), x },
			func(x, ct *graph.Array) *graph.Array {
				return graph.Cond(graph.Gt(x, .5), func() *graph.Array { return graph.Div(ct, graph.Sub(x, .5)) },
					func() *graph.Array { return ct })
			}),
	} {
		t.Run(name, func(t *testing.T) {
			x, w := graph.Float32s([]float32{.25, .5, 1, 2, 3}), graph.Float32s([]float32{1, 2, 3, 4, 5})
			type weighted = func(x, w *graph.Array) *graph.Array
			along := func(x, t *graph.Array) *graph.Array { _, d := graph.Jvp(f, x, t); return d }
			for _, order := range []struct {
				name          string
				mapped, alone weighted
			}{
				{"mapped, then transposed", func(x, w *graph.Array) *graph.Array {
					return graph.Sum(graph.Mul(w, graph.VMap(f)(x)))
				}, func(x, w *graph.Array) *graph.Array { return graph.Mul(w, f(x)) }},
				{"forward, mapped, then transposed", func(x, w *graph.Array) *graph.Array {
					return graph.Sum(graph.VMap2(along)(x, w))
				}, along},
				{"mapped, forward, then transposed", func(x, w *graph.Array) *graph.Array {
					_, d := graph.Jvp(graph.VMap(f), x, w)
					return graph.Sum(d)
				}, along},
			} {
				if name == "custom vjp" && order.name != "mapped, then transposed" {
					continue // it has no forward mode
				}
				dx, dw := graph.Grads2(order.mapped)(x, w)
				for i := range x.Dim(0) {
					x1, w1 := graph.Grads2(order.alone)(graph.Index(x, i), graph.Index(w, i))
					for by, pair := range [][2]*graph.Array{{x1, graph.Index(dx, i)}, {w1, graph.Index(dw, i)}} {
						want, err := graph.Floats(pair[0])
						require.NoError(t, err)
						got, err := graph.Floats(pair[1])
						require.NoError(t, err)
						if !math.IsNaN(want[0]) {
							require.InDelta(t, want[0], got[0], 1e-4, "%s, lane %d, by operand %d", order.name, i, by)
						}
					}
				}
			}
		})
	}
}
