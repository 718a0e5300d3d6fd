package graph

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

type cumulativeAttrs = attr.Cumulative

var _ = register(&Op{
	Name:         "cumulative",
	ByRows:       true,
	ComplexKinds: []string{"sum", "prod"},
	Shape: func(c *call) []Shape {
		checkAxes(c, []int{c.attrs.(cumulativeAttrs).Axis}, c.in[0].Rank())
		return c.in[:1]
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(cumulativeAttrs)
		if dims[0] <= a.Axis {
			a.Axis++
		}
		return apply(n.Op, a, in), dims
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		a := n.Attrs.(cumulativeAttrs)
		switch a.Kind {
		case "sum":
			return apply(n.Op, a, t)
		case "prod":
			// p'[i] = x[i] p'[i-1] + p[i-1] t[i], right for zeros too.
			before := shiftAxis(out[0], a.Axis, 1, 1, a.Reverse)
			return []*Array{linearRecurrence(in[0], Mul(before, t[0]), a.Axis, a.Reverse)}
		}
		// max and min: the tangent of the element that is the extreme so far, the latest one at ties; from a NaN on,
		// none.
		pos := IotaAxis(in[0].shape.with(Int32), a.Axis)
		n0 := in[0].shape.Dims[a.Axis]
		at := Select(Eq(in[0], out[0]), pos, 0)
		if a.Reverse {
			at = apply1(n.Op, cumulativeAttrs{Kind: "min", Axis: a.Axis, Reverse: true},
				Select(Eq(in[0], out[0]), pos, n0-1))
		} else {
			at = apply1(n.Op, cumulativeAttrs{Kind: "max", Axis: a.Axis, Reverse: false}, at)
		}
		return []*Array{Select(IsNaN(out[0]), 0, TakeAlongAxis(t[0], at, a.Axis))}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(cumulativeAttrs)
		a.Reverse = !a.Reverse
		return apply(n.Op, a, cts)
	},
	// On the CPU one core walks through the axis, faster than a tree of windows is written into memory and read again.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a, x := n.Attrs.(cumulativeAttrs), in[0].shape
		if !l.target.paysKernel(x.Size(), leastCumulative) ||
			!slices.Contains([]DType{Float32, Float64, Int32}, x.DType) {
			return nil
		}
		return kernelCall(cumulativeKernel, []int{slices.Index(cumulativeKinds, a.Kind), a.Axis, number(a.Reverse)},
			[]Shape{x}, in[0])
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(cumulativeAttrs)
		x := n.Inputs[0].shape
		size := x.Dims[a.Axis]
		if x.Size() == 0 {
			e.names[n.Outs[0]] = e.ref(n.Inputs[0])
			return
		}
		window := slices.Repeat([]int{1}, x.Rank())
		window[a.Axis] = size
		padding := make([][]int, x.Rank())
		for i := range padding {
			padding[i] = []int{0, 0}
		}
		// One window over the whole axis looks quadratic, but XLA rewrites it as a tree on every backend: measured on
		// the CPU, 0.06 ms for 10,000 elements and 0.5 ms for 100,000, faster than log2(n) shifted additions.
		padding[a.Axis] = []int{size - 1, 0}
		if a.Reverse {
			padding[a.Axis] = []int{0, size - 1}
		}
		e.reduceWindow(n.Outs[0], n.Inputs[0], a.Kind, fmt.Sprintf("window_dimensions = %s, padding = %s",
			stablehlo.Int64s(window), stablehlo.Matrix(padding, 2)))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return []*Tensor{evalCumulative(n.Attrs.(cumulativeAttrs), in[0])}
	},
	Cost: costOf(inputElements),
	Cases: func() []Case {
		var cases []Case
		for _, kind := range []string{"sum", "prod", "max", "min"} {
			for _, reverse := range []bool{false, true} {
				cases = append(cases, Case{Name: fmt.Sprint(kind, " reverse=", reverse), Inputs: []Shape{
					ShapeOf(Float32, 2, 5, 2)}, Lo: -2, Hi: 2, Tol: 1e-5,
					Fn: func(x []*Array) *Array {
						return apply1(op("cumulative"), cumulativeAttrs{Kind: kind, Axis: 1, Reverse: reverse}, x[0])
					}})
			}
		}
		// The kernel takes one row, or 64 neighbors at a time.
		for i, shape := range []Shape{ShapeOf(Float32, 2, 9), ShapeOf(Float64, 3, 65), ShapeOf(Float32, 2, 3, 64),
			ShapeOf(Int32, 3, 2, 65), ShapeOf(Float32, 1, 130)} {
			kind, axis := []string{"sum", "prod", "max", "min"}[i%4], shape.Rank()-1-i%2
			cases = append(cases, Case{Name: fmt.Sprint(kind, " of ", shape, " along ", axis), Inputs: []Shape{shape},
				Lo: -2, Hi: 2, Tol: 1e-5, Rough: shape.DType == Int32,
				Fn: func(x []*Array) *Array {
					return apply1(op("cumulative"), cumulativeAttrs{Kind: kind, Axis: axis, Reverse: i%3 == 0}, x[0])
				}})
		}
		logs := func(opts ...CumulativeOption) func(x []*Array) *Array {
			return func(x []*Array) *Array { return CumLogSumExp(x[0], 0, opts...) }
		}
		cases = append(cases, Case{Name: "log sum exp", Inputs: []Shape{ShapeOf(Float32, 5, 2)}, Lo: -9, Hi: 9,
			Tol: 1e-5, Fn: logs()},
			Case{Name: "log sum exp reverse=true", Inputs: []Shape{ShapeOf(Float32, 5)}, Lo: -9, Hi: 9, Tol: 1e-5,
				Fn: logs(Reversed())})
		return append(cases, Case{Name: "i32", Inputs: []Shape{ShapeOf(Int32, 5)}, Lo: -9, Hi: 9, Rough: true,
			Fn: func(x []*Array) *Array { return CumSum(x[0], 0) }})
	},
})

// leastCumulative is the least number of elements for which the kernel is called.
const leastCumulative = 512

// cumulativeKinds are the kinds by the numbers that the kernel knows them by.
var cumulativeKinds = []string{"sum", "prod", "max", "min"}

var cumulativeKernel = &Kernel{Target: "xlarun_cumulative", evalConfig: func(config []int, in, out []*Tensor) {
	copy(out[0].V, evalCumulative(cumulativeAttrs{Kind: cumulativeKinds[config[0]], Axis: config[1],
		Reverse: config[2] != 0}, in[0]).V)
}}

func evalCumulative(a cumulativeAttrs, x *Tensor) *Tensor {
	d, combine := reduceKinds[a.Kind].totals(accumulator(a.Kind, x.Shape.DType))
	out := &Tensor{x.Shape.with(d), slices.Clone(x.V)}
	dims := out.Shape.Dims
	st := strides(dims)[a.Axis]
	forEach(dims, func(i int, idx []int) {
		if idx[a.Axis] == 0 {
			return
		}
		if a.Reverse { // walk this row from its end
			from := i + (dims[a.Axis]-1-2*idx[a.Axis])*st
			combine(out, from, out, from+st)
			return
		}
		combine(out, i, out, i-st)
	})
	return out.rounded(x.Shape.DType)
}

// reduceWindow writes a stablehlo.reduce_window of x.
func (e *emitter) reduceWindow(out, x *Array, kind, attrs string) {
	t := stablehlo.Type(x.DType())
	start := e.identity(kind, x.DType())
	region := e.Combiner(reduceKinds[kind].emit, t)
	e.names[out] = e.Op("stablehlo.reduce_window", e.ref(x)+", "+start, attrs, mlirType(x.shape)+", "+t,
		mlirType(out.shape), region)
}

// CumulativeOption changes the direction of CumSum, CumProd, CumMax, CumMin and CumLogSumExp.
type CumulativeOption func(*cumulativeAttrs)

// Reversed runs from the end of the axis: element i covers i and all after it.
func Reversed() CumulativeOption { return func(a *cumulativeAttrs) { a.Reverse = true } }

func cumulativeOptions(name, kind string, x *Array, axis int, opts []CumulativeOption) cumulativeAttrs {
	a := cumulativeAttrs{Kind: kind, Axis: checkAxis(name, axis, x.Rank())}
	for _, o := range opts {
		o(&a)
	}
	return a
}

// CumSum is the running sum along an axis; bools are counted as int32.
func CumSum(x *Array, axis int, opts ...CumulativeOption) *Array {
	if x.DType() == Bool {
		x = Convert(x, Int32)
	}
	return apply1(op("cumulative"), cumulativeOptions("CumSum", "sum", x, axis, opts), x)
}

// CumProd is the running product along an axis; bools are counted as int32.
func CumProd(x *Array, axis int, opts ...CumulativeOption) *Array {
	if x.DType() == Bool {
		x = Convert(x, Int32)
	}
	return apply1(op("cumulative"), cumulativeOptions("CumProd", "prod", x, axis, opts), x)
}

// CumMax is the running maximum along an axis. Of equal elements the latest has the slope.
func CumMax(x *Array, axis int, opts ...CumulativeOption) *Array {
	return apply1(op("cumulative"), cumulativeOptions("CumMax", "max", x, axis, opts), x)
}

// CumMin is the running minimum along an axis. Of equal elements the latest has the slope.
func CumMin(x *Array, axis int, opts ...CumulativeOption) *Array {
	return apply1(op("cumulative"), cumulativeOptions("CumMin", "min", x, axis, opts), x)
}

// CumLogSumExp is log(CumSum(exp(x))) along an axis, without overflow.
func CumLogSumExp(x *Array, axis int, opts ...CumulativeOption) *Array {
	x = asFloat(x)
	a := cumulativeOptions("CumLogSumExp", "", x, axis, opts)
	for step := 1; step < x.shape.Dims[a.Axis]; step *= 2 {
		x = LogAddExp(x, shiftAxis(x, a.Axis, step, math.Inf(-1), a.Reverse))
	}
	return x
}

// shiftAxis moves the elements so many places up (down if reverse) along an axis, and fills the gap with value.
func shiftAxis(x *Array, axis, places int, value any, reverse bool) *Array {
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	places = min(places, x.shape.Dims[axis])
	low[axis], high[axis] = places, -places
	if reverse {
		low, high = high, low
	}
	return Pad(x, value, low, high)
}

// linearRecurrence solves y[i] = a[i] y[i-1] + b[i] along an axis, y before the first being 0, in log2(n) steps over
// the whole axis: pairs of steps are again such steps (Blelloch, "Prefix Sums and Their Applications", section 1.4.1).
// It is linear in b.
func linearRecurrence(a, b *Array, axis int, reverse bool) *Array {
	for step := 1; step < b.shape.Dims[axis]; step *= 2 {
		b = Add(Mul(a, shiftAxis(b, axis, step, 0, reverse)), b)
		a = Mul(a, shiftAxis(a, axis, step, 1, reverse))
	}
	return b
}
