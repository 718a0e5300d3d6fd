package graph

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// searchAttrs: lists [batch..., n] and elements [batch..., ...], in dtypes that are equal.
type searchAttrs struct {
	after bool // behind equal members
	batch int  // the number of leading axes that both have
}

var _ = register(&Op{
	Name:   "search_sorted",
	ByRows: true,
	Shape: func(c *call) []Shape {
		a, list, x := c.attrs.(searchAttrs), c.in[0], c.in[1]
		if list.DType != x.DType || list.Rank() != a.batch+1 || x.Rank() < a.batch ||
			!slices.Equal(list.Dims[:a.batch], x.Dims[:a.batch]) || list.Dims[a.batch] == 0 {
			c.fail("got lists %s and elements %s, want one dtype and the first %d axes equal", list, x,
				a.batch)
		}
		return []Shape{x.with(Int32)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(searchAttrs)
		if dims[0] < 0 { // lanes are more elements
			return []*Array{apply1(n.Op, a, in[0], b.moveTo(in[1], dims[1], a.batch))}, []int{a.batch}
		}
		a.batch++
		return []*Array{apply1(n.Op, a, b.front(in, dims)...)}, []int{0}
	},
	NotDifferentiable: "", JVP: zeroJVP, NotLinear: "its result is discrete",
	// A loop over the steps of a binary search passes through memory once for each of them, a kernel once.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a, x := n.Attrs.(searchAttrs), in[1].shape
		if l.target.paysKernel(x.Size(), leastSearch) && slices.Contains([]DType{Float32, Float64, Int32}, x.DType) {
			return kernelCall(searchKernel, []int{number(a.after), a.batch}, ShapesOf(n.Outs), in...)
		}
		g := closedGraph("Lower", ShapesOf(in), func(p []*Array) []*Array {
			return eachMatrix(a.batch, p, func(in []*Array) []*Array {
				return []*Array{searchByHalves(in[0], in[1], a.after)}
			})
		})
		return l.inline(g.Simplify(), in)
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensors(n.Outs)
		a := n.Attrs.(searchAttrs)
		evalSearch(a.after, a.batch, in, out[0])
		return out
	},
	Cost: costOf(func(n *Node) float64 {
		list := n.Inputs[0]
		return resultElements(n) * float64(bits.Len(uint(list.Dim(list.Rank()-1))))
	}),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64, Int32, Uint8} {
			for _, after := range []bool{false, true} {
				cases = append(cases, Case{Name: fmt.Sprint(dtypeName(d), " after=", after), Rough: true, Lo: -9, Hi: 9,
					Inputs: []Shape{ShapeOf(d, 7), ShapeOf(d, 5, 3)}, Fn: func(x []*Array) *Array {
						return SearchSorted(Sort(x[0], 0), x[1], after)
					}})
			}
		}
		return append(cases, Case{Name: "a list a lane", Rough: true, Inputs: []Shape{ShapeOf(Float32, 2, 3, 6),
			ShapeOf(Float32, 2, 3, 2)}, Fn: func(x []*Array) *Array {
			in := []*Array{Sort(x[0], 2), x[1]}
			return apply1(op("search_sorted"), searchAttrs{batch: 2}, in...)
		}})
	},
})

// leastSearch is the least number of elements for which the kernel is called.
const leastSearch = 512

var searchKernel = &Kernel{Target: "xlarun_search_sorted", evalConfig: func(config []int, in, out []*Tensor) {
	evalSearch(config[0] == 1, config[1], in, out[0])
}}

func evalSearch(after bool, batch int, in []*Tensor, out *Tensor) {
	list, x := in[0], in[1]
	n, d := list.Shape.Dims[batch], x.Shape.DType
	rows := len(list.V) / n
	for i := range x.V {
		first := i / max(1, len(x.V)/rows) * n
		out.SetI(i, int64(sort.Search(n, func(k int) bool {
			k += first
			switch {
			case isFloat(d) && math.IsNaN(x.F(i)):
				return !after && math.IsNaN(list.F(k))
			case isFloat(d) && math.IsNaN(list.F(k)):
				return true
			case after:
				return less(x, i, list, k)
			}
			return !less(list, k, x, i)
		})))
	}
}

// searchByHalves finds the elements of x in a list with n members, by a loop over the powers of two up to n.
func searchByHalves(list, x *Array, after bool) *Array {
	n := list.Size()
	below := func(s, x *Array) *Array { return Or(Lt(s, x), And(IsNaN(x), Not(IsNaN(s)))) }
	if after {
		below = func(s, x *Array) *Array { return Or(Le(s, x), IsNaN(x)) }
	}
	var steps []int32 // falling
	for i := bits.Len(uint(n)) - 1; i >= 0; i-- {
		steps = append(steps, 1<<i)
	}
	// Written out, each step would compute the steps before it once more for each of its uses, and compilers that fuse
	// such a chain write code that grows exponentially.
	low, _ := Scan(func(low, step *Array) (*Array, None) {
		next := Add(low, step)
		before := below(Take(list, Sub(Min(next, n), 1), 0), x)
		return Select(And(before, Le(next, n)), next, low), None{}
	}, Zeros(x.shape.with(Int32)), Int32s(steps, len(steps)))
	return low
}

// SearchSorted gives for each element of x the int32 index in the ascending vector sorted at which to insert it so that
// the order stays: before equal elements, or after them. NaN counts as larger than all numbers, as in Sort. Arrays of
// two dtypes are compared in the dtype of their sum: uint64 and a signed integer in float32, as in JAX.
func SearchSorted(sorted, x *Array, after bool) *Array {
	if sorted.Rank() != 1 {
		throw("SearchSorted", "got %s, want an ascending vector", sorted.shape)
	}
	d := Promote(sorted.DType(), x.DType())
	sorted, x = Convert(sorted, d), Convert(x, d)
	if sorted.Size() == 0 {
		return Zeros(x.shape.with(Int32))
	}
	return apply1(op("search_sorted"), searchAttrs{after: after}, sorted, x)
}
