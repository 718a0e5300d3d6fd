package graphtest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/fft"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/graph/signal"
	"xlarun/graph/special"
	"xlarun/graph/stats"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// functionCase is one call of a JAX function: third_party/oracles/calls.py says what the fields hold.
type functionCase struct {
	Op                                  string
	Attrs                               functionAttrs
	Inputs, Outputs, Weights, Gradients []oracles.Array
	Tol                                 float64
}

type functionAttrs struct {
	N, Axis, Fill  int
	Reverse, Right bool
	Axes, Dims     []int
	Q, RCond, DDof float64
	Values         []float64
	Mode           string
}

type affine struct{ A, B *Array }

func (f affine) then(g affine) affine {
	return affine{Mul(g.A, f.A), Add(Mul(g.A, f.B), g.B)}
}

type list = []*Array

// call calls a function of arrays, of axes, of segments, of a Fourier transform, or of the attributes.
func (a functionAttrs) call(f any, x list) list {
	switch f := f.(type) {
	case func(any) *Array:
		return list{f(x[0])}
	case func(x, y any) *Array:
		return list{f(x[0], x[1])}
	case func(*Array) *Array:
		return list{f(x[0])}
	case func(x, y *Array) *Array:
		return list{f(x[0], x[1])}
	case func(x *Array, axes ...int) *Array:
		return list{f(x[0], a.Axes...)}
	case func(x, ids *Array, segments int) *Array:
		return list{f(x[0], x[1], a.N)}
	case func(fft.Fourier, *Array) *Array:
		return list{f(fft.Fourier{Axes: a.Axes, Length: a.Dims, Norm: a.Mode}, x[0])}
	case func(n int, d float64) *Array:
		return list{f(a.N, a.Q)}
	case func(functionAttrs, list) *Array:
		return list{f(a, x)}
	}
	return f.(func(functionAttrs, list) list)(a, x)
}

func (a functionAttrs) direction() []CumulativeOption {
	if a.Reverse {
		return []CumulativeOption{Reversed()}
	}
	return nil
}

// functions names ours for each of JAX's.
var functions = map[string]any{
	"segment_sum": SegmentSum, "segment_max": SegmentMax, "segment_min": SegmentMin, "segment_prod": SegmentProd,
	"associative_scan affine": func(a functionAttrs, x list) *Array {
		return AssociativeScan(affine.then, affine{x[0], x[1]}, a.direction()...).B
	},
	"associative_scan matmul": func(a functionAttrs, x list) *Array {
		return AssociativeScan(Dot, x[0], a.direction()...)
	},
	"associative_scan max": func(a functionAttrs, x list) *Array {
		return AssociativeScan(func(a, b *Array) *Array { return Max(a, b) }, x[0])
	},
	"fori_loop": func(a functionAttrs, x list) *Array {
		return ForiLoop(0, a.N, func(i, c *Array) *Array {
			return Add(Mul(Sin(c), x[0]), Mul(Convert(i, Float32), .1))
		}, x[0])
	},
	"nansum": stats.NanSum, "nanprod": stats.NanProd, "nanmax": stats.NanMax, "nanmin": stats.NanMin,
	"nanmean": stats.NanMean, "nanvar": stats.NanVariance, "nanstd": stats.NanStd,
	"nanquantile":     func(a functionAttrs, x list) *Array { return stats.NanQuantile(x[0], a.Q, a.Axis) },
	"nanargmax":       func(a functionAttrs, x list) *Array { return stats.NanArgMax(x[0], a.Axis) },
	"nanargmin":       func(a functionAttrs, x list) *Array { return stats.NanArgMin(x[0], a.Axis) },
	"nan_to_num":      func(a functionAttrs, x list) *Array { return NanToNum(x[0], a.Values...) },
	"bincount":        func(a functionAttrs, x list) *Array { return stats.Bincount(x[0], a.N, x[1:]...) },
	"digitize":        func(a functionAttrs, x list) *Array { return stats.Digitize(x[0], x[1], a.Right) },
	"histogram edges": func(a functionAttrs, x list) *Array { return stats.HistogramOf(x[0], x[1]) },
	"histogram": func(a functionAttrs, x list) list {
		counts, edges := stats.Histogram(x[0], a.N, ReduceMin(x[0]), ReduceMax(x[0]))
		return list{Convert(counts, Float32), edges} // JAX counts in x's dtype
	},
	"unique": func(a functionAttrs, x list) list {
		u := Unique(x[0], a.N)
		return list{u.Values, u.Indices, u.Inverse, u.Counts}
	},
	"unique fill":   func(a functionAttrs, x list) *Array { return Unique(x[0], a.N, a.Fill).Values },
	"nonzero":       func(a functionAttrs, x list) list { return Nonzero(x[0], a.N, a.Fill) },
	"unravel_index": func(a functionAttrs, x list) list { return UnravelIndex(x[0], a.Dims...) },
	"tensordot":     func(a functionAttrs, x list) *Array { return Tensordot(x[0], x[1], a.N) },
	"kron":          Kron,
	"meshgrid": func(a functionAttrs, x list) list {
		if a.Mode == "ij" {
			return MeshgridIJ(x...)
		}
		return Meshgrid(x...)
	},
	"convolve":   func(a functionAttrs, x list) *Array { return signal.Convolve(x[0], x[1], a.Mode) },
	"percentile": func(a functionAttrs, x list) *Array { return stats.Percentile(x[0], a.Q, a.Axis) },
	"isclose":    func(a functionAttrs, x list) *Array { return IsClose(x[0], x[1], 1e-5, 1e-8) },
	"allclose":   func(a functionAttrs, x list) *Array { return AllClose(x[0], x[1], 1e-5, 1e-8) },
	"xlogy":      special.XLogY,
	"xlog1py":    special.XLog1pY,
	"expm":       linalg.Expm,
	"lstsq": func(a functionAttrs, x list) list {
		var rcond []float64
		if a.RCond > 0 {
			s := linalg.Lstsq(x[0], x[1], a.RCond)
			return list{s.X, s.Rank}
		}
		s := linalg.Lstsq(x[0], x[1], rcond...)
		return list{s.X, s.Rank, s.Singular}
	},
	"lstsq x": func(a functionAttrs, x list) *Array { return linalg.Lstsq(x[0], x[1]).X },
}

func fromOracles(in []oracles.Array) list {
	out := list{}
	for _, a := range in {
		out = append(out, graphtest.FromOracle(a))
	}
	return out
}

// Every vector of composed functions from JAX, with gradients, on the reference interpreter and on XLA.
func TestFunctionsAgainstJAX(t *testing.T) {
	checkCalls(t, "../testdata/jax_functions.json.gz", 120, functions)
}

// likeOthers are functions that are another one with some words around it. Only the long form compiles them.
var likeOthers = []string{"lstsq x", "histogram edges", "unique fill", "polyfit", "gammaincc"}

// checkCalls compares the calls of a file with ours, by the functions that have their names: on XLA, in the short form,
// one call of every second function, without likeOthers. Several calls are one program. TestTableAgainstXLA compiles
// the ops that they consist of.
func checkCalls(t *testing.T, file string, least int, functions map[string]any) {
	t.Helper()
	var doc struct{ Cases []functionCase }
	require.NoError(t, oracles.Read(file, &doc))
	require.Greater(t, len(doc.Cases), least)
	names := map[string]bool{}
	for _, c := range doc.Cases {
		names[c.Op] = true
		require.NotNil(t, functions[c.Op], c.Op)
	}
	require.Len(t, names, len(functions))
	for where, backend := range xlatest.Backends(t) {
		all := doc.Cases
		if where == "xla" {
			all = long.Sample(all, func(c functionCase) string { return c.Op })
			n := 0
			all = slices.DeleteFunc(slices.Clone(all), func(c functionCase) bool {
				n++
				return !long.On() && (n%2 == 0 || slices.Contains(likeOthers, c.Op))
			})
		}
		for cases := range slices.Chunk(all, 32) {
			t.Run(where+"/"+cases[0].Op, func(t *testing.T) {
				in, weights := make([]list, len(cases)), make([]list, len(cases))
				for i, c := range cases {
					in[i], weights[i] = fromOracles(c.Inputs), fromOracles(c.Weights)
				}
				run := xlabridge.Jit2(backend, func(in, weights []list) []list {
					out := make([]list, len(cases))
					for i, c := range cases {
						out[i] = c.call(functions[c.Op], in[i], weights[i])
					}
					return out
				})
				got, err := run(in, weights)
				require.NoError(t, err)
				for i, c := range cases {
					t.Run(fmt.Sprint(c.Op, " ", i), func(t *testing.T) {
						want := fromOracles(append(append([]oracles.Array{}, c.Outputs...), c.Gradients...))
						require.Len(t, got[i], len(want))
						for k, w := range want {
							if k >= len(c.Outputs) && w.Size() == 0 {
								continue // an input that has no gradient
							}
							tolerance := graphtest.Both(max(c.Tol, 1e-300)) // zeros may have another sign
							graphtest.Same(t, w, got[i][k], tolerance, fmt.Sprint("result ", k))
						}
					})
				}
			})
		}
	}
}

// call returns the function's results and, if the case has them, the gradients of their sum times weights.
func (c functionCase) call(f any, in, weights list) list {
	results := c.Attrs.call(f, in)
	if len(c.Gradients) == 0 {
		return results
	}
	return append(results, Grad(func(x list) *Array {
		total := Scalar(0)
		for k, y := range c.Attrs.call(f, x) {
			if y.DType().IsFloat() || y.DType() == Complex64 {
				total = Add(total, Sum(Real(Mul(y, weights[k]))))
			}
		}
		return total
	})(in)...)
}
