package graph

import "slices"

// threefryAttrs: each key hashes as many counters, 0, 1, … in row-major order, as dims have elements.
type threefryAttrs struct {
	dims []int
	last bool // the keys' axes come behind dims, else in front
	both bool // both words of output, else the exclusive or of the two
}

// of is the shape of the result for keys of a shape.
func (a threefryAttrs) of(keys Shape) Shape {
	if a.last {
		return keys.dims(slices.Concat(a.dims, keys.Dims)...)
	}
	return keys.dims(slices.Concat(keys.Dims, a.dims)...)
}

var _ = register(&Op{
	Name:   "threefry_draw",
	ByRows: true,
	Shape: func(c *call) []Shape {
		if len(c.in) != 2 || c.in[0].DType != Uint32 {
			c.fail("got %d inputs, the first %s; want two key words of uint32", len(c.in), c.in[0])
		}
		sameShape(ints)(c)
		a := c.attrs.(threefryAttrs)
		if s := a.of(c.in[0]); a.both {
			return []Shape{s, s}
		}
		return []Shape{a.of(c.in[0])}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a, rank := n.Attrs.(threefryAttrs), in[0].Rank()
		if dims[0] < 0 {
			rank = in[1].Rank()
		}
		// Lanes go to the end of keys that are last, so that they stay there.
		from, to := 0, 0
		if rank == 1 {
			a.last = b.last
		}
		if a.last {
			from, to = rank-1, len(a.dims)+rank-1
		}
		args := []*Array{b.moveTo(in[0], dims[0], from), b.moveTo(in[1], dims[1], from)}
		outs := apply(n.Op, a, args)
		return outs, slices.Repeat([]int{to}, len(outs))
	},
	NotDifferentiable: "its inputs are discrete", NotLinear: "nonlinear",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a, s := n.Attrs.(threefryAttrs), n.Outs[0].shape
		draws := in[0].shape.dims(a.dims...)
		if l.target.paysKernel(s.Size(), leastThreefry) {
			return kernelCall(threefryKernel, []int{draws.Size(), number(a.last)}, ShapesOf(n.Outs), in...)
		}
		keys := rangeInts(0, in[0].Rank())
		first := in[0].Rank()
		if a.last {
			keys, first = rangeInts(len(a.dims), len(a.dims)+in[0].Rank()), 0
		}
		words := make([]*Array, 2)
		for i, k := range in {
			words[i] = BroadcastInDim(k, s.Dims, keys)
		}
		counter := BroadcastInDim(rowMajorIota(draws), s.Dims, rangeInts(first, first+len(a.dims)))
		x, y := Random.ThreeFry2x32(words[0], words[1], Scalar(0, Uint32), counter)
		if a.both {
			return []*Array{x, y}
		}
		return []*Array{Xor(x, y)}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensors(n.Outs)
		n.Attrs.(threefryAttrs).draw(in, out)
		return out
	},
	Cost: costOf(func(n *Node) float64 { return 65 * float64(n.Outs[0].Size()) }),
	Cases: func() []Case {
		draw := func(name string, keys []int, a threefryAttrs) Case {
			s := ShapeOf(Uint32, keys...)
			return Case{Name: name, Inputs: []Shape{s, s}, Lo: 0, Hi: 1e9, Rough: true, Fn: func(x []*Array) *Array {
				out := apply(op("threefry_draw"), a, x)
				if a.both {
					return Concatenate(-1, out...)
				}
				return out[0]
			}}
		}
		return []Case{
			draw("one key", nil, threefryAttrs{dims: []int{3, 2}}),
			draw("keys", []int{3, 2}, threefryAttrs{dims: []int{2, 37}}),
			draw("keys last", []int{3, 2}, threefryAttrs{dims: []int{4}, last: true, both: true}),
			draw("many keys last", []int{71}, threefryAttrs{dims: []int{3}, last: true}),
			draw("long", []int{2}, threefryAttrs{dims: []int{131}, both: true}),
		}
	},
})

// leastThreefry is the least number of draws for which the kernel is called: what it writes goes through memory.
const leastThreefry = 4096

// threefryKernel is called with the number of draws of a key and whether the keys are last. A third number says whether
// normal numbers are made of the draws; without it, none are.
var threefryKernel = &Kernel{Target: "xlarun_threefry", evalConfig: func(config []int, in, out []*Tensor) {
	threefryAttrs{dims: config[:1], last: config[1] != 0, both: len(out) == 2}.draw(in, out)
	if len(config) > 2 && config[2] != 0 {
		for i, bits := range out[0].V {
			out[0].SetF(i, normalOf(bits))
		}
	}
}}

// draw fills the results.
func (a threefryAttrs) draw(in, out []*Tensor) {
	keys, draws := len(in[0].V), in[0].Shape.dims(a.dims...).Size()
	for k := range keys {
		for j := range draws {
			at := k*draws + j
			if a.last {
				at = j*keys + k
			}
			x, y := threefry2x32(uint32(in[0].V[k]), uint32(in[1].V[k]), 0, uint32(j))
			if a.both {
				out[0].V[at], out[1].V[at] = uint64(x), uint64(y)
			} else {
				out[0].V[at] = uint64(x ^ y)
			}
		}
	}
}

// rowMajorIota counts the elements of s in row-major order. It is a sum over the axes, not one long count in another
// shape. So the loops over a draw go over its own axes, and the loops of what uses it can join them.
func rowMajorIota(s Shape) *Array {
	var index *Array
	stride := 1
	for axis := s.Rank() - 1; axis >= 0; axis-- {
		if s.Dims[axis] == 1 {
			continue
		}
		term := IotaAxis(s, axis)
		if stride > 1 {
			term = Mul(term, uint64(stride))
		}
		stride *= s.Dims[axis]
		if index == nil {
			index = term
		} else {
			index = Add(index, term)
		}
	}
	if index == nil {
		return Zeros(s)
	}
	return index
}

// ThreeFryBits draws uint32 bits for each key, given by its two words: for as many counters as dims have elements the
// exclusive or of both words that ThreeFry2x32 makes of the key and (0, counter). The words are uint32 of one shape;
// the result has their dims, then the given ones, of which there are at most 2^32 elements.
func (randomOps) ThreeFryBits(hi, lo *Array, dims ...int) *Array {
	return threefryDraw("ThreeFryBits", hi, lo, threefryAttrs{dims: slices.Clone(dims)})[0]
}

// ThreeFryWords is ThreeFryBits with both words apart.
func (randomOps) ThreeFryWords(hi, lo *Array, dims ...int) (*Array, *Array) {
	outs := threefryDraw("ThreeFryWords", hi, lo, threefryAttrs{dims: slices.Clone(dims), both: true})
	return outs[0], outs[1]
}

func threefryDraw(name string, hi, lo *Array, a threefryAttrs) []*Array {
	if size := int64(ShapeOf(Uint32, a.dims...).Size()); size > 1<<32 {
		throw(name, "got dims %v, %d elements; want at most 2^32", a.dims, size)
	}
	return apply(op("threefry_draw"), a, operands(name, hi, lo))
}
