package random

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// bounded is a draw with the bounds that it has for whatever bits.
type bounded struct {
	name string
	draw func(k Key, s graph.Shape) *graph.Array
	ok   func(x *graph.Array) *graph.Array // bool: which draws are within the bounds
}

func finite(x *graph.Array) *graph.Array { return x.IsFinite() }

func between(lo, hi float64) func(x *graph.Array) *graph.Array {
	return func(x *graph.Array) *graph.Array { return x.Ge(lo).And(x.Le(hi)) }
}

func boundedDraws() (all []bounded) {
	add := func(name string, draw func(k Key, s graph.Shape) *graph.Array, ok func(x *graph.Array) *graph.Array) {
		all = append(all, bounded{name, draw, ok})
	}
	for _, c := range [][2]float64{{0, 1}, {1e-4, 1}, {1e-10, 1}, {.3, 1.3}, {-1, 1}, {.1, .7}, {-3, 5.1},
		{1000, 1000.5}, {.999, 1}, {-1, 1e-3}, {-2.5, -.001}, {1e-3, 2e-3}, {1. / 3, 4. / 3}, {-.7, .3},
		{-30000, 30000}, {5, 5}} {
		inside := func(x, lo, hi *graph.Array) *graph.Array {
			return graph.Select(lo.Lt(hi), x.Ge(lo).And(x.Lt(hi)), x.Eq(lo))
		}
		read := func(d graph.DType) (lo, hi *graph.Array) {
			return graph.Full(graph.ShapeOf(d), c[0]), graph.Full(graph.ShapeOf(d), c[1])
		}
		add(fmt.Sprintf("uniform of %v", c), func(k Key, s graph.Shape) *graph.Array {
			return Uniform(k, s, c[0], c[1])
		}, func(x *graph.Array) *graph.Array {
			lo, hi := read(x.DType())
			return inside(x, lo, hi)
		})
		add(fmt.Sprintf("uniform of arrays %v", c), func(k Key, s graph.Shape) *graph.Array {
			lo, hi := read(s.DType)
			both := graph.Barrier(lo, hi) // as if they were known only when the program runs
			return Uniform(k, s, both[0], both[1])
		}, func(x *graph.Array) *graph.Array {
			lo, hi := read(x.DType())
			return inside(x, lo, hi)
		})
	}
	for _, c := range [][2]float64{{-1, 1}, {-.1, 2}, {2, 3}, {-4, -3.5}, {0, .01}} {
		add(fmt.Sprintf("truncated normal of %v", c), func(k Key, s graph.Shape) *graph.Array {
			return TruncatedNormal(k, s, c[0], c[1])
		}, func(x *graph.Array) *graph.Array {
			lo, hi := graph.Full(graph.ShapeOf(x.DType()), c[0]), graph.Full(graph.ShapeOf(x.DType()), c[1])
			return x.Gt(lo).And(x.Lt(hi))
		})
		add(fmt.Sprintf("triangular of %v", c), func(k Key, s graph.Shape) *graph.Array {
			return Triangular(k, s, c[0], c[1], c[1])
		}, func(x *graph.Array) *graph.Array {
			lo, hi := graph.Full(graph.ShapeOf(x.DType()), c[0]), graph.Full(graph.ShapeOf(x.DType()), c[1])
			return x.Ge(lo).And(x.Le(hi))
		})
	}
	add("gumbel", Gumbel, finite)
	add("logistic", Logistic, finite)
	add("laplace", Laplace, finite)
	add("cauchy", Cauchy, finite)
	add("normal", Normal, between(-9, 9))
	add("exponential", Exponential, between(0, 40))
	add("log-normal", func(k Key, s graph.Shape) *graph.Array { return LogNormal(k, s, 1) }, between(1e-4, 1e4))
	add("pareto", func(k Key, s graph.Shape) *graph.Array { return Pareto(k, s, 4) }, between(1, 30000))
	add("weibull", func(k Key, s graph.Shape) *graph.Array { return WeibullMin(k, s, 1, 3) }, between(0, 9))
	add("geometric", func(k Key, s graph.Shape) *graph.Array {
		return Geometric(k, graph.ShapeOf(graph.Int32, s.Dims...), .5)
	}, func(x *graph.Array) *graph.Array { return x.Ge(1).And(x.Le(25)) })
	for p, want := range []bool{false, true} {
		add(fmt.Sprintf("bernoulli of %v", p), func(k Key, s graph.Shape) *graph.Array {
			return Bernoulli(k, graph.Full(graph.ShapeOf(s.DType), float64(p)), s.Dims...)
		}, func(x *graph.Array) *graph.Array { return x.Eq(want) })
	}
	inf := math.Inf(-1)
	for i, logits := range [][]float64{{inf, 0, inf}, {inf, inf, -3e4}, {30, inf, inf}} {
		add(fmt.Sprintf("categorical of %v", logits), func(k Key, s graph.Shape) *graph.Array {
			return Categorical(k, graph.Float64s(logits).Convert(s.DType), -1, Draws(s.Dims...))
		}, func(x *graph.Array) *graph.Array { return x.Eq([]int{1, 2, 0}[i]) })
	}
	for _, n := range []int{65, 127, 300, 511} {
		p := make([]float32, n)
		for i := range p {
			if i%16 != 0 {
				p[i] = 1 / float32(i+3)
			}
		}
		w := graph.Float32s(p)
		add(fmt.Sprintf("choice of %d", n), func(k Key, s graph.Shape) *graph.Array {
			return Choice(k, n, Draws(s.Dims...), Weights(w.Convert(s.DType)))
		}, func(x *graph.Array) *graph.Array { return graph.Take(w, x, 0).Gt(0) })
	}
	return all
}

// drawAll puts all bits of a significand in the place of random bits while f runs: element i of a draw has those of the
// number first + i*step.
func drawAll(d graph.DType, first *graph.Array, step int, f func()) {
	defer func() { threeFryBits, threeFryWords = graph.Random.ThreeFryBits, graph.Random.ThreeFryWords }()
	at := func(dims []int) *graph.Array {
		return graph.Iota(graph.Shape{Dims: dims}.Size()).Mul(step).Convert(graph.Uint32).Add(first).Reshape(dims...)
	}
	threeFryBits = func(_, _ *graph.Array, dims ...int) *graph.Array {
		m := formats[d]
		return graph.ShiftLeft(at(dims), 8*graph.ItemSize(m.drawn)-m.NMant)
	}
	// Of float64 the upper or the lower bits, and the others 0 or 1.
	threeFryWords = func(_, _ *graph.Array, dims ...int) (a, b *graph.Array) {
		n := at(dims)
		low := graph.Sub(0, n.And(1))
		up := n.And(2).Ne(0)
		return graph.Select(up, graph.ShiftLeft(n, 3), low), graph.Select(up, low, graph.ShiftLeft(n, 3))
	}
	f()
}

// TestBoundsOverAllBits: what is said of a draw holds for all bits of its significand, in compiled programs too: of
// float64, for all of the upper and of the lower 23 bits. The short form interprets all draws of float16, and compiles
// some of all but float64.
func TestBoundsOverAllBits(t *testing.T) {
	few := []string{"gumbel", "logistic", "uniform of [1e-10 1]", "uniform of [0.3 1.3]", "choice of 300"}
	checkBounds(t, xlatest.OpenCPU(t, 1), 8, func(d graph.DType, draw string) bool {
		return long.On() || d != graph.Float64 && slices.Contains(few, draw)
	})
	checkBounds(t, &xlabridge.Reference{}, 1, func(d graph.DType, draw string) bool { return d == graph.Float16 })
}

// checkBounds takes bits of 2²⁰ numbers in each part.
func checkBounds(t *testing.T, backend xlabridge.Backend, parts int, has func(d graph.DType, draw string) bool) {
	t.Helper()
	var names []string
	const n = 1 << 20
	check := xlabridge.Jit(backend, func(first *graph.Array) *graph.Array {
		var wrong []*graph.Array
		for _, d := range []graph.DType{graph.Float16, graph.BFloat16, graph.Float32, graph.Float64} {
			for _, b := range boundedDraws() {
				if !has(d, b.name) {
					continue
				}
				names = append(names, fmt.Sprintf("%v %s", d, b.name))
				drawAll(d, first, 1, func() {
					x := b.draw(New(1), graph.ShapeOf(d, min(n, 1<<formats[d].NMant)))
					wrong = append(wrong, b.ok(x).Not().Convert(graph.Int32).Sum())
				})
			}
		}
		return graph.Stack(wrong, 0)
	})
	for part := range parts {
		out, err := check(graph.Of(uint32(part * n)))
		require.NoError(t, err)
		for i, wrong := range ints(t, out) {
			require.Zero(t, wrong, "draws beyond the bounds: %s", names[i])
		}
	}
}

// TestChoiceNeverDrawsWeightZero: for any number of candidates and place of zeros, over bits of the whole range and all
// those at its ends. The long form compiles it. TestBoundsOverAllBits has all bits for some.
func TestChoiceNeverDrawsWeightZero(t *testing.T) {
	n, dtypes, backend := 1<<5, []graph.DType{graph.Float32}, xlabridge.Backend(&xlabridge.Reference{})
	if long.All() {
		n, dtypes, backend = 1<<13, append(dtypes, graph.Float16, graph.BFloat16, graph.Float64), xlatest.OpenCPU(t, 1)
	}
	var names []string
	check := xlabridge.Jit(backend, func(first *graph.Array) *graph.Array {
		var wrong []*graph.Array
		for _, d := range dtypes {
			for _, candidates := range []int{1, 2, 3, 64, 65, 127, 300, 511, 512, 1000} {
				for i, has := range []func(i int) bool{
					func(i int) bool { return i%16 != 0 || candidates == 1 },
					func(i int) bool { return i >= candidates/2 },
					func(i int) bool { return i < (candidates+1)/2 },
					func(i int) bool { return i == candidates-1 },
					func(i int) bool { return i == 0 },
				} {
					p := make([]float32, candidates)
					for k := range p {
						if has(k) {
							p[k] = 1 / float32(k+3)
						}
					}
					w := graph.Float32s(p)
					for _, step := range []int{1, 1<<23/n - 3} {
						names = append(names, fmt.Sprintf("%v, %d candidates, place %d, step %d", d, candidates, i,
							step))
						drawAll(d, first, step, func() {
							at := Choice(New(1), candidates, Draws(n), Weights(w.Convert(d)))
							wrong = append(wrong, graph.Take(w, at, 0).Eq(0).Convert(graph.Int32).Sum())
						})
					}
				}
			}
		}
		return graph.Stack(wrong, 0)
	})
	for _, first := range []int{0, 1<<23 - n} {
		out, err := check(graph.Of(uint32(first)))
		require.NoError(t, err)
		for i, wrong := range ints(t, out) {
			require.Zero(t, wrong, "draws of weight 0: %s", names[i])
		}
	}
}
