package graph

import "math"

// Reduction says how to reduce an array, where the plain functions (Sum, Mean, …) do not: which elements count, and
// whether the reduced axes stay. The zero value reduces over all axes, as they do.
//
//	mean := graph.Reduction{Axes: []int{1}, KeepDims: true, Where: mask}.Mean(x)
type Reduction struct {
	Axes     []int   // none: all
	KeepDims bool    // reduced axes stay, with size 1
	Where    *Array  // bools that broadcast to the array: what counts; nil: all elements
	DDof     float64 // of Variance and Std: what is taken off the number of elements; 1 for a sample's variance
}

// run reduces x, in which elements that do not count are replaced by what changes nothing.
func (r Reduction) run(name string, x *Array, neutral any, reduce func(x *Array, axes ...int) *Array) *Array {
	axes := normAxes(name, r.Axes, x.Rank())
	if r.Where != nil {
		x = Select(r.mask(name, x), x, neutral)
	}
	y := x
	if len(axes) > 0 {
		y = reduce(x, axes...)
	}
	if !r.KeepDims {
		return y
	}
	dims := append([]int{}, x.Dims()...)
	for _, a := range axes {
		dims[a] = 1
	}
	return Reshape(y, dims...)
}

// mask is Where in x's shape.
func (r Reduction) mask(name string, x *Array) *Array {
	if r.Where.DType() != Bool {
		throw(name, "Where is %s, want bools", r.Where.shape)
	}
	return BroadcastTo(r.Where, x.Dims()...)
}

// count is how many elements count, in the dtype of x.
func (r Reduction) count(name string, x *Array) *Array {
	if r.Where == nil {
		n := 1
		for _, a := range normAxes(name, r.Axes, x.Rank()) {
			n *= x.shape.Dims[a]
		}
		return Full(Shape{DType: x.DType()}, float64(n))
	}
	plain := Reduction{Axes: r.Axes, KeepDims: r.KeepDims}
	return Convert(plain.Sum(Convert(r.mask(name, x), Int32)), x.DType())
}

// Sum adds up; of nothing it is 0.
func (r Reduction) Sum(x *Array) *Array { return r.run("Reduction.Sum", widened(x), 0, Sum) }

// Prod multiplies; of nothing it is 1.
func (r Reduction) Prod(x *Array) *Array { return r.run("Reduction.Prod", widened(x), 1, Prod) }

// Max is the largest element; of nothing it is the smallest value of the dtype (-Inf for floats).
func (r Reduction) Max(x *Array) *Array {
	return r.run("Reduction.Max", x, reduceKinds["max"].start(x.DType()).Array(), ReduceMax)
}

// Min is the smallest element; of nothing it is the largest value of the dtype (+Inf for floats).
func (r Reduction) Min(x *Array) *Array {
	return r.run("Reduction.Min", x, reduceKinds["min"].start(x.DType()).Array(), ReduceMin)
}

// All returns whether every element that counts is true.
func (r Reduction) All(x *Array) *Array { return r.run("Reduction.All", Convert(x, Bool), true, All) }

// Any returns whether an element that counts is true.
func (r Reduction) Any(x *Array) *Array { return r.run("Reduction.Any", Convert(x, Bool), false, Any) }

// Mean is the mean; of nothing it is NaN.
func (r Reduction) Mean(x *Array) *Array {
	d := meanType(x)
	x = inFloat32(x)
	return Convert(Div(r.Sum(x), r.count("Reduction.Mean", x)), d)
}

// Variance is the sum of squared distances from the mean over the number of elements less DDof: 0 of equal elements,
// NaN where the number is 0 or less.
func (r Reduction) Variance(x *Array) *Array {
	const name = "Reduction.Variance"
	d := realType(meanType(x))
	x = inFloat32(x)
	kept := r
	kept.KeepDims = true
	if r.Where == nil {
		x = fromFirst(x, normAxes(name, r.Axes, x.Rank()))
	} else if d := x.DType(); !isComplex(d) {
		x = Sub(x, notHuge(StopGradient(kept.Max(x))))
	}
	apart := squaredSize(Sub(x, kept.Mean(x)))
	n := Sub(r.count(name, apart), r.DDof)
	return Convert(Select(Gt(n, 0), Div(r.Sum(apart), n), math.NaN()), d)
}

// Deviation is x less its mean over Axes, as float32 unless x is float64 or complex. It keeps the digits that a large
// common part would cost.
func (r Reduction) Deviation(x *Array) *Array {
	x = inFloat32(x)
	if r.Where == nil {
		x = fromFirst(x, normAxes("Reduction.Deviation", r.Axes, x.Rank()))
	}
	return Sub(x, Reduction{Axes: r.Axes, KeepDims: true, Where: r.Where}.Mean(x))
}

// Std is the square root of Variance.
func (r Reduction) Std(x *Array) *Array { return Sqrt(r.Variance(x)) }

// LogSumExp is log(sum(exp(x))) without overflow; of nothing it is -Inf.
func (r Reduction) LogSumExp(x *Array) *Array {
	return r.run("Reduction.LogSumExp", asFloat(x), math.Inf(-1), LogSumExp)
}
