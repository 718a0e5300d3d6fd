package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

type gatherAttrs = attr.Gather

func checkGather(a gatherAttrs, c *call, operand, indices Shape) {
	if len(a.Sizes) != operand.Rank() {
		c.fail("got %d slice sizes for %s", len(a.Sizes), operand)
	}
	if !isInt(indices.DType) || indices.Rank() == 0 {
		c.fail("indices are %s, want an integer array whose last axis holds the coordinates", indices)
	}
	if n := indices.Dims[indices.Rank()-1]; n != len(a.IndexMap) {
		c.fail("indices %s hold %d coordinates, want %d", indices, n, len(a.IndexMap))
	}
	for i, s := range a.Sizes {
		if s < 0 || s > operand.Dims[i] {
			c.fail("slice size %d along axis %d of %s", s, i, operand)
		}
	}
	checkGatherAxes(a, c, operand.Rank(), indices.Rank()-1)
	for i, axis := range a.Batch {
		if at := a.IndexBatch[i]; operand.Dims[axis] != indices.Dims[at] {
			c.fail("the batch axes %d of %s and %d of the indices %s differ in size", axis, operand, at, indices)
		}
	}
}

// checkGatherAxes checks the lists of axes for an operand of a rank and indices of outer axes before their coordinates.
func checkGatherAxes(a gatherAttrs, c *call, rank, outer int) {
	if len(a.Batch) != len(a.IndexBatch) {
		c.fail("got %d batch axes and %d of the indices, want as many", len(a.Batch), len(a.IndexBatch))
	}
	window := rank - len(a.Collapsed) - len(a.Batch)
	for _, list := range []struct {
		what  string
		axes  []int
		rank  int
		order string
	}{
		{"axes without a window", append(slices.Clone(a.Collapsed), a.Batch...), rank, ""},
		{"axes of coordinates", a.IndexMap, rank, ""}, {"batch axes of the indices", a.IndexBatch, outer, ""},
		{"window axes", a.Offset, window + outer, ", ascending"},
	} {
		for i, axis := range list.axes {
			if axis < 0 || axis >= list.rank || slices.Contains(list.axes[:i], axis) ||
				list.order != "" && i > 0 && axis < list.axes[i-1] {
				c.fail("got %v for the %s, want different ones from 0 to %d%s", list.axes, list.what, list.rank-1,
					list.order)
			}
		}
	}
	if len(a.Offset) != window {
		c.fail("got %v for the window axes, want %d of them", a.Offset, window)
	}
	for _, axis := range append(slices.Clone(a.Collapsed), a.Batch...) {
		if a.Sizes[axis] > 1 {
			c.fail("slice size %d along axis %d, which has no window: want 1", a.Sizes[axis], axis)
		}
	}
}

// gatherWindow lists the operand axes that offset runs over.
func gatherWindow(a gatherAttrs) []int {
	return dropAxes(rangeInts(0, len(a.Sizes)), append(slices.Clone(a.Collapsed), a.Batch...))
}

// gatherDims are the dims of gather's result, or of scatter's updates.
func gatherDims(a gatherAttrs, indices Shape) []int {
	rank := len(a.Offset) + indices.Rank() - 1
	out := make([]int, rank)
	outer := dropAxes(rangeInts(0, rank), a.Offset)
	for i, o := range outer {
		out[o] = indices.Dims[i]
	}
	for i, w := range gatherWindow(a) {
		out[a.Offset[i]] = a.Sizes[w]
	}
	return out
}

// gatherPlaces gives, for an index of the result or updates, the operand index: window start plus offset. The next call
// writes over it.
func gatherPlaces(a gatherAttrs, rank int, indices *Tensor, operand []int, clip bool) func(idx []int) ([]int, bool) {
	outer, window := dropAxes(rangeInts(0, rank), a.Offset), gatherWindow(a)
	st := strides(indices.Shape.Dims)
	at := make([]int, len(operand))
	return func(idx []int) ([]int, bool) {
		clear(at)
		first, inside := 0, true
		for i, axis := range outer {
			first += idx[axis] * st[i]
		}
		for k, axis := range a.IndexMap {
			var x int64
			if isUnsigned(indices.Shape.DType) {
				x = int64(min(indices.U(first+k), 1<<40))
			} else {
				x = indices.I(first + k)
			}
			limit := int64(operand[axis] - a.Sizes[axis])
			if clip {
				x = min(max(x, 0), limit)
			}
			inside = inside && x >= 0 && x <= limit
			at[axis] = int(x)
		}
		for i, axis := range a.Batch {
			at[axis] = idx[outer[a.IndexBatch[i]]]
		}
		for i, axis := range window {
			at[axis] += idx[a.Offset[i]]
		}
		return at, inside
	}
}

func gatherText(a gatherAttrs, kind string, indexRank int) string {
	names := []string{"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
		"start_index_map"}
	if kind == "scatter" {
		names = []string{"update_window_dims", "inserted_window_dims", "input_batching_dims",
			"scatter_indices_batching_dims", "scatter_dims_to_operand_dims"}
	}
	out := ""
	for i, v := range [][]int{a.Offset, a.Collapsed, a.Batch, a.IndexBatch, a.IndexMap} {
		if len(v) > 0 {
			out += names[i] + " = " + stablehlo.Ints(v) + ", "
		}
	}
	return fmt.Sprintf("#stablehlo.%s<%sindex_vector_dim = %d>", kind, out, indexRank-1)
}

// batchedGather adds one leading batch axis to operand, indices and result.
func batchedGather(a gatherAttrs) gatherAttrs {
	up := func(v []int) []int { return mapInts(v, shifted(0)) }
	return gatherAttrs{Offset: up(a.Offset), Collapsed: up(a.Collapsed), Batch: append([]int{0}, up(a.Batch)...),
		IndexBatch: append([]int{0}, up(a.IndexBatch)...), IndexMap: up(a.IndexMap),
		Sizes: append([]int{1}, a.Sizes...), Kind: a.Kind, Unique: a.Unique}
}

// gatherInWindow adds one leading axis to the operand and to the result or the updates, which all indices share.
func gatherInWindow(a gatherAttrs, size int) gatherAttrs {
	up := func(v []int) []int { return mapInts(v, shifted(0)) }
	return gatherAttrs{Offset: append([]int{0}, up(a.Offset)...), Collapsed: up(a.Collapsed), Batch: up(a.Batch),
		IndexBatch: a.IndexBatch, IndexMap: up(a.IndexMap),
		Sizes: append([]int{size}, a.Sizes...), Kind: a.Kind, Unique: a.Unique}
}

var _ = register(&Op{
	Name:    "gather",
	ByRows:  true,
	Complex: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(gatherAttrs)
		checkGather(a, c, c.in[0], c.in[1])
		return []Shape{c.in[0].dims(gatherDims(a, c.in[1])...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(gatherAttrs)
		if dims[0] < 0 { // one operand for all lanes: the lanes are more indices
			a.Offset, a.IndexBatch = mapInts(a.Offset, shifted(0)), mapInts(a.IndexBatch, shifted(0))
			return []*Array{apply1(n.Op, a, in[0], b.moveTo(in[1], dims[1], 0))}, []int{0}
		}
		if dims[1] < 0 { // the same places in every lane: the lanes are part of the window
			return []*Array{apply1(n.Op, gatherInWindow(a, b.size), b.moveTo(in[0], dims[0], 0), in[1])}, []int{0}
		}
		return []*Array{apply1(n.Op, batchedGather(a), b.moveTo(in[0], dims[0], 0),
				b.moveTo(in[1], dims[1], 0))},
			[]int{0}
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array { return apply(n.Op, n.Attrs, []*Array{t[0], in[1]}) },
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(gatherAttrs)
		a.Kind = "sum"
		// Gather clamps the windows into the operand, scatter drops those outside: clamp first.
		return []*Array{apply1(op("scatter"), a, Zeros(n.Inputs[0].shape), clampIndices(a, in[1], n.Inputs[0].Dims()),
			cts[0]), nil}
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(gatherAttrs)
		e.generic(n, "stablehlo.gather", fmt.Sprintf("dimension_numbers = %s, slice_sizes = %s, indices_are_sorted "+
			"= false", gatherText(a, "gather", n.Inputs[1].Rank()), stablehlo.Int64s(a.Sizes)))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(gatherAttrs)
		st := strides(in[0].Shape.Dims)
		place := gatherPlaces(a, n.Outs[0].shape.Rank(), in[1], in[0].Shape.Dims, true)
		return []*Tensor{moveTensor(n.Outs[0].shape, in[0], func(idx []int) int {
			at, _ := place(idx)
			return dot(at, st)
		})}
	},
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if out := lowerTake(l, n, in); out != nil {
			return out
		}
		if out := gatherOfParts(l, n, in); out != nil {
			return out
		}
		return lowerGather(l, n, in)
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{
			{Name: "elements", Inputs: []Shape{ShapeOf(Float32, 3, 7), ShapeOf(Int32, 2, 5)}, Lo: -1, Hi: 9,
				Fn: func(x []*Array) *Array { return Take(x[0], x[1], 1) }},
			{Name: "rows", Inputs: []Shape{ShapeOf(Float32, 5, 3), ShapeOf(Int32, 4)}, Lo: -1, Hi: 6,
				Fn: func(x []*Array) *Array { return Take(x[0], x[1], 0) }},
			{Name: "along", Inputs: []Shape{ShapeOf(Float32, 4, 5), ShapeOf(Int32, 4, 2)}, Lo: 0, Hi: 4,
				Fn: func(x []*Array) *Array { return TakeAlongAxis(x[0], x[1], 1) }},
			{Name: "window", Inputs: []Shape{ShapeOf(Float32, 4, 6), ShapeOf(Int32, 3, 1)}, Lo: -1, Hi: 6,
				Fn: func(x []*Array) *Array {
					return apply1(op("gather"), gatherAttrs{Offset: []int{1, 2}, IndexMap: []int{1}, Sizes: []int{
						2, 3}}, x[0], x[1])
				}},
		}
	},
})

// leastOfParts is how often, on average, a gather reads an element of a concatenation that is stored for it.
const leastOfParts = 4

// gatherOfParts stores a concatenation that a gather reads several times, such as an array in front of itself of which
// each lane reads a window. XLA's CPU compiler would ask for each element that is read in which part it lies.
func gatherOfParts(l *Cursor, n *Node, in []*Array) []*Array {
	parts := in[0].node
	if !l.target.IsCPU() || parts == nil || parts.Op.Name != "concatenate" ||
		n.Outs[0].Size() < leastOfParts*in[0].Size() {
		return nil
	}
	return apply(n.Op, n.Attrs, []*Array{Barrier(in[0])[0], in[1]})
}

func clampIndices(a gatherAttrs, indices *Array, operand []int) *Array {
	limits := make([]int64, len(a.IndexMap))
	for k, axis := range a.IndexMap {
		limits[k] = int64(operand[axis] - a.Sizes[axis])
	}
	hi := Convert(Of(limits), indices.DType())
	return Clamp(ZerosLike(indices), indices, BroadcastTo(hi, indices.Dims()...))
}

var _ = register(&Op{
	Apart:        alwaysApart,
	Name:         "scatter",
	ByRows:       true,
	ComplexKinds: []string{"sum", "prod", "set"},
	Shape: func(c *call) []Shape {
		a := c.attrs.(gatherAttrs)
		checkGather(a, c, c.in[0], c.in[1])
		if want := c.in[0].dims(gatherDims(a, c.in[1])...); !c.in[2].Equal(want) {
			c.fail("updates are %s, want %s for operand %s and indices %s", c.in[2], want, c.in[0], c.in[1])
		}
		return c.in[:1]
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(gatherAttrs)
		if dims[1] < 0 { // the same places in every lane: the lanes are part of the window
			a = gatherInWindow(a, b.size)
			all := b.front([]*Array{in[0], in[2]}, []int{dims[0], dims[2]})
			return []*Array{apply1(n.Op, a, all[0], in[1], all[1])}, []int{0}
		}
		return []*Array{apply1(n.Op, batchedGather(a), b.front(in, dims)...)}, []int{0}
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		a := n.Attrs.(gatherAttrs)
		x, u := orZeros(t[0], in[0].shape), orZeros(t[2], in[2].shape)
		switch a.Kind {
		case "sum":
			return []*Array{apply1(n.Op, a, x, in[1], u)}
		case "set":
			if in[2].Size() == 0 {
				return []*Array{x}
			}
			// Which update wins where several meet is the same for values and tangents only if asked for: with an
			// index-valued scatter the winner is found once and used for both.
			ids := Reshape(Convert(IotaAxis(ShapeOf(Int32, in[2].Size()), 0), Int32), in[2].Dims()...)
			winner := apply1(n.Op, a, Full(in[0].shape.with(Int32), -1), in[1], ids)
			picked := Reshape(Take(Flatten1D(u), Max(winner, 0), 0), in[0].Dims()...)
			return []*Array{Select(Ge(winner, 0), picked, x)}
		}
		if a.Kind == "prod" {
			return []*Array{scatterProdTangent(a, in, x, u)}
		}
		// max, min: the tangent of whichever value is in the result.
		fromX := Convert(Eq(in[0], out[0]), x.DType())
		g := a
		g.Kind = ""
		back := apply1(op("gather"), g, out[0], clampIndices(a, in[1], in[0].Dims()))
		fromU := Convert(Eq(in[2], back), u.DType())
		a.Kind = "sum"
		count := apply1(n.Op, a, fromX, in[1], fromU)
		total := apply1(n.Op, a, Mul(fromX, x), in[1], Mul(fromU, u))
		return []*Array{Div(total, Max(count, 1))}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(gatherAttrs)
		if a.Kind != "sum" {
			throw("scatter", "internal: only additive scatters are linear")
		}
		out := make([]*Array, 3)
		if linear[0] {
			out[0] = cts[0]
		}
		if linear[2] {
			// Updates that were dropped get no cotangent.
			clamped := clampIndices(a, in[1], n.Inputs[0].Dims())
			g := apply1(op("gather"), a, cts[0], clamped)
			ok := All(Eq(clamped, in[1]), -1)
			outer := dropAxes(rangeInts(0, g.Rank()), a.Offset)
			out[2] = Select(BroadcastInDim(ok, g.Dims(), outer), g, ZerosLike(g))
		}
		return out
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(gatherAttrs)
		t := stablehlo.Type(n.Inputs[0].DType())
		var region string
		if a.Kind == "set" {
			region = e.Region([]string{t, t}, func(v []string) { e.Return("stablehlo.return", v[1], t) })
		} else {
			region = e.Combiner(reduceKinds[a.Kind].emit, t)
		}
		e.generic(n, "stablehlo.scatter", fmt.Sprintf("scatter_dimension_numbers = %s, indices_are_sorted = false, "+
			"unique_indices = %t", gatherText(a, "scatter", n.Inputs[1].Rank()), a.Unique), region)
	},
	Lower:        lowerScatter,
	WritesParts:  alwaysWritesParts,
	Write:        scatterWithKernel,
	WriteSeconds: scatterSeconds,
	Eval:         func(n *Node, in []*Tensor) []*Tensor { return []*Tensor{scatter(n.Attrs.(gatherAttrs), in)} },
	Cost:         func(n *Node, _ func(*Node) int) Cost { return Cost{Bytes: 3 * bytesOf(n.Inputs[len(n.Inputs)-1:])} },
	Cases: func() []Case {
		var cases []Case
		for _, kind := range []string{"sum", "set", "max", "min", "prod"} {
			cases = append(cases, Case{Name: kind, Inputs: []Shape{ShapeOf(Float32, 6, 2), ShapeOf(Float32, 3, 2)},
				Lo: -2, Hi: 2,
				Fn: func(x []*Array) *Array {
					return scatterRows("Scatter", kind, x[0], Of([]int32{1, 4, 9}), x[1], nil)
				}})
		}
		return append(cases, Case{Name: "repeated", Inputs: []Shape{ShapeOf(Float32, 4), ShapeOf(Int32, 5),
			ShapeOf(Float32, 5)}, Lo: -1, Hi: 4, Fn: func(x []*Array) *Array { return ScatterAdd(x[0], x[1], x[2]) }},
			Case{Name: "repeated prod", Inputs: []Shape{ShapeOf(Float32, 4), ShapeOf(Float32, 6)}, Lo: -2, Hi: 2,
				Fn: func(x []*Array) *Array { return ScatterMul(x[0], Of([]int32{1, 3, 1, 7, 1, 3}), x[1]) }})
	},
})

// scatter is the reference.
func scatter(a gatherAttrs, in []*Tensor) *Tensor {
	d := in[0].Shape.DType
	combine := func(t *Tensor, i int, u *Tensor, j int) { t.V[i] = u.V[j] }
	if k := reduceKinds[a.Kind]; a.Kind == "sum" {
		d, combine = k.totals(d)
	} else if a.Kind != "set" {
		combine = k.combine
	}
	out := &Tensor{in[0].Shape.with(d), slices.Clone(in[0].V)}
	st := strides(out.Shape.Dims)
	place := gatherPlaces(a, in[2].Shape.Rank(), in[1], out.Shape.Dims, false)
	forEach(in[2].Shape.Dims, func(i int, idx []int) {
		if at, inside := place(idx); inside {
			combine(out, dot(at, st), in[2], i)
		}
	})
	return out.rounded(in[0].Shape.DType)
}

// scatterProdTangent is the tangent of a product scatter: x'w + xw', where w is the product of the updates at a place.
// A single update u has w' = u', as in JAX, which refuses several. The product of several has w' = w sum(u'/u). Where
// one of them is 0, w' is its tangent times the product of the others; where two are, w' is 0.
func scatterProdTangent(a gatherAttrs, in []*Array, x, u *Array) *Array {
	shape, indices, updates := in[0].shape, in[1], in[2]
	scatterOnto := func(kind string, start float64, values *Array) *Array {
		a := a
		a.Kind = kind
		return apply1(op("scatter"), a, Full(shape.with(values.DType()), start), indices, values)
	}
	w, tangent := scatterOnto("prod", 1, updates), scatterOnto("sum", 0, u)
	if !a.Unique {
		zero := Eq(updates, 0)
		nonzero := Select(zero, 1, updates)
		ratios := scatterOnto("sum", 0, Select(zero, 0, Div(u, nonzero)))
		ofZero := scatterOnto("sum", 0, Select(zero, u, 0))
		zeros := scatterOnto("sum", 0, Convert(zero, Int32))
		count := scatterOnto("sum", 0, Ones(updates.shape.with(Int32)))
		others := scatterOnto("prod", 1, nonzero)
		several := Select(Eq(zeros, 0), Mul(others, ratios), Select(Eq(zeros, 1), Mul(others, ofZero), 0))
		tangent = Select(Le(count, 1), tangent, several)
	}
	return Add(Mul(x, w), Mul(in[0], tangent))
}

// batchDynamicSlice slices at another place in each lane: a gather of one window a lane.
func batchDynamicSlice(b *batching, sizes []int, in []*Array, dims []int) []*Array {
	rank := len(sizes)
	idx := stackStarts(b, in[1:], dims[1:])
	a := gatherAttrs{Offset: rangeInts(1, rank+1), IndexMap: rangeInts(0, rank), Sizes: sizes}
	if dims[0] < 0 {
		return []*Array{apply1(op("gather"), a, in[0], idx)}
	}
	a = gatherAttrs{Offset: rangeInts(1, rank+1), Batch: []int{0}, IndexBatch: []int{0}, IndexMap: rangeInts(1, rank+1),
		Sizes: append([]int{1}, sizes...)}
	return []*Array{apply1(op("gather"), a, b.moveTo(in[0], dims[0], 0), idx)}
}

// batchDynamicUpdateSlice writes at another place in each lane.
func batchDynamicUpdateSlice(b *batching, in []*Array, dims []int) []*Array {
	x, u := b.moveTo(in[0], dims[0], 0), b.moveTo(in[1], dims[1], 0)
	rank := x.Rank() - 1
	a := gatherAttrs{Offset: rangeInts(1, rank+1), Batch: []int{0}, IndexBatch: []int{0},
		IndexMap: rangeInts(1, rank+1), Sizes: append([]int{1}, u.Dims()[1:]...), Kind: "set", Unique: true}
	return []*Array{apply1(op("scatter"), a, x, clampIndices(a, stackStarts(b, in[2:], dims[2:]), x.Dims()), u)}
}

// stackStarts makes [lanes, rank] of start indices, some of them the same for all lanes.
func stackStarts(b *batching, starts []*Array, dims []int) *Array {
	cols := make([]*Array, len(starts))
	for i, s := range starts {
		cols[i] = b.moveTo(s, dims[i], 0)
	}
	return Stack(cols, 1)
}
