package graph

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

// reduceKind is what a reduction, a window, a scatter or a running total combines with.
type reduceKind struct {
	emit    string
	start   func(d DType) *Tensor // the value that leaves others as they are
	combine func(t *Tensor, i int, u *Tensor, j int)
}

var reduceKinds = map[string]*reduceKind{
	"sum": {"stablehlo.add", constTensor(0, 0), arith(func(x, y float64) float64 { return x + y },
		func(x, y int64) int64 { return x + y }, nil, addComplex)},
	"prod": {"stablehlo.multiply", constTensor(1, 1), arith(func(x, y float64) float64 { return x * y },
		func(x, y int64) int64 { return x * y }, nil, mulComplex)},
	"max": {"stablehlo.maximum", extreme(-1), arith(larger, func(x, y int64) int64 { return max(x, y) },
		func(x, y uint64) uint64 { return max(x, y) }, nil)},
	"min": {"stablehlo.minimum", extreme(1), arith(smaller, func(x, y int64) int64 { return min(x, y) },
		func(x, y uint64) uint64 { return min(x, y) }, nil)},
	"and": {"stablehlo.and", constTensor(0, -1), arith(nil, func(x, y int64) int64 { return x & y }, nil, nil)},
	"xor": {"stablehlo.xor", constTensor(0, 0), arith(nil, func(x, y int64) int64 { return x ^ y }, nil, nil)},
	"or":  {"stablehlo.or", constTensor(0, 0), arith(nil, func(x, y int64) int64 { return x | y }, nil, nil)},
}

func constTensor(f float64, i int64) func(DType) *Tensor {
	return func(d DType) *Tensor {
		t := newTensor(Shape{DType: d})
		if isInexact(d) {
			t.SetF(0, f)
		} else {
			t.SetI(0, i)
		}
		return t
	}
}

func extreme(sign int) func(DType) *Tensor {
	return func(d DType) *Tensor {
		t := newTensor(Shape{DType: d})
		switch w := 8 * ItemSize(d); {
		case isFloat(d):
			t.V[0] = math.Float64bits(math.Inf(sign))
		case d == Bool:
			t.SetB(0, sign > 0)
		case isSigned(d) && sign < 0:
			t.SetI(0, int64(-1)<<(w-1))
		case isSigned(d):
			t.SetI(0, int64(1)<<(w-1)-1)
		case sign > 0:
			t.V[0] = widthMask(d)
		}
		return t
	}
}

// arith combines two elements by the function of their class; u nil: i takes unsigned integers too.
//
//go:noinline
func arith(f func(x, y float64) float64, i func(x, y int64) int64, u func(x, y uint64) uint64,
	c func(x, y complex128) complex128) func(a *Tensor, k int, b *Tensor, j int) {
	return func(a *Tensor, k int, b *Tensor, j int) {
		switch d := a.Shape.DType; {
		case isComplex(d):
			a.SetC(k, c(a.C(k), b.C(j)))
		case isFloat(d):
			a.SetF(k, f(a.F(k), b.F(j)))
		case u != nil && !isSigned(d):
			a.SetI(k, int64(u(a.U(k), b.U(j))))
		default:
			a.SetI(k, i(a.I(k), b.I(j)))
		}
	}
}

// larger is the larger of two numbers, and NaN if either is: math.Max takes an infinity over a NaN.
func larger(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Max(x, y)
}

// smaller is the smaller of two numbers, and NaN if either is.
func smaller(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Min(x, y)
}

// identity writes the kind's neutral scalar as a constant and returns its name.
func (e *emitter) identity(kind string, d DType) string {
	return e.constant(reduceKinds[kind].start(d))
}

// accumulator is the dtype in which the elements of d are summed or multiplied: 16-bit floats as float32, since a long
// sum of small numbers would stand still otherwise.
func accumulator(kind string, d DType) DType {
	if isFloat(d) && ItemSize(d) == 2 && (kind == "sum" || kind == "prod") {
		return Float32
	}
	return d
}

// totals is how the reference combines elements of float32 into sums and products: in float64, so that a long one keeps
// its digits. What is infinite in float32, or a product that is 0 there, stays so. Other kinds and dtypes are combined
// as they are.
func (k *reduceKind) totals(d DType) (DType, func(t *Tensor, i int, u *Tensor, j int)) {
	sum, product := k == reduceKinds["sum"], k == reduceKinds["prod"]
	if d != Float32 || !sum && !product {
		return d, k.combine
	}
	return Float64, func(t *Tensor, i int, u *Tensor, j int) {
		k.combine(t, i, u, j)
		if x := roundFloat(Float32, t.F(i)); math.IsInf(x, 0) || product && x == 0 {
			t.SetF(i, x)
		}
	}
}

type reduceAttrs = attr.Reduce

type nanRule = attr.NaN

const (
	keepNaN  nanRule = iota // the result is NaN: lowering chooses how
	clampNaN                // the result is NaN, since the combiner is a clamp
	loseNaN                 // NaN may be lost, because what follows brings it back
)

var _ = register(&Op{
	Name:         "reduce",
	Lower:        lowerReduce,
	ComplexKinds: []string{"sum", "prod"},
	Shape: func(c *call) []Shape {
		a := c.attrs.(reduceAttrs)
		checkAxes(c, a.Axes, c.in[0].Rank())
		if (a.Kind == "and" || a.Kind == "or" || a.Kind == "xor") && isFloat(c.in[0].DType) {
			c.fail("got %s, want an integer or bool for %s", c.in[0], a.Kind)
		}
		return []Shape{c.in[0].remove(a.Axes...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(reduceAttrs)
		axes := mapInts(a.Axes, shifted(dims[0]))
		before := 0
		for _, x := range axes {
			if x < dims[0] {
				before++
			}
		}
		return []*Array{apply1(n.Op, reduceAttrs{Kind: a.Kind, Axes: axes, NaN: a.NaN}, in[0])}, []int{dims[0] - before}
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		a := n.Attrs.(reduceAttrs)
		switch a.Kind {
		case "sum":
			return apply(n.Op, n.Attrs, t)
		case "max", "min":
			// The mean of the tangents at the extreme, as JAX does. A NaN is equal to no element: then it is NaN, which
			// is said by selection, since XLA takes a product with false for 0.
			at := Eq(in[0], broadcastReduced(out[0], in[0], a.Axes))
			count := Sum0(Convert(at, in[0].DType()), a.Axes)
			none := Select(Eq(count, 0), math.NaN(), ZerosLike(count))
			weights := Select(at, broadcastReduced(Div(1, count), in[0], a.Axes), broadcastReduced(none, in[0], a.Axes))
			return []*Array{Sum0(Mul(weights, t[0]), a.Axes)}
		case "prod":
			return []*Array{Sum0(Mul(t[0], productOfOthers(in[0], a.Axes)), a.Axes)}
		}
		return []*Array{nil}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{broadcastReduced(cts[0], n.Inputs[0], n.Attrs.(reduceAttrs).Axes)}
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(reduceAttrs)
		x, out := n.Inputs[0], n.Outs[0].shape
		d := accumulator(a.Kind, x.DType())
		xt, ot := mlirType(x.shape.with(d)), mlirType(out.with(d))
		in := e.ref(x)
		if d != x.DType() {
			in = e.Op("stablehlo.convert", in, "", mlirType(x.shape), xt)
		}
		start, scalar := e.identity(a.Kind, d), stablehlo.Type(d)
		var region string
		if a.NaN == clampNaN {
			region = e.clampedCombiner(a.Kind, d)
		} else {
			region = e.Combiner(reduceKinds[a.Kind].emit, scalar)
		}
		name := e.Op("stablehlo.reduce", in+", "+start, "dimensions = "+stablehlo.Int64s(a.Axes), xt+", "+scalar, ot,
			region)
		if d != x.DType() {
			name = e.Op("stablehlo.convert", name, "", ot, mlirType(out))
		}
		e.names[n.Outs[0]] = name
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(reduceAttrs)
		k := reduceKinds[a.Kind]
		d, combine := k.totals(accumulator(a.Kind, in[0].Shape.DType))
		out := newTensor(n.Outs[0].shape.with(d))
		start := k.start(d)
		for i := range out.V {
			out.V[i] = start.V[0]
		}
		eachReduced(a, in[0].Shape.Dims, out.Shape.Dims, func(i, at int) { combine(out, at, in[0], i) })
		return []*Tensor{out.rounded(n.Outs[0].shape.DType)}
	},
	EvalComplex: func(n *Node, in []*Tensor) []*Tensor {
		a, out := n.Attrs.(reduceAttrs), newTensor(n.Outs[0].shape)
		start, combine := complex128(0), addComplex
		if a.Kind == "prod" {
			start, combine = 1, mulComplex
		}
		totals := slices.Repeat([]complex128{start}, len(out.V))
		eachReduced(a, in[0].Shape.Dims, out.Shape.Dims, func(i, at int) {
			totals[at] = combine(totals[at],
				in[0].C(i))
		})
		for i, x := range totals {
			out.SetC(i, x)
		}
		return []*Tensor{out}
	},
	Cost: costOf(inputElements),
	Cases: func() []Case {
		var cases []Case
		for _, kind := range []string{"sum", "prod"} {
			cases = append(cases, Case{Name: kind + " bf16", Inputs: []Shape{ShapeOf(BFloat16, 3, 40)}, Lo: .9, Hi: 1.1,
				Rough: true, Tol: 1e-2, Fn: func(x []*Array) *Array { return reduce(kind, x[0], []int{1}) }})
		}
		for _, kind := range []string{"sum", "prod", "max", "min"} {
			for _, d := range numeric {
				cases = append(cases, Case{Name: kind + " " + dtypeName(d), Inputs: []Shape{ShapeOf(d, 2, 3, 2)},
					Lo: -2, Hi: 2, Tol: 1e-5, Fn: func(x []*Array) *Array { return reduce(kind, x[0], []int{0, 2}) }})
			}
		}
		for _, kind := range []string{"and", "or", "xor", "max"} {
			cases = append(cases, Case{Name: kind + " bool", Inputs: []Shape{ShapeOf(Bool, 3, 4)}, Lo: -1, Hi: 1,
				Rough: true, Fn: func(x []*Array) *Array { return reduce(kind, x[0], []int{1}) }})
		}
		for _, kind := range []string{"and", "or", "xor"} {
			cases = append(cases, Case{Name: kind + " i32", Inputs: []Shape{ShapeOf(Int32, 3, 4)}, Lo: -9, Hi: 9,
				Rough: true, Fn: func(x []*Array) *Array { return reduce(kind, x[0], []int{1}) }})
		}
		return cases
	},
})

// eachReduced calls f for each element i of an array, with the element of the result that it is combined into.
func eachReduced(a reduceAttrs, dims, out []int, f func(i, at int)) {
	st, to := strides(out), make([]int, len(dims))
	for axis := range to {
		if !slices.Contains(a.Axes, axis) {
			to[axis], st = st[0], st[1:]
		}
	}
	forEachAt(dims, 0, to, f)
}

func reduce(kind string, x *Array, axes []int) *Array {
	axes = normAxes(kind, axes, x.Rank())
	if len(axes) == 0 {
		return x
	}
	return apply1(op("reduce"), reduceAttrs{Kind: kind, Axes: axes}, x)
}

// fastExtreme is the maximum or minimum over the axes, or any number if an element is NaN.
func fastExtreme(kind string, x *Array, axes []int) *Array {
	if len(axes) == 0 {
		return x
	}
	return apply1(op("reduce"), reduceAttrs{Kind: kind, Axes: axes, NaN: loseNaN}, x)
}

// broadcastReduced stretches a reduced array over the axes that like lost.
func broadcastReduced(r, like *Array, axes []int) *Array {
	return BroadcastInDim(r, like.Dims(), dropAxes(rangeInts(0, like.Rank()), axes))
}

// productOfOthers is, for every element, the product of all others along axes: exclusive products from both sides, so
// that zeros do no harm. They are taken in the dtype in which the product is.
func productOfOthers(x *Array, axes []int) *Array {
	if d := accumulator("prod", x.DType()); d != x.DType() {
		return Convert(productOfOthers(Convert(x, d), axes), x.DType())
	}
	keep := dropAxes(rangeInts(0, x.Rank()), axes)
	order := slices.Concat(keep, axes)
	flat := Reshape(Transpose(x, order...), append(attr.At(x.Dims(), keep), -1)...)
	last := flat.Rank() - 1
	n := flat.shape.Dims[last]
	one := OnesLike(SliceAxis(flat, last, 0, min(1, n)))
	up := Concatenate(last, one, CumProd(SliceAxis(flat, last, 0, max(0, n-1)), last))
	down := Concatenate(last, Reverse(CumProd(Reverse(SliceAxis(flat, last, min(1, n), n), last), last), last), one)
	return unorder(Reshape(Mul(up, down), attr.At(x.Dims(), order)...), order)
}

// Sum over the given axes, all if none is given. Bools and integers of less than 32 bits are added up, and returned, in
// 32; 16-bit floats are added up as float32 and rounded once.
func Sum(x *Array, axes ...int) *Array { return reduce("sum", widened(x), axes) }

// widened converts bools and narrow integers to 32 bits, in which sums and products of them have room.
func widened(x *Array) *Array {
	switch d := x.DType(); {
	case isInexact(d) || ItemSize(d) >= 4:
		return x
	case isUnsigned(d):
		return Convert(x, Uint32)
	}
	return Convert(x, Int32)
}

// Sum0 is Sum over exactly the given axes: none means none.
func Sum0(x *Array, axes []int) *Array {
	if len(axes) == 0 {
		return x
	}
	return Sum(x, axes...)
}

// Prod is the product over the given axes, all if none is given; narrow dtypes are widened as in Sum.
func Prod(x *Array, axes ...int) *Array { return reduce("prod", widened(x), axes) }

// ReduceMax is the largest element over the given axes, all if none is given; NaN if one of them is. Of no elements
// there is no largest: that is refused.
func ReduceMax(x *Array, axes ...int) *Array {
	someElements("ReduceMax", x, axes)
	return reduce("max", x, axes)
}

// ReduceMin is the smallest element over the given axes, all if none is given; see ReduceMax.
func ReduceMin(x *Array, axes ...int) *Array {
	someElements("ReduceMin", x, axes)
	return reduce("min", x, axes)
}

// someElements refuses to reduce over no elements.
func someElements(name string, x *Array, axes []int) {
	for _, a := range normAxes(name, axes, x.Rank()) {
		if x.shape.Dims[a] == 0 {
			throw(name, "axis %d of %s is empty, and of no elements there is no extreme: put a neutral element in "+
				"front with Concatenate", a, x.shape)
		}
	}
}

// All reports whether every element is true, over the given axes or all.
func All(x *Array, axes ...int) *Array { return reduce("and", Convert(x, Bool), axes) }

// Any reports whether some element is true, over the given axes or all.
func Any(x *Array, axes ...int) *Array { return reduce("or", Convert(x, Bool), axes) }

// ReduceAnd is the bitwise (for bools the logical) and of all elements, over the given axes or all.
func ReduceAnd(x *Array, axes ...int) *Array { return reduce("and", x, axes) }

// ReduceOr is the bitwise (for bools the logical) or of all elements, over the given axes or all.
func ReduceOr(x *Array, axes ...int) *Array { return reduce("or", x, axes) }

// ReduceXor is the bitwise exclusive or of all elements, for bools whether an odd number is true, over the given axes
// or all.
func ReduceXor(x *Array, axes ...int) *Array { return reduce("xor", x, axes) }

// Mean over the given axes, all if none is given; integers as float32. 16-bit floats are rounded after the division,
// so that a large sum does not overflow.
func Mean(x *Array, axes ...int) *Array {
	d := meanType(x)
	s := Sum(inFloat32(x), axes...)
	return Convert(Div(s, float64(x.Size())/math.Max(1, float64(s.Size()))), d)
}

// meanType is the dtype of means of x.
func meanType(x *Array) DType {
	if isInexact(x.DType()) {
		return x.DType()
	}
	return Float32
}

// inFloat32 is x as float32, or as it is where it is float64 or complex.
func inFloat32(x *Array) *Array {
	if x.DType() == Float64 || isComplex(x.DType()) {
		return x
	}
	return Convert(x, Float32)
}

// Variance is the mean squared distance from the mean, over the given axes or all: 0 of equal elements. Of complex
// numbers it is real.
func Variance(x *Array, axes ...int) *Array {
	axes = normAxes("Variance", axes, x.Rank())
	d := realType(meanType(x))
	x = fromFirst(inFloat32(x), axes)
	return Convert(Mean(squaredSize(Sub(x, broadcastReduced(Mean(x, axes...), x, axes))), axes...), d)
}

// fromFirst is x less its first element along axes. What does not depend on a common part is then exact of equal
// elements, whose mean rounds to another number, and keeps the digits that a large common part would cost. Where the
// first element is huge, x stays: the difference of two finite numbers could overflow.
func fromFirst(x *Array, axes []int) *Array {
	if x.Size() == 0 {
		return x
	}
	first := StopGradient(x)
	for _, axis := range axes {
		first = SliceAxis(first, axis, 0, 1)
	}
	return Sub(x, notHuge(first))
}

// notHuge returns x with 0 for elements that are not finite, or large enough to change the largest number of the dtype.
func notHuge(x *Array) *Array {
	f := Finfo(realType(x.DType()))
	return Select(Le(Abs(x), f.Max*f.Eps), x, 0)
}

// realType is the dtype of a real or imaginary part.
func realType(d DType) DType {
	if isComplex(d) {
		return Float32
	}
	return d
}

// squaredSize is the square of the absolute value, a real number.
func squaredSize(x *Array) *Array {
	if isComplex(x.DType()) {
		return Add(Square(Real(x)), Square(Imag(x)))
	}
	return Square(x)
}

// Std is the square root of Variance.
func Std(x *Array, axes ...int) *Array { return Sqrt(Variance(x, axes...)) }

// LogSumExp is log(sum(exp(x))) without overflow, over the given axes or all.
func LogSumExp(x *Array, axes ...int) *Array {
	x, axes = asFloat(x), normAxes("LogSumExp", axes, x.Rank())
	// The largest element cancels out, in derivatives too. A NaN comes with the sum.
	m := StopGradient(fastExtreme("max", x, axes))
	m = Select(IsFinite(m), m, ZerosLike(m))
	return Add(Log(Sum(Exp(Sub(x, broadcastReduced(m, x, axes))), axes...)), m)
}

// Softmax is exp(x) normalized over an axis.
func Softmax(x *Array, axis int) *Array {
	x = asFloat(x)
	axes := []int{checkAxis("Softmax", axis, x.Rank())}
	x = Exp(belowMax(x, axes))
	return Div(x, broadcastReduced(Sum(x, axes...), x, axes))
}

// belowMax is x minus its largest element over the axes. That element counts as a constant: derivatives leave it out. A
// NaN stays in its element.
func belowMax(x *Array, axes []int) *Array {
	return Sub(x, broadcastReduced(StopGradient(fastExtreme("max", x, axes)), x, axes))
}

// LogSoftmax is the logarithm of Softmax.
func LogSoftmax(x *Array, axis int) *Array {
	x = asFloat(x)
	axes := []int{checkAxis("LogSoftmax", axis, x.Rank())}
	// Shifted before the logarithm is taken off: large elements do not swallow it.
	x = belowMax(x, axes)
	return Sub(x, broadcastReduced(Log(Sum(Exp(x), axes...)), x, axes))
}

type argAttrs struct {
	kind string
	axis int
}

var _ = register(&Op{
	Name: "argreduce",
	Shape: func(c *call) []Shape {
		a := c.attrs.(argAttrs)
		checkAxes(c, []int{a.axis}, c.in[0].Rank())
		if c.in[0].Dims[a.axis] == 0 {
			c.fail("axis %d of %s is empty", a.axis, c.in[0])
		}
		return []Shape{c.in[0].remove(a.axis).with(Int32)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(argAttrs)
		axis := shifted(dims[0])(a.axis)
		out := dims[0]
		if axis < out {
			out--
		}
		return []*Array{apply1(n.Op, argAttrs{a.kind, axis}, in[0])}, []int{out}
	},
	NotDifferentiable: "", JVP: zeroJVP, NotLinear: "its result is discrete",
	Lower: lowerArgReduce,
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(argAttrs)
		x := n.Inputs[0]
		d := x.DType()
		it, xt := mlirType(x.shape.with(Int32)), mlirType(x.shape)
		si, sx := stablehlo.Type(Int32), stablehlo.Type(d)
		const mask = "tensor<i1>"
		idx := e.Op("stablehlo.iota", "", fmt.Sprintf("iota_dimension = %d : i64", a.axis), "", it)
		startX := e.identity(a.kind, d)
		startI := e.Constant("dense<0> : "+si, si)
		dir := map[string]string{"max": "GT", "min": "LT"}[a.kind]
		compare := func(dir, x, y string) string { return e.Compare(dir, d, x, y, sx, mask) }
		region := e.Region([]string{sx, si, sx, si}, func(v []string) {
			better := compare(dir, v[0], v[2])
			if isFloat(d) { // a NaN wins, as in NumPy
				better = e.Binary("stablehlo.or", better, compare("NE", v[0], v[0]), mask)
			}
			lower := e.Binary("stablehlo.and", compare("EQ", v[0], v[2]), e.Compare("LT", Int32, v[1], v[3], si, mask),
				mask)
			first := e.Binary("stablehlo.or", better, lower, mask)
			e.Return("stablehlo.return", e.Select(better, v[0], v[2], mask, sx)+", "+
				e.Select(first, v[1], v[3], mask, si), sx+", "+si)
		})
		base := e.Fresh()
		out := n.Outs[0].shape
		e.Ops(base+":2", "stablehlo.reduce", e.ref(x)+", "+idx+", "+startX+", "+startI,
			"dimensions = "+stablehlo.Int64s([]int{a.axis}), xt+", "+it+", "+sx+", "+si,
			mlirType(out.with(d))+", "+mlirType(out), region)
		e.names[n.Outs[0]] = base + "#1"
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(argAttrs)
		x := in[0]
		out := newTensor(n.Outs[0].shape)
		best := newTensor(out.Shape.with(x.Shape.DType))
		st := strides(out.Shape.Dims)
		forEach(x.Shape.Dims, func(i int, idx []int) {
			at := dot(dropAxes(idx, []int{a.axis}), st)
			if idx[a.axis] == 0 || better(a.kind, x, i, best, at) {
				best.V[at] = x.V[i]
				out.SetI(at, int64(idx[a.axis]))
			}
		})
		return []*Tensor{out}
	},
	Cost: costOf(inputElements),
	Cases: func() []Case {
		var cases []Case
		for _, d := range numeric {
			for _, kind := range []string{"max", "min"} {
				cases = append(cases, Case{Name: kind + " " + dtypeName(d), Inputs: []Shape{ShapeOf(d, 3, 5)}, Lo: -2,
					Hi: 2, Rough: true,
					Fn: func(x []*Array) *Array { return apply1(op("argreduce"), argAttrs{kind, 1}, x[0]) }})
			}
		}
		return cases
	},
})

// better reports whether x[i] replaces best[j]: strictly better, or the first NaN.
func better(kind string, x *Tensor, i int, best *Tensor, j int) bool {
	d := x.Shape.DType
	if isFloat(d) && math.IsNaN(best.F(j)) {
		return false
	}
	if isFloat(d) && math.IsNaN(x.F(i)) {
		return true
	}
	if kind == "max" {
		return less(best, j, x, i)
	}
	return less(x, i, best, j)
}

// ArgMax is the int32 index of the first largest element along an axis; a NaN counts as largest.
func ArgMax(x *Array, axis int) *Array { return argReduce("ArgMax", "max", x, axis) }

// ArgMin is the int32 index of the first smallest element along an axis; a NaN counts as smallest.
func ArgMin(x *Array, axis int) *Array { return argReduce("ArgMin", "min", x, axis) }

func argReduce(name, kind string, x *Array, axis int) *Array {
	axis = checkAxis(name, axis, x.Rank())
	if x.shape.Dims[axis] == 0 {
		throw(name, "axis %d of %s is empty; want at least one element", axis, x.shape)
	}
	return apply1(op("argreduce"), argAttrs{kind, axis}, x)
}
