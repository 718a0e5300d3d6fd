package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

type axisAttrs = attr.Axis

var _ = register(&Op{
	Name:    "concatenate",
	Complex: true,
	Shape: func(c *call) []Shape {
		if len(c.in) == 0 {
			c.fail("got no arrays")
		}
		axis := c.attrs.(axisAttrs).Axis
		out := c.in[0].dims(slices.Clone(c.in[0].Dims)...)
		out.Dims[axis] = 0
		for i, s := range c.in {
			if s.DType != out.DType || s.Rank() != out.Rank() || !slices.Equal(dropAxes(s.Dims, []int{axis}),
				dropAxes(out.Dims, []int{axis})) {
				c.fail("array %d is %s, array 0 is %s; want equal dtype and dims but for axis %d", i, s, c.in[0], axis)
			}
			out.Dims[axis] += s.Dims[axis]
		}
		return []Shape{out}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		axis, at := n.Attrs.(axisAttrs).Axis, b.place(n.Outs[0].Rank())
		if out := n.Outs[0]; product(out.Dims()[axis:]) <= shortRun {
			at = out.Rank()
		}
		args := make([]*Array, len(in))
		for i, a := range in {
			args[i] = b.moveTo(a, dims[i], at)
		}
		return []*Array{apply1(n.Op, axisAttrs{Axis: shifted(at)(axis)}, args...)}, []int{at}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		axis := n.Attrs.(axisAttrs).Axis
		out := make([]*Array, len(in))
		start := 0
		for i := range in {
			size := n.Inputs[i].shape.Dims[axis]
			if linear[i] {
				out[i] = SliceAxis(cts[0], axis, start, start+size)
			}
			start += size
		}
		return out
	},
	Emit: func(e *emitter, n *Node) {
		e.generic(n, "stablehlo.concatenate", fmt.Sprintf("dimension = %d : i64", n.Attrs.(axisAttrs).Axis))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		axis := n.Attrs.(axisAttrs).Axis
		out := newTensor(n.Outs[0].shape)
		st := strides(out.Shape.Dims)
		start := 0
		for _, t := range in {
			writeStrided(out, start*st[axis], st, t)
			start += t.Shape.Dims[axis]
		}
		return []*Tensor{out}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 2, 3), ShapeOf(Float32, 2, 1)}, Fn: func(x []*Array) *Array {
			return Concatenate(1, x[0], x[1], x[0])
		}}}
	},
})

// shortRun is the number of elements side by side up to which a concatenation under VMap keeps batch last: it would be
// written one short run a lane otherwise, not one vector of lanes a piece.
const shortRun = 32

// Concatenate joins arrays along an axis; their dtypes are promoted to one.
func Concatenate(axis int, arrays ...*Array) *Array {
	if len(arrays) == 0 {
		throw("Concatenate", "got no arrays, want at least one")
	}
	d := arrays[0].DType()
	for _, a := range arrays {
		d = Promote(d, a.DType())
	}
	in := make([]*Array, len(arrays))
	for i, a := range arrays {
		in[i] = Convert(a, d)
	}
	if len(in) == 1 {
		return in[0]
	}
	return apply1(op("concatenate"), axisAttrs{Axis: checkAxis("Concatenate", axis, arrays[0].Rank())}, in...)
}

// Stack joins arrays of one shape along a new axis.
func Stack(arrays []*Array, axis int) *Array {
	if len(arrays) == 0 {
		throw("Stack", "got no arrays, want at least one")
	}
	axis = checkAxis("Stack", axis, arrays[0].Rank()+1)
	in := make([]*Array, len(arrays))
	for i, a := range arrays {
		in[i] = ExpandDims(a, axis)
	}
	return Concatenate(axis, in...)
}

// padAttrs: low and high may be negative (they cut), interior puts so many elements between neighbors.
type padAttrs struct{ low, high, interior []int }

var _ = register(&Op{
	Name:    "pad",
	Complex: true,
	Shape: func(c *call) []Shape {
		a, x := c.attrs.(padAttrs), c.in[0]
		if len(a.low) != x.Rank() || len(a.high) != x.Rank() || len(a.interior) != x.Rank() {
			c.fail("got paddings for %d, %d, %d axes of %s", len(a.low), len(a.high), len(a.interior), x)
		}
		if !c.in[1].Equal(Shape{DType: x.DType}) {
			c.fail("the padding value is %s, want %s", c.in[1], Shape{DType: x.DType})
		}
		dims := make([]int, x.Rank())
		for i, d := range x.Dims {
			dims[i] = a.low[i] + a.high[i] + d + max(0, d-1)*a.interior[i]
			if dims[i] < 0 || a.interior[i] < 0 {
				c.fail("axis %d of %s with padding %d, %d, interior %d leaves a negative size", i, x, a.low[i],
					a.high[i], a.interior[i])
			}
		}
		return []Shape{x.dims(dims...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(padAttrs)
		at := b.place(n.Outs[0].Rank())
		if dims[1] >= 0 {
			at = 0
		}
		with := func(v []int) []int { return slices.Insert(slices.Clone(v), at, 0) }
		wide := padAttrs{with(a.low), with(a.high), with(a.interior)}
		x := b.moveTo(in[0], dims[0], at)
		if dims[1] < 0 {
			return []*Array{apply1(n.Op, wide, x, in[1])}, []int{at}
		}
		// One padding value a lane: pad with 0, and a mask says where.
		zero := Zeros(Shape{DType: x.DType()})
		padded := apply1(n.Op, wide, x, zero)
		inside := apply1(n.Op, n.Attrs, Full(Shape{Bool, n.Inputs[0].Dims()}, true), Scalar(false))
		return []*Array{
			Select(inside, padded,
				Reshape(in[1], append([]int{b.size}, slices.Repeat([]int{1}, inside.Rank())...)...))}, []int{0}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(padAttrs)
		out := make([]*Array, 2)
		neg := func(v []int) []int { return mapInts(v, func(x int) int { return -x }) }
		zero := make([]int, len(a.low))
		cut := apply1(op("pad"), padAttrs{neg(a.low), neg(a.high), zero}, cts[0], Zeros(Shape{DType: cts[0].DType()}))
		x := StridedSlice(cut, zero, cut.Dims(), mapInts(a.interior, func(i int) int { return i + 1 }))
		if linear[0] {
			out[0] = x
		}
		if linear[1] {
			out[1] = Sub(Sum(cts[0]), Sum(x))
		}
		return out
	},
	Lower: lowerPad,
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(padAttrs)
		e.generic(n, "stablehlo.pad",
			fmt.Sprintf("edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s", stablehlo.Int64s(a.low),
				stablehlo.Int64s(a.high), stablehlo.Int64s(a.interior)))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(padAttrs)
		out := newTensor(n.Outs[0].shape)
		for i := range out.V {
			out.V[i] = in[1].V[0]
		}
		st := strides(out.Shape.Dims)
		forEach(in[0].Shape.Dims, func(i int, idx []int) {
			at := 0
			for k, x := range idx {
				p := a.low[k] + x*(1+a.interior[k])
				if p < 0 || p >= out.Shape.Dims[k] {
					return
				}
				at += p * st[k]
			}
			out.V[at] = in[0].V[i]
		})
		return []*Tensor{out}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 2, 3), ShapeOf(Float32)}, Fn: func(x []*Array) *Array {
			return PadConfig(x[0], x[1], []int{1, 0}, []int{-1, 2}, []int{0, 1})
		}},
			{Name: "cut", Inputs: []Shape{ShapeOf(Float32, 5)}, Fn: func(x []*Array) *Array {
				return PadConfig(x[0], 0, []int{-1}, []int{-2}, []int{1})
			}}}
	},
})

// Pad puts value around x: before[i] elements before and after[i] after, along axis i.
func Pad(x *Array, value any, before, after []int) *Array {
	return PadConfig(x, value, before, after, make([]int, x.Rank()))
}

// PadConfig is Pad with interior elements between neighbors; negative counts cut.
func PadConfig(x *Array, value any, low, high, interior []int) *Array {
	v, s := operand("Pad", value)
	if v == nil {
		v = s.exactly("Pad", x.DType())
	}
	return apply1(op("pad"), padAttrs{low, high, interior}, x, Convert(v, x.DType()))
}

type sliceAttrs = attr.Slice

var _ = register(&Op{
	Name:    "slice",
	Complex: true,
	Shape: func(c *call) []Shape {
		a, x := c.attrs.(sliceAttrs), c.in[0]
		if len(a.Start) != x.Rank() || len(a.Limit) != x.Rank() || len(a.Stride) != x.Rank() {
			c.fail("got bounds for %d, %d, %d axes of %s", len(a.Start), len(a.Limit), len(a.Stride), x)
		}
		dims := make([]int, x.Rank())
		for i, d := range x.Dims {
			if a.Start[i] < 0 || a.Limit[i] > d || a.Start[i] > a.Limit[i] || a.Stride[i] < 1 {
				c.fail("axis %d of %s: from %d to %d by %d; want 0 <= from <= to <= %d and a step of at least 1", i, x,
					a.Start[i], a.Limit[i], a.Stride[i], d)
			}
			dims[i] = (a.Limit[i] - a.Start[i] + a.Stride[i] - 1) / a.Stride[i]
		}
		return []Shape{x.dims(dims...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(sliceAttrs)
		at := dims[0]
		with := func(v []int, x int) []int { return slices.Insert(slices.Clone(v), at, x) }
		return []*Array{StridedSlice(in[0], with(a.Start, 0), with(a.Limit, b.size), with(a.Stride, 1))}, dims
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a, x := n.Attrs.(sliceAttrs), n.Inputs[0].shape
		high, interior := make([]int, x.Rank()), make([]int, x.Rank())
		for i, d := range x.Dims {
			interior[i] = a.Stride[i] - 1
			k := cts[0].shape.Dims[i]
			high[i] = d - a.Start[i] - (k + max(0, k-1)*interior[i])
		}
		return []*Array{PadConfig(cts[0], 0, a.Start, high, interior)}
	},
	Lower: partOfStack,
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(sliceAttrs)
		e.generic(n, "stablehlo.slice", fmt.Sprintf("start_indices = %s, limit_indices = %s, strides = %s",
			stablehlo.Int64s(a.Start), stablehlo.Int64s(a.Limit), stablehlo.Int64s(a.Stride)))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(sliceAttrs)
		st := strides(in[0].Shape.Dims)
		base := dot(a.Start, st)
		for i := range st {
			st[i] *= a.Stride[i]
		}
		return []*Tensor{moveStrided(n.Outs[0].shape, in[0], base, st)}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 4, 7)}, Fn: func(x []*Array) *Array {
			return StridedSlice(x[0], []int{1, 0}, []int{3, 7}, []int{1, 3})
		}}}
	},
})

// Slice takes elements start[i] up to, not including, limit[i] along each axis i.
func Slice(x *Array, start, limit []int) *Array {
	return StridedSlice(x, start, limit, slices.Repeat([]int{1}, x.Rank()))
}

// StridedSlice is Slice with a step along each axis.
func StridedSlice(x *Array, start, limit, stride []int) *Array {
	if slices.Equal(limit, x.Dims()) && slices.Max(append([]int{0}, start...)) == 0 &&
		slices.Max(append([]int{1}, stride...)) == 1 && len(start) == x.Rank() {
		return x
	}
	return apply1(op("slice"), sliceAttrs{Start: slices.Clone(start), Limit: slices.Clone(limit),
		Stride: slices.Clone(stride)}, x)
}

// SliceAxis takes elements start up to limit along one axis; negative bounds count from the end.
func SliceAxis(x *Array, axis, start, limit int) *Array {
	axis = checkAxis("SliceAxis", axis, x.Rank())
	lo, hi := make([]int, x.Rank()), slices.Clone(x.Dims())
	n := hi[axis]
	if start < 0 {
		start += n
	}
	if limit < 0 {
		limit += n
	}
	lo[axis], hi[axis] = start, limit
	return Slice(x, lo, hi)
}

// Index takes element i (negative: from the end) along axis 0, which goes away.
func Index(x *Array, i int) *Array { return index(x, 0, i) }

// IndexAxis takes element i along an axis, which goes away.
func IndexAxis(x *Array, axis, i int) *Array {
	return index(x, checkAxis("IndexAxis", axis, x.Rank()), i)
}

func index(x *Array, axis, i int) *Array {
	if x.Rank() == 0 {
		throw("Index", "a scalar has no axis to index")
	}
	n := x.shape.Dims[axis]
	if i < -n || i >= n {
		throw("Index", "element %d of an axis of size %d", i, n)
	}
	if i < 0 {
		i += n
	}
	return Squeeze(SliceAxis(x, axis, i, i+1), axis)
}

type sizesAttrs struct{ sizes []int }

// starts reads the clamped start indices of a dynamic slice.
func starts(in []*Tensor, dims, sizes []int) []int {
	out := make([]int, len(dims))
	for i := range dims {
		var x int64
		if isUnsigned(in[i].Shape.DType) {
			x = int64(min(in[i].U(0), 1<<40))
		} else {
			x = in[i].I(0)
		}
		out[i] = int(min(max(x, 0), int64(dims[i]-sizes[i])))
	}
	return out
}

func checkStarts(c *call, first, rank int) {
	if len(c.in) != first+rank {
		c.fail("got %d start indices for rank %d", len(c.in)-first, rank)
	}
	for i, s := range c.in[first:] {
		if s.Rank() != 0 || !isInt(s.DType) {
			c.fail("start index %d is %s, want an integer scalar", i, s)
		}
	}
}

var _ = register(&Op{
	Name:    "dynamic_slice",
	Complex: true,
	Shape: func(c *call) []Shape {
		sizes, x := c.attrs.(sizesAttrs).sizes, c.in[0]
		if len(sizes) != x.Rank() {
			c.fail("got %d sizes for %s", len(sizes), x)
		}
		checkStarts(c, 1, x.Rank())
		for i, s := range sizes {
			if s < 0 || s > x.Dims[i] {
				c.fail("size %d along axis %d of %s", s, i, x)
			}
		}
		return []Shape{x.dims(sizes...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		sizes := n.Attrs.(sizesAttrs).sizes
		if !slices.ContainsFunc(dims[1:], func(d int) bool { return d >= 0 }) {
			zero := Zeros(Shape{DType: in[1].DType()})
			at := dims[0]
			args := slices.Insert(slices.Clone(in), 1+at, zero)
			return []*Array{apply1(n.Op, sizesAttrs{slices.Insert(slices.Clone(sizes), at, b.size)}, args...)},
				[]int{at}
		}
		return batchDynamicSlice(b, sizes, in, dims), []int{0}
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return apply(n.Op, n.Attrs, append([]*Array{t[0]}, in[1:]...))
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		out := make([]*Array, len(in))
		out[0] = apply1(op("dynamic_update_slice"), nil, append([]*Array{Zeros(n.Inputs[0].shape), cts[0]},
			in[1:]...)...)
		return out
	},
	Emit: func(e *emitter, n *Node) {
		e.generic(n, "stablehlo.dynamic_slice", "slice_sizes = "+stablehlo.Int64s(n.Attrs.(sizesAttrs).sizes))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		x := in[0]
		at := starts(in[1:], x.Shape.Dims, n.Attrs.(sizesAttrs).sizes)
		st := strides(x.Shape.Dims)
		return []*Tensor{moveStrided(n.Outs[0].shape, x, dot(at, st), st)}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 4, 5), ShapeOf(Int32), ShapeOf(Int32)}, Lo: -1, Hi: 5,
			Fn: func(x []*Array) *Array { return DynamicSlice(x[0], []*Array{x[1], x[2]}, []int{2, 3}) }}}
	},
})

// DynamicSlice takes a block of the given sizes at start indices that are computed: one integer scalar an axis, of any
// integer dtypes. Blocks that would leave the array are moved inside, so a negative start is 0, as in StableHLO. (JAX
// counts it from the end, unless allow_negative_indices is False.)
func DynamicSlice(x *Array, start []*Array, sizes []int) *Array {
	return apply1(op("dynamic_slice"), sizesAttrs{slices.Clone(sizes)}, append([]*Array{x}, startIndices(start)...)...)
}

// DynamicIndex takes element i (an integer scalar, moved into range) along an axis, which goes away.
func DynamicIndex(x, i *Array, axis int) *Array {
	axis = checkAxis("DynamicIndex", axis, x.Rank())
	sizes := slices.Clone(x.Dims())
	sizes[axis] = 1
	return Squeeze(DynamicSlice(x, startAlong(axis, i, x.Rank()), sizes), axis)
}

var _ = register(&Op{
	Name:    "dynamic_update_slice",
	Complex: true,
	Shape: func(c *call) []Shape {
		x, u := c.in[0], c.in[1]
		if u.DType != x.DType || u.Rank() != x.Rank() {
			c.fail("update is %s, want the dtype and rank of %s", u, x)
		}
		for i := range u.Dims {
			if u.Dims[i] > x.Dims[i] {
				c.fail("update %s is larger than %s along axis %d", u, x, i)
			}
		}
		checkStarts(c, 2, x.Rank())
		return c.in[:1]
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		if !slices.ContainsFunc(dims[2:], func(d int) bool { return d >= 0 }) {
			zero := Zeros(Shape{DType: in[2].DType()})
			at := b.place(n.Outs[0].Rank())
			args := append([]*Array{b.moveTo(in[0], dims[0], at), b.moveTo(in[1], dims[1], at)},
				slices.Insert(slices.Clone(in[2:]), at, zero)...)
			return []*Array{apply1(n.Op, nil, args...)}, []int{at}
		}
		return batchDynamicUpdateSlice(b, in, dims), []int{0}
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		x, update := orZeros(t[0], in[0].shape), orZeros(t[1], in[1].shape)
		return apply(n.Op, nil, append([]*Array{x, update}, in[2:]...))
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		out := make([]*Array, len(in))
		if linear[0] {
			out[0] = apply1(n.Op, nil, append([]*Array{cts[0], Zeros(n.Inputs[1].shape)}, in[2:]...)...)
		}
		if linear[1] {
			out[1] = DynamicSlice(cts[0], in[2:], n.Inputs[1].Dims())
		}
		return out
	},
	WritesParts:  writesLarge,
	Write:        writeWithKernel,
	WriteSeconds: blockSeconds,
	Emit:         hlo("stablehlo.dynamic_update_slice"),
	Eval:         func(n *Node, in []*Tensor) []*Tensor { return []*Tensor{writeBlock(in)} },
	Cost:         func(n *Node, _ func(*Node) int) Cost { return Cost{Bytes: 2 * bytesOf(n.Inputs[1:2])} },
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 4, 5), ShapeOf(Float32, 2, 3), ShapeOf(Int32), ShapeOf(Int32)},
			Lo: -1, Hi: 5,
			Fn: func(x []*Array) *Array { return DynamicUpdateSlice(x[0], x[1], []*Array{x[2], x[3]}) }}}
	},
})

// writeBlock is the reference of dynamic_update_slice.
func writeBlock(in []*Tensor) *Tensor {
	out := &Tensor{in[0].Shape, slices.Clone(in[0].V)}
	st := strides(out.Shape.Dims)
	base := dot(starts(in[2:], out.Shape.Dims, in[1].Shape.Dims), st)
	writeStrided(out, base, st, in[1])
	return out
}

// DynamicUpdateSlice writes a block over x at computed start indices. Blocks that would leave the array are moved
// inside, so a negative start is 0, as in DynamicSlice.
func DynamicUpdateSlice(x, update *Array, start []*Array) *Array {
	return apply1(op("dynamic_update_slice"), nil, append([]*Array{x, Convert(update, x.DType())},
		startIndices(start)...)...)
}

// DynamicUpdateIndex writes element i (an integer scalar, moved into range) along an axis.
func DynamicUpdateIndex(x, update, i *Array, axis int) *Array {
	axis = checkAxis("DynamicUpdateIndex", axis, x.Rank())
	return DynamicUpdateSlice(x, ExpandDims(update, axis), startAlong(axis, i, x.Rank()))
}
