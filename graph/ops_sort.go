package graph

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"xlarun/graph/internal/stablehlo"
)

// sortAttrs: the first keys operands decide the order along axis, in lexicographic order; equal ones keep theirs.
type sortAttrs struct {
	axis, keys int
	descending bool
}

// sortOperations is the number of comparisons along the longest axis.
func sortOperations(n *Node) float64 {
	a := n.Inputs[0]
	if a.Rank() == 0 {
		return 0
	}
	return inputElements(n) * float64(bits.Len(uint(slices.Max(a.Dims()))))
}

var _ = register(&Op{
	Apart:  alwaysApart,
	Name:   "sort",
	ByRows: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(sortAttrs)
		if len(c.in) == 0 || a.keys < 1 || a.keys > len(c.in) {
			c.fail("got %d operands and %d keys; want at least one operand and from 1 to %d keys", len(c.in), a.keys,
				len(c.in))
		}
		for i, s := range c.in {
			if !slices.Equal(s.Dims, c.in[0].Dims) {
				c.fail("operand %d is %s, operand 0 is %s; want equal dims", i, s, c.in[0])
			}
		}
		checkAxes(c, []int{a.axis}, c.in[0].Rank())
		return c.in
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(sortAttrs)
		a.axis++
		outs := apply(n.Op, a, b.front(in, dims))
		return outs, make([]int, len(outs))
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		perm := sortedPermutation(n, in, out)
		tangents := make([]*Array, len(t))
		for i, x := range t {
			if x != nil {
				tangents[i] = TakeAlongAxis(x, perm, n.Attrs.(sortAttrs).axis)
			}
		}
		return tangents
	},
	NotLinear: "nonlinear",
	// The backend calls a comparison for each pair. A kernel that sorts by digits takes a tenth of the time.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a, x := n.Attrs.(sortAttrs), in[0].shape
		if !l.target.paysKernel(x.Size(), leastSort) || a.keys != 1 || len(in) >
			mostSorted ||
			slices.ContainsFunc(in, func(x *Array) bool {
				return x.DType() != Float32 && x.DType() != Int32 && x.DType() != Uint32
			}) {
			return nil
		}
		return kernelCall(sortKernel, []int{a.axis, number(a.descending)}, ShapesOf(in), in...)
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(sortAttrs)
		var args []string
		for _, x := range n.Inputs {
			t := stablehlo.Type(x.DType())
			args = append(args, t, t)
		}
		region := e.Region(args, func(v []string) {
			e.Return("stablehlo.return", e.sortsBefore(a, n.Inputs, v), "tensor<i1>")
		})
		e.generic(n, "stablehlo.sort", fmt.Sprintf("dimension = %d : i64, is_stable = true", a.axis), region)
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		outs := newTensors(n.Outs)
		evalSort(n.Attrs.(sortAttrs), in, outs)
		return outs
	},
	Cost: costOf(sortOperations),
	Cases: func() []Case {
		s := ShapeOf(Float32, 3, 5)
		ints := ShapeOf(Int32, 3, 6)
		return []Case{
			{Name: "f32", Inputs: []Shape{s}, Fn: func(x []*Array) *Array { return Sort(x[0], 1) }},
			{Name: "descending", Inputs: []Shape{s}, Fn: func(x []*Array) *Array {
				return Sort(x[0], 0, Descending())
			}},
			{Name: "u8", Inputs: []Shape{ShapeOf(Uint8, 7)}, Rough: true, Fn: func(x []*Array) *Array {
				return Sort(x[0], 0)
			}},
			{Name: "bool", Inputs: []Shape{ShapeOf(Bool, 7)}, Rough: true, Fn: func(x []*Array) *Array {
				return Sort(x[0], 0)
			}},
			{Name: "not numbers", Inputs: []Shape{s}, Rough: true, Fn: func(x []*Array) *Array {
				return Sort(Mul(Log(x[0]), 0), 1)
			}},
			{Name: "arg ties", Inputs: []Shape{ints}, Rough: true, Fn: func(x []*Array) *Array {
				return ArgSort(x[0], 1)
			}},
			{Name: "arg descending", Inputs: []Shape{ints}, Rough: true, Fn: func(x []*Array) *Array {
				return ArgSort(x[0], 1, Descending())
			}},
			{Name: "two keys", Inputs: []Shape{ints, ints, ShapeOf(Float32, 3, 6)}, Fn: func(x []*Array) *Array {
				return SortKV(x, 1, 2)[2]
			}},
			{Name: "values", Inputs: []Shape{s, s}, Fn: func(x []*Array) *Array { return SortKV(x, 1, 1)[1] }},
		}
	},
})

// leastSort is the size from which on the kernel is called, mostSorted the number of arrays that it takes.
const leastSort, mostSorted = 32, 16

// sortKernel sorts by the first array; its numbers are the axis, and 1 where the largest come first.
var sortKernel = &Kernel{Target: "xlarun_sort", evalConfig: func(config []int, in, out []*Tensor) {
	evalSort(sortAttrs{axis: config[0], keys: 1, descending: config[1] == 1}, in, out)
}}

func evalSort(a sortAttrs, in, outs []*Tensor) {
	dims := in[0].Shape.Dims
	st, size := strides(dims)[a.axis], dims[a.axis]
	forEach(dims, func(first int, idx []int) {
		if idx[a.axis] != 0 {
			return
		}
		order := rangeInts(0, size)
		sort.SliceStable(order, func(p, q int) bool {
			i, j := first+order[p]*st, first+order[q]*st
			if a.descending {
				i, j = j, i
			}
			for _, key := range in[:a.keys] {
				if sortsLess(key, i, j) || sortsLess(key, j, i) {
					return sortsLess(key, i, j)
				}
			}
			return false
		})
		for to, from := range order {
			for k, x := range in {
				outs[k].V[first+to*st] = x.V[first+from*st]
			}
		}
	})
}

// sortedPermutation gives the position that each sorted element came from. Where a position counter is sorted along
// already (ArgSort), the sorted counter is it, and nothing is sorted twice.
func sortedPermutation(n *Node, in, out []*Array) *Array {
	a := n.Attrs.(sortAttrs)
	for i, x := range in[a.keys:] {
		if x.node != nil && x.node.Op.Name == "iota" && x.node.Attrs.(iotaAttrs).axis == a.axis && isInt(x.DType()) {
			return out[a.keys+i]
		}
	}
	outs := apply(n.Op, a, append(slices.Clone(in), IotaAxis(in[0].shape.with(Int32), a.axis)))
	return outs[len(in)]
}

// sortsLess orders elements i and j: -0 and 0 are equal, NaNs are equal and come last.
func sortsLess(t *Tensor, i, j int) bool {
	return less(t, i, t, j) || isFloat(t.Shape.DType) && math.IsNaN(t.F(j)) && !math.IsNaN(t.F(i))
}

// sortsBefore writes the comparator: whether the left elements v[0], v[2], … come before the right ones v[1], v[3], ….
func (e *emitter) sortsBefore(a sortAttrs, operands []*Array, v []string) string {
	const mask = "tensor<i1>"
	or := func(x, y string) string { return e.Binary("stablehlo.or", x, y, mask) }
	and := func(x, y string) string { return e.Binary("stablehlo.and", x, y, mask) }
	less := func(d DType, x, y string) string {
		compare := func(dir, x, y string) string { return e.Compare(dir, d, x, y, stablehlo.Type(d), mask) }
		lt := compare("LT", x, y)
		if isFloat(d) {
			return or(lt, and(compare("NE", y, y), compare("EQ", x, x)))
		}
		return lt
	}
	before := ""
	for k := a.keys - 1; k >= 0; k-- {
		d, x, y := operands[k].DType(), v[2*k], v[2*k+1]
		if a.descending {
			x, y = y, x
		}
		lt := less(d, x, y)
		if before == "" {
			before = lt
			continue
		}
		before = or(lt, and(e.Op("stablehlo.not", less(d, y, x), "", mask, mask), before))
	}
	return before
}

// SortOption changes the order of Sort, ArgSort and SortKV.
type SortOption func(*sortAttrs)

// Descending sorts from large to small, NaN first; equal elements keep their order.
func Descending() SortOption { return func(a *sortAttrs) { a.descending = true } }

// SortKV sorts arrays of equal dims together along an axis: by the first keys of them, in lexicographic order; the
// others follow. The sort is stable, -0 equals 0, and NaN comes last.
func SortKV(operands []*Array, axis, keys int, opts ...SortOption) []*Array {
	if len(operands) == 0 {
		throw("Sort", "got no arrays, want at least one")
	}
	a := sortAttrs{axis: checkAxis("Sort", axis, operands[0].Rank()), keys: keys}
	for _, o := range opts {
		o(&a)
	}
	return apply(op("sort"), a, slices.Clone(operands))
}

// Sort sorts along an axis, from small to large; NaN comes last, -0 equals 0.
func Sort(x *Array, axis int, opts ...SortOption) *Array {
	return SortKV([]*Array{x}, axis, 1, opts...)[0]
}

// ArgSort gives the int32 indices that sort x along an axis; equal elements stay in order.
func ArgSort(x *Array, axis int, opts ...SortOption) *Array {
	axis = checkAxis("ArgSort", axis, x.Rank())
	return SortKV([]*Array{x, IotaAxis(x.shape.with(Int32), axis)}, axis, 1, opts...)[1]
}
