package graph

import (
	"fmt"
	"reflect"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

// moveTensor builds a tensor whose element at an index is in's element number from(index).
func moveTensor(shape Shape, in *Tensor, from func(idx []int) int) *Tensor {
	out := newTensor(shape)
	forEach(shape.Dims, func(i int, idx []int) { out.V[i] = in.V[from(idx)] })
	return out
}

// moveStrided builds a tensor whose element at an index is in's element number base plus the sum of index times
// strides.
func moveStrided(shape Shape, in *Tensor, base int, strides []int) *Tensor {
	out := newTensor(shape)
	forEachRow(shape.Dims, base, strides, func(flat, at, n, stride int) {
		row := out.V[flat : flat+n]
		if stride == 1 {
			copy(row, in.V[at:])
			return
		}
		for i := range row {
			row[i] = in.V[at]
			at += stride
		}
	})
	return out
}

// writeStrided is the inverse: it writes the elements of in into out.
func writeStrided(out *Tensor, base int, strides []int, in *Tensor) {
	forEachRow(in.Shape.Dims, base, strides, func(flat, at, n, stride int) {
		row := in.V[flat : flat+n]
		if stride == 1 {
			copy(out.V[at:], row)
			return
		}
		for _, v := range row {
			out.V[at] = v
			at += stride
		}
	})
}

// forEachAt walks the indices of dims in row-major order. It gives base plus the sum of index times strides.
func forEachAt(dims []int, base int, strides []int, f func(flat, at int)) {
	forEachRow(dims, base, strides, func(flat, at, n, stride int) {
		for i := range n {
			f(flat+i, at+i*stride)
		}
	})
}

// forEachRow is forEachAt by rows of n elements, each a stride further. Axes that are walked like one make one row.
func forEachRow(dims []int, base int, strides []int, f func(flat, at, n, stride int)) {
	if product(dims) == 0 {
		return
	}
	var sizes, steps, indices [8]int // of more axes they are on the heap
	size, step := sizes[:0], steps[:0]
	for a, n := range dims {
		switch last := len(size) - 1; {
		case n == 1:
		case last >= 0 && step[last] == n*strides[a]:
			size[last], step[last] = n*size[last], strides[a]
		default:
			size, step = append(size, n), append(step, strides[a])
		}
	}
	if len(size) == 0 {
		f(0, base, 1, 1)
		return
	}
	last := len(size) - 1
	idx, n := append(indices[:0], make([]int, last)...), size[last]
	for row := range product(size[:last]) {
		f(row*n, base, n, step[last])
		for a := last - 1; a >= 0; a-- {
			base += step[a]
			if idx[a]++; idx[a] < size[a] {
				break
			}
			base -= size[a] * step[a]
			idx[a] = 0
		}
	}
}

// forEach walks the indices of dims in row-major order.
func forEach(dims []int, f func(flat int, idx []int)) {
	idx := make([]int, len(dims))
	for i := range product(dims) {
		f(i, idx)
		for a := len(dims) - 1; a >= 0; a-- {
			if idx[a]++; idx[a] < dims[a] {
				break
			}
			idx[a] = 0
		}
	}
}

// offsets is the sum of index times strides for each index of dims in row-major order.
func offsets(dims, strides []int) []int {
	out := make([]int, product(dims))
	forEachAt(dims, 0, strides, func(i, at int) { out[i] = at })
	return out
}

func dot(a, b []int) int {
	s := 0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

type constantAttrs struct {
	shape Shape
	bytes string
}

func (c constantAttrs) String() string { return tensorFromBytes(c.shape, []byte(c.bytes)).format() }

var constantOp *Op // set in init: trace.go makes constants, and rules trace

func init() {
	constantOp = register(&Op{
		Name:    "constant",
		Complex: true,
		Shape:   func(c *call) []Shape { return []Shape{c.attrs.(constantAttrs).shape} },
		Batch:   noInputs,
		JVP:     zeroJVP, NotLinear: "it has no inputs",
		Emit: func(e *emitter, n *Node) {
			c := n.Attrs.(constantAttrs)
			e.generic(n, "stablehlo.constant", "value = "+stablehlo.Dense(c.shape.DType, c.shape.Dims, []byte(c.bytes)))
		},
		Eval: func(n *Node, in []*Tensor) []*Tensor {
			c := n.Attrs.(constantAttrs)
			return []*Tensor{tensorFromBytes(c.shape, []byte(c.bytes))}
		},
		Cost: costFree,
		Cases: func() []Case {
			return []Case{
				{Inputs: []Shape{ShapeOf(Float32, 3)}, Fn: func(x []*Array) *Array {
					return Add(x[0], Float32s([]float32{1, -2.5, 3}))
				}},
				{Name: "bool", Inputs: []Shape{ShapeOf(Bool, 3)}, Rough: true, Fn: func(x []*Array) *Array {
					return Xor(x[0], Of([]bool{true, false, true}))
				}},
				{Name: "i8", Inputs: []Shape{ShapeOf(Int8, 2)}, Rough: true, Fn: func(x []*Array) *Array {
					return Add(x[0], Of([]int8{-1, 7}))
				}},
			}
		},
	})
}

// noInputs is the vmap rule of ops without array inputs: they are never batched.
func noInputs(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	return apply(n.Op, n.Attrs, in), slices.Repeat([]int{-1}, len(n.Outs))
}

type iotaAttrs struct {
	shape Shape
	axis  int
}

func (a iotaAttrs) String() string { return fmt.Sprintf("{axis:%d}", a.axis) }

var _ = register(&Op{
	Name:    "iota",
	Complex: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(iotaAttrs)
		if a.shape.DType == Bool {
			c.fail("got %s, want a number", a.shape)
		}
		return []Shape{a.shape}
	},
	Batch: noInputs, JVP: zeroJVP, NotLinear: "it has no inputs",
	Emit: func(e *emitter, n *Node) {
		e.generic(n, "stablehlo.iota", fmt.Sprintf("iota_dimension = %d : i64", n.Attrs.(iotaAttrs).axis))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(iotaAttrs)
		out := newTensor(a.shape)
		forEach(a.shape.Dims, func(i int, idx []int) {
			if isInexact(a.shape.DType) {
				out.SetF(i, float64(idx[a.axis]))
			} else {
				out.SetI(i, int64(idx[a.axis]))
			}
		})
		return []*Tensor{out}
	},
	Cost: costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 2, 3)}, Fn: func(x []*Array) *Array {
			return Add(x[0], IotaAxis(ShapeOf(Float32, 2, 3), 1))
		}},
			{Name: "u8", Inputs: []Shape{ShapeOf(Uint8, 4)}, Rough: true, Fn: func(x []*Array) *Array {
				return Add(x[0], IotaAxis(ShapeOf(Uint8, 4), 0))
			}}}
	},
})

// Iota is the int32 array 0, 1, …, n-1.
func Iota(n int) *Array { return IotaAxis(ShapeOf(Int32, n), 0) }

// IotaAxis counts 0, 1, … along one axis of a shape. An integer dtype has to hold the last number.
func IotaAxis(s Shape, axis int) *Array {
	axis = checkAxis("IotaAxis", axis, s.Rank())
	if n := s.Dims[axis]; n > 0 && isInt(s.DType) {
		scalar{reflect.ValueOf(n - 1)}.array("IotaAxis", s.DType)
	}
	return apply1(op("iota"), iotaAttrs{s, axis})
}

type broadcastAttrs = attr.Broadcast

var _ = register(&Op{
	Name:    "broadcast_in_dim",
	Complex: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(broadcastAttrs)
		if len(a.Axes) != c.in[0].Rank() {
			c.fail("got %d axes for %s", len(a.Axes), c.in[0])
		}
		for i, ax := range a.Axes {
			if d := c.in[0].Dims[i]; ax < 0 || ax >= len(a.Dims) || d != 1 && d != a.Dims[ax] {
				c.fail("axis %d of %s does not fit axis %d of %v", i, c.in[0], ax, a.Dims)
			}
		}
		return []Shape{c.in[0].dims(a.Dims...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(broadcastAttrs)
		if b.last {
			r := len(a.Dims)
			x := b.moveTo(in[0], dims[0], len(a.Axes))
			return []*Array{BroadcastInDim(x, append(slices.Clone(a.Dims), b.size), append(slices.Clone(a.Axes), r))},
				[]int{r}
		}
		axes := append([]int{0}, mapInts(a.Axes, shifted(0))...)
		return []*Array{BroadcastInDim(b.moveTo(in[0], dims[0], 0), append([]int{b.size}, a.Dims...), axes)}, []int{0}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(broadcastAttrs)
		var sum []int
		x := n.Inputs[0].shape
		for i := range a.Dims {
			if j := slices.Index(a.Axes, i); j < 0 || x.Dims[j] != a.Dims[i] {
				sum = append(sum, i)
			}
		}
		// Broadcast axes are in increasing order wherever this package makes them; a transposing broadcast is undone
		// too.
		s := Sum(cts[0], sum...)
		var kept []int
		for i := range a.Axes {
			if !slices.Contains(sum, a.Axes[i]) {
				kept = append(kept, a.Axes[i])
			}
		}
		order := slices.Clone(kept)
		slices.Sort(order)
		return []*Array{Reshape(Transpose(s, mapInts(kept, func(k int) int {
			return slices.Index(order, k)
		})...), x.Dims...)}
	},
	Emit: func(e *emitter, n *Node) {
		axes := n.Attrs.(broadcastAttrs).Axes
		e.generic(n, "stablehlo.broadcast_in_dim", "broadcast_dimensions = "+stablehlo.Int64s(axes))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		if len(in[0].V) == 1 {
			out := newTensor(n.Outs[0].shape)
			for i := range out.V {
				out.V[i] = in[0].V[0]
			}
			return []*Tensor{out}
		}
		a := n.Attrs.(broadcastAttrs)
		st, to := strides(in[0].Shape.Dims), make([]int, len(n.Outs[0].shape.Dims))
		for i, ax := range a.Axes {
			if in[0].Shape.Dims[i] != 1 {
				to[ax] = st[i]
			}
		}
		return []*Tensor{moveStrided(n.Outs[0].shape, in[0], 0, to)}
	},
	Cost: costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3, 1)}, Fn: func(x []*Array) *Array {
			return BroadcastInDim(x[0], []int{2, 3, 4}, []int{1, 2})
		}},
			{Name: "scalar", Inputs: []Shape{ShapeOf(Float32)}, Fn: func(x []*Array) *Array {
				return BroadcastTo(x[0], 2, 3)
			}},
			{Name: "crossed", Inputs: []Shape{ShapeOf(Float32, 3, 2)}, Fn: func(x []*Array) *Array {
				return BroadcastInDim(x[0], []int{2, 4, 3}, []int{2, 0})
			}}}
	},
})

// BroadcastInDim is x with dims: axis i of x becomes axis axes[i], with its size or, from 1, a larger one
// (jax.lax.broadcast_in_dim).
func BroadcastInDim(x *Array, dims, axes []int) *Array {
	if slices.Equal(x.Dims(), dims) && slices.IsSorted(axes) {
		return x
	}
	return apply1(op("broadcast_in_dim"), broadcastAttrs{Dims: slices.Clone(dims), Axes: axes}, x)
}

// BroadcastTo stretches x to dims (NumPy's rules).
func BroadcastTo(x *Array, dims ...int) *Array {
	if slices.Equal(x.Dims(), dims) {
		return x
	}
	if x.Rank() > len(dims) {
		throw("BroadcastTo", "got %s, which has more axes than %v", x.shape, dims)
	}
	return BroadcastInDim(x, dims, rangeInts(len(dims)-x.Rank(), len(dims)))
}

type dimsAttrs struct{ dims []int }

var _ = register(&Op{
	Name:    "reshape",
	Complex: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(dimsAttrs)
		if product(a.dims) != c.in[0].Size() {
			c.fail("cannot make %v of %s: %d elements, want %d", a.dims, c.in[0], c.in[0].Size(), product(a.dims))
		}
		return []Shape{c.in[0].dims(a.dims...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		to := slices.Clone(n.Attrs.(dimsAttrs).dims)
		at := b.place(len(to))
		return []*Array{Reshape(b.moveTo(in[0], dims[0], b.place(n.Inputs[0].Rank())),
			slices.Insert(to, at, b.size)...)}, []int{at}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{Reshape(cts[0], n.Inputs[0].Dims()...)}
	},
	Emit: hlo("stablehlo.reshape"),
	Eval: func(n *Node, in []*Tensor) []*Tensor { return []*Tensor{{n.Outs[0].shape, in[0].V}} },
	Cost: costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3, 4)}, Fn: func(x []*Array) *Array {
			return Reshape(x[0], 2, -1)
		}}}
	},
})

// Reshape gives the elements, in row-major order, other dims; one of them may be -1 and is computed.
func Reshape(x *Array, dims ...int) *Array {
	dims = slices.Clone(dims)
	if i := slices.Index(dims, -1); i >= 0 {
		if slices.Contains(dims[i+1:], -1) {
			throw("Reshape", "got %v for %s; want -1 for one axis at most: the other sizes follow from nothing", dims,
				x.shape)
		}
		dims[i] = 1
		rest := product(dims)
		if rest == 0 || x.Size()%rest != 0 {
			dims[i] = -1
			throw("Reshape", "cannot make %v of %s: %d elements do not divide", dims, x.shape, x.Size())
		}
		dims[i] = x.Size() / rest
	}
	if slices.Equal(x.Dims(), dims) {
		return x
	}
	return apply1(op("reshape"), dimsAttrs{dims}, x)
}

type permAttrs struct{ perm []int }

var _ = register(&Op{
	Name:    "transpose",
	Complex: true,
	Shape: func(c *call) []Shape {
		p := c.attrs.(permAttrs).perm
		sorted := slices.Clone(p)
		slices.Sort(sorted)
		if !slices.Equal(sorted, rangeInts(0, c.in[0].Rank())) {
			c.fail("permutation %v does not name each axis of %s once", p, c.in[0])
		}
		return []Shape{c.in[0].dims(mapInts(p, func(i int) int { return c.in[0].Dims[i] })...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		d := dims[0]
		p := mapInts(n.Attrs.(permAttrs).perm, shifted(d))
		at := b.place(len(p))
		return []*Array{Transpose(in[0], slices.Insert(p, at, d)...)}, []int{at}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{unorder(cts[0], n.Attrs.(permAttrs).perm)}
	},
	Lower: lowerTranspose,
	Emit: func(e *emitter, n *Node) {
		e.generic(n, "stablehlo.transpose", "permutation = "+stablehlo.Int64s(n.Attrs.(permAttrs).perm))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		p := n.Attrs.(permAttrs).perm
		st := strides(in[0].Shape.Dims)
		ps := attr.At(st, p)
		return []*Tensor{moveStrided(n.Outs[0].shape, in[0], 0, ps)}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 2, 3, 4)}, Fn: func(x []*Array) *Array {
			return Transpose(x[0], 2, 0, 1)
		}}}
	},
})

// Transpose permutes the axes: result axis i is x's axis perm[i]. Without perm the axes are reversed.
func Transpose(x *Array, perm ...int) *Array {
	if len(perm) == 0 && x.Rank() > 0 {
		perm = rangeInts(0, x.Rank())
		slices.Reverse(perm)
	}
	perm = mapInts(perm, func(a int) int { return checkAxis("Transpose", a, x.Rank()) })
	if slices.Equal(perm, rangeInts(0, x.Rank())) {
		return x
	}
	return apply1(op("transpose"), permAttrs{perm}, x)
}

// MoveAxis moves one axis and keeps the order of the others.
func MoveAxis(x *Array, from, to int) *Array {
	from, to = checkAxis("MoveAxis", from, x.Rank()), checkAxis("MoveAxis", to, x.Rank())
	if from == to {
		return x
	}
	perm := dropAxes(rangeInts(0, x.Rank()), []int{from})
	return Transpose(x, slices.Insert(perm, to, from)...)
}

type axesAttrs struct{ axes []int }

var _ = register(&Op{
	Name:    "reverse",
	Complex: true,
	Shape: func(c *call) []Shape {
		checkAxes(c, c.attrs.(axesAttrs).axes, c.in[0].Rank())
		return c.in[:1]
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		axes := mapInts(n.Attrs.(axesAttrs).axes, shifted(dims[0]))
		return []*Array{apply1(n.Op, axesAttrs{axes}, in[0])}, dims
	},
	JVP:       linearJVP,
	Transpose: selfTranspose,
	Emit: func(e *emitter, n *Node) {
		e.generic(n, "stablehlo.reverse", "dimensions = "+stablehlo.Int64s(n.Attrs.(axesAttrs).axes))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		s := in[0].Shape
		st, base := strides(s.Dims), 0
		for _, axis := range n.Attrs.(axesAttrs).axes {
			base += (s.Dims[axis] - 1) * st[axis]
			st[axis] *= -1
		}
		return []*Tensor{moveStrided(s, in[0], base, st)}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 2, 3)}, Fn: func(x []*Array) *Array {
			return Reverse(x[0], 1)
		}}}
	},
})

// Reverse turns the given axes around; all of them if none is given.
func Reverse(x *Array, axes ...int) *Array {
	axes = normAxes("Reverse", axes, x.Rank())
	if len(axes) == 0 {
		return x
	}
	return apply1(op("reverse"), axesAttrs{axes}, x)
}

func checkAxes(c *call, axes []int, rank int) {
	for i, a := range axes {
		if a < 0 || a >= rank || slices.Contains(axes[:i], a) {
			c.fail("axes %v, want distinct axes of rank %d", axes, rank)
		}
	}
}

// checkAxis resolves a possibly negative axis.
func checkAxis(name string, axis, rank int) int {
	if axis < -rank || axis >= rank {
		throw(name, "axis %d of an array of rank %d; want one from %d to %d", axis, rank, -rank, rank-1)
	}
	if axis < 0 {
		return axis + rank
	}
	return axis
}

// normAxes resolves and sorts axes; none means all.
func normAxes(name string, axes []int, rank int) []int {
	if len(axes) == 0 {
		return rangeInts(0, rank)
	}
	out := mapInts(axes, func(a int) int { return checkAxis(name, a, rank) })
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		throw(name, "axes %v name one axis twice", axes)
	}
	return out
}
