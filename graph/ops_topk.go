package graph

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

type topKAttrs struct{ k int }

var _ = register(&Op{
	Apart:  alwaysApart,
	Name:   "top_k",
	ByRows: true,
	Shape: func(c *call) []Shape {
		k, x := c.attrs.(topKAttrs).k, c.in[0]
		if x.DType == Bool || x.Rank() == 0 {
			c.fail("got %s, want numbers along at least one axis", x)
		}
		last := x.Rank() - 1
		if k < 1 || k > x.Dims[last] { // TopK answers 0 without the op
			c.fail("k is %d for %s; want from 0 to %d, the size of the last axis", k, x, x.Dims[last])
		}
		dims := append(slices.Clone(x.Dims[:last]), k)
		return []Shape{x.dims(dims...), x.with(Int32).dims(dims...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		return apply(n.Op, n.Attrs, b.front(in, dims)), []int{0, 0}
	},
	JVP:       func(n *Node, in, out, t []*Array) []*Array { return []*Array{TakeAlongAxis(t[0], out[1], -1), nil} },
	NotLinear: "nonlinear",
	// On the CPU one pass that keeps what may be among the largest takes a fifth to a tenth of the time of the
	// backend's partial sort.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		x := in[0].shape
		if !l.target.paysKernel(x.Size(), leastTopK) || x.DType != Float32 && x.DType !=
			Int32 {
			return nil
		}
		return kernelCall(topKKernel, []int{n.Attrs.(topKAttrs).k}, []Shape{n.Outs[0].shape, n.Outs[1].shape}, in[0])
	},
	Emit: func(e *emitter, n *Node) {
		// Backends have a kernel for this op, up to 100 times faster than a sort. It orders floats by their bits, so
		// zeros and NaNs are given one sign first; and it wants one axis or two.
		x, k := n.Inputs[0].shape, n.Attrs.(topKAttrs).k
		last := x.Rank() - 1
		size := x.Dims[last]
		flat := x.dims(product(x.Dims[:last]), size)
		v := e.Op("stablehlo.reshape", e.ref(n.Inputs[0]), "", mlirType(x), mlirType(flat))
		if isFloat(x.DType) {
			v = e.oneSign(v, flat)
		}
		t, ti := mlirType(flat.dims(flat.Dims[0], k)), mlirType(flat.with(Int32).dims(flat.Dims[0], k))
		both := e.Fresh()
		e.Ops(both+":2", "chlo.top_k", v, fmt.Sprintf("k = %d : i64", k), mlirType(flat), t+", "+ti)
		e.names[n.Outs[0]] = e.Op("stablehlo.reshape", both+"#0", "", t, mlirType(n.Outs[0].shape))
		e.names[n.Outs[1]] = e.Op("stablehlo.reshape", both+"#1", "", ti, mlirType(n.Outs[1].shape))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensors(n.Outs)
		evalTopK(n.Attrs.(topKAttrs).k, in[0], out[0], out[1])
		return out
	},
	Cost: costOf(sortOperations),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64, BFloat16, Int32, Uint8} {
			rough := d != Float32
			cases = append(cases,
				Case{Name: dtypeName(d), Inputs: []Shape{ShapeOf(d, 3, 5)}, Rough: rough, Fn: func(x []*Array) *Array {
					v, _ := TopK(x[0], 2)
					return v
				}},
				Case{Name: dtypeName(d) + " indices", Inputs: []Shape{ShapeOf(d, 2, 3, 9)}, Rough: true,
					Fn: func(x []*Array) *Array {
						_, i := TopK(x[0], 9)
						return i
					}})
		}
		return append(cases,
			Case{Name: "vector", Inputs: []Shape{ShapeOf(Float32, 9)}, Fn: func(x []*Array) *Array {
				v, _ := TopK(x[0], 3)
				return v
			}},
			Case{Name: "zeros and not numbers", Inputs: []Shape{ShapeOf(Float32, 3, 7)}, Rough: true,
				Fn: func(x []*Array) *Array {
					_, i := TopK(Mul(Log(Abs(Round(x[0]))), Mul(Sign(x[0]), 0)), 7)
					return i
				}})
	},
})

// leastTopK is the least number of elements for which the kernel is called.
const leastTopK = 512

var topKKernel = &Kernel{Target: "xlarun_top_k", evalConfig: func(config []int, in, out []*Tensor) {
	evalTopK(config[0], in[0], out[0], out[1])
}}

func evalTopK(k int, x, values, indices *Tensor) {
	size := x.Shape.Dims[x.Shape.Rank()-1]
	for row := 0; row*size < len(x.V); row++ {
		order := rangeInts(0, size)
		sort.SliceStable(order, func(p, q int) bool { return sortsLess(x, row*size+order[q], row*size+order[p]) })
		for i, from := range order[:k] {
			values.V[row*k+i] = x.V[row*size+from]
			if isFloat(x.Shape.DType) && x.F(row*size+from) == 0 {
				values.SetF(row*k+i, 0)
			}
			indices.SetI(row*k+i, int64(from))
		}
	}
}

// oneSign makes the zeros and the NaNs of a float value positive.
func (e *emitter) oneSign(v string, s Shape) string {
	t, mask := mlirType(s), mlirType(s.with(Bool))
	where := func(dir, x, y, yes string) string {
		return e.Select(e.Compare(dir, s.DType, x, y, t, mask), yes, v, mask, t)
	}
	zero := e.splat(s, 0)
	v = where("EQ", v, zero, zero)
	return where("NE", v, v, e.splat(s, math.NaN()))
}

// TopK gives the k largest elements along the last axis, largest first, and their int32 indices; of equal elements the
// one with the lower index comes first, and NaN counts as largest.
func TopK(x *Array, k int) (values, indices *Array) {
	if k == 0 && x.Rank() > 0 {
		empty := SliceAxis(x, -1, 0, 0)
		return empty, Zeros(empty.shape.with(Int32))
	}
	out := apply(op("top_k"), topKAttrs{k}, []*Array{x})
	return out[0], out[1]
}
