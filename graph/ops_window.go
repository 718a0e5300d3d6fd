package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/stablehlo"
)

// windowAttrs: windows of the given dims slide over every axis (size 1, stride 1 along those that are to stay).
type windowAttrs struct {
	kind     string // sum, prod, max, min; padding and holes count as its neutral element
	window   []int
	geometry windowGeometry
}

var _ = register(&Op{
	Apart:  alwaysApart,
	Name:   "reduce_window",
	ByRows: true,
	Shape: func(c *call) []Shape {
		a, x := c.attrs.(windowAttrs), c.in[0]
		if len(a.window) != x.Rank() {
			c.fail("got a window over %d axes for %s", len(a.window), x)
		}
		a.geometry.check(c, x.Rank())
		if x.DType == Bool && (a.kind == "sum" || a.kind == "prod") {
			c.fail("got %s, want a number for %s: convert it first", x, a.kind)
		}
		dims := make([]int, x.Rank())
		for i, d := range x.Dims {
			if a.window[i] < 1 {
				c.fail("window %v; want at least 1 along each axis", a.window)
			}
			dims[i] = a.geometry.positions(i, d, a.window[i])
		}
		return []Shape{x.dims(dims...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(windowAttrs)
		return []*Array{apply1(n.Op, windowAttrs{a.kind, slices.Insert(slices.Clone(a.window), dims[0], 1),
			a.geometry.insert(dims[0])}, in[0])}, dims
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		a := n.Attrs.(windowAttrs)
		if a.kind == "sum" {
			return apply(n.Op, a, t)
		}
		if out[0].Size() == 0 {
			return []*Array{nil}
		}
		x, dx := windowElements(a, in[0], out[0].Dims()), windowElements(windowAttrs{"sum", a.window, a.geometry}, t[0],
			out[0].Dims())
		if a.kind == "prod" {
			last := out[0].Rank()
			return []*Array{Sum(Mul(productOfOthers(Stack(x, last), []int{last}), Stack(dx, last)), last)}
		}
		// max and min: the tangent of the first extreme element of the window.
		best, tangent := x[0], dx[0]
		for k := 1; k < len(x); k++ {
			better := Gt(x[k], best)
			if a.kind == "min" {
				better = Lt(x[k], best)
			}
			best, tangent = Select(better, x[k], best), Select(better, dx[k], tangent)
		}
		return []*Array{tangent}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		// Of sum, the only linear kind: sum the windows that each element was in.
		a, x, ct := n.Attrs.(windowAttrs), n.Inputs[0].shape, cts[0]
		g := a.geometry.transposed(x.Dims, a.window, ct.Dims())
		return []*Array{
			apply1(n.Op, windowAttrs{"sum", a.window, windowGeometry{
				strides: g.strides, padding: make([][2]int, x.Rank()),
				baseDilation: slices.Repeat([]int{1}, x.Rank()), windowDilation: g.windowDilation}},
				padWindow(ct, 0, g))}
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(windowAttrs)
		e.reduceWindow(n.Outs[0], n.Inputs[0], a.kind, fmt.Sprintf("window_dimensions = %s, window_strides = %s, "+
			"base_dilations = %s, window_dilations = %s, padding = %s",
			stablehlo.Int64s(a.window), stablehlo.Int64s(a.geometry.strides),
			stablehlo.Int64s(a.geometry.baseDilation), stablehlo.Int64s(a.geometry.windowDilation),
			stablehlo.Matrix(a.geometry.pads(), 2)))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a, x := n.Attrs.(windowAttrs), in[0]
		k := reduceKinds[a.kind]
		d, combine := k.totals(x.Shape.DType)
		out := newTensor(n.Outs[0].shape.with(d))
		start := k.start(d).V[0]
		st := strides(x.Shape.Dims)
		forEach(out.Shape.Dims, func(i int, idx []int) {
			out.V[i] = start
			forEach(a.window, func(_ int, w []int) {
				from := 0
				for axis := range w {
					at, inside := a.geometry.at(axis, x.Shape.Dims[axis], idx[axis], w[axis])
					if !inside {
						return
					}
					from += at * st[axis]
				}
				combine(out, i, x, from)
			})
		})
		return []*Tensor{out.rounded(x.Shape.DType)}
	},
	Lower: lowerWindow,
	Cost: costOf(func(n *Node) float64 {
		return resultElements(n) * float64(product(n.Attrs.(windowAttrs).window))
	}),
	Cases: func() []Case {
		var cases []Case
		for _, kind := range []string{"sum", "prod", "max", "min"} {
			s := []Shape{ShapeOf(Float32, 5, 4)}
			cases = append(cases,
				Case{Name: kind, Inputs: s, Tol: 1e-5, Fn: func(x []*Array) *Array {
					return ReduceWindow(x[0], kind, []int{2, 3}, Strides(2, 1), Padding([2]int{1, 0}, [2]int{0, 2}))
				}},
				Case{Name: kind + " dilated", Inputs: s, Tol: 1e-5, Fn: func(x []*Array) *Array {
					return ReduceWindow(x[0], kind, []int{2, 2}, BaseDilation(2, 1), WindowDilation(1, 2),
						Padding([2]int{-1, 1}, [2]int{0, 1}))
				}})
		}
		for _, kind := range []string{"sum", "max"} { // windows that slide by one, along axes that are padded
			cases = append(cases, Case{Name: kind + " slides", Inputs: []Shape{ShapeOf(Float32, 4, 19)}, Tol: 1e-5,
				Fn: func(x []*Array) *Array {
					return ReduceWindow(x[0], kind, []int{2, 7}, Padding([2]int{1, 0}, [2]int{3, 2}),
						WindowDilation(2, 2))
				}})
		}
		pool := []Shape{ShapeOf(Float32, 5, 4, 2)}
		return append(cases,
			Case{Name: "i32", Inputs: []Shape{ShapeOf(Int32, 6)}, Lo: -9, Hi: 9, Rough: true,
				Fn: func(x []*Array) *Array { return ReduceWindow(x[0], "max", []int{3}) }},
			Case{Name: "max pool", Inputs: pool, Fn: func(x []*Array) *Array {
				return MaxPool(x[0], []int{2, 2}, Strides(2, 2))
			}},
			Case{Name: "mean pool", Inputs: pool, Tol: 1e-5, Fn: func(x []*Array) *Array {
				return AvgPool(x[0], []int{3, 2}, Strides(2, 1), SamePadding(), ExcludePadding())
			}})
	},
})

// padWindow pads and dilates x as the geometry says, with the given value.
func padWindow(x *Array, value any, g windowGeometry) *Array {
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	for i, p := range g.padding {
		low[i], high[i] = p[0], p[1]
	}
	return PadConfig(x, value, low, high, mapInts(g.baseDilation, func(d int) int { return d - 1 }))
}

// windowElements gives, for every element of the window in row-major order, what it falls on in each window: arrays of
// the result's dims, none of them 0. Windows are small, so these are a few slices that a compiler fuses.
func windowElements(a windowAttrs, x *Array, out []int) []*Array {
	padded := padWindow(x, reduceKinds[a.kind].start(x.DType()).Array(), a.geometry)
	elements := make([]*Array, 0, product(a.window))
	forEach(a.window, func(_ int, w []int) {
		start, limit := make([]int, len(w)), make([]int, len(w))
		for i, k := range w {
			start[i] = k * a.geometry.windowDilation[i]
			limit[i] = start[i] + (out[i]-1)*a.geometry.strides[i] + 1
		}
		elements = append(elements, StridedSlice(padded, start, limit, a.geometry.strides))
	})
	return elements
}

// ReduceWindow reduces x within windows that slide over all of its axes. kind is "sum", "prod", "max" or "min"; what
// lies outside of x counts as the kind's neutral element. Options: Strides, SamePadding, Padding, BaseDilation,
// WindowDilation. An axis of n elements, padded, gives (n - window)/stride + 1.
func ReduceWindow(x *Array, kind string, window []int, opts ...WindowOption) *Array {
	if !slices.Contains([]string{"sum", "prod", "max", "min"}, kind) {
		throw("ReduceWindow", "kind %q; want \"sum\", \"prod\", \"max\" or \"min\"", kind)
	}
	if len(window) != x.Rank() {
		throw("ReduceWindow", "got a window over %d axes for %s; want one size an axis", len(window), x.shape)
	}
	c := windowOptions(opts)
	c.onlyWindow("ReduceWindow")
	return apply1(op("reduce_window"), windowAttrs{kind, slices.Clone(window), c.resolve("ReduceWindow", x.Dims(),
		window)}, x)
}

// ExcludePadding lets AvgPool divide by the number of elements of x in a window, not by the window's size.
func ExcludePadding() WindowOption { return func(c *windowConfig) { c.excludePad = true } }

// MaxPool takes the largest element of each window. x is [spatial…, C], with any axes before (a batch or none);
// window has one size for each spatial axis, and slides with stride 1 unless Strides says otherwise.
func MaxPool(x *Array, window []int, opts ...WindowOption) *Array {
	return pool("MaxPool", "max", x, window, windowOptions(opts))
}

// MinPool takes the smallest element of each window, see MaxPool.
func MinPool(x *Array, window []int, opts ...WindowOption) *Array {
	return pool("MinPool", "min", x, window, windowOptions(opts))
}

// AvgPool takes the mean of each window, see MaxPool. Padding counts as zeros unless ExcludePadding is given.
func AvgPool(x *Array, window []int, opts ...WindowOption) *Array {
	c := windowOptions(opts)
	x = asFloat(x)
	sum := pool("AvgPool", "sum", x, window, c)
	if !c.excludePad {
		return Div(sum, float64(product(window)))
	}
	return Div(sum, pool("AvgPool", "sum", OnesLike(x), window, c))
}

// pool slides over the axes before the last one.
func pool(name, kind string, x *Array, window []int, c *windowConfig) *Array {
	c.onlyWindow(name)
	before := x.Rank() - 1 - len(window)
	if before < 0 {
		throw(name, "got a window over %d axes for %s; want x [spatial…, features]", len(window), x.shape)
	}
	g := c.resolve(name, x.Dims()[before:x.Rank()-1], window)
	for range before {
		g = g.insert(0)
	}
	sizes := append(slices.Repeat([]int{1}, before), append(slices.Clone(window), 1)...)
	return apply1(op("reduce_window"), windowAttrs{kind, sizes, g.insert(x.Rank() - 1)}, x)
}
