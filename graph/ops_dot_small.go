package graph

import "slices"

// XLA's CPU compiler writes out the product of two small matrices, which takes it a third of a second, and its library
// spends more time on each call than on the product. So many such products at once are a kernel, except in loops: those
// that call no kernel become one function (lower/loops.go).

// smallProduct is the length up to which each axis of such a product is short.
const smallProduct = 32

// leastSmallDots is the number of products from which the kernel is called.
const leastSmallDots = 16

// smallDots is a batch of products of small float32 matrices as a call of the kernel; nil: it is no such batch.
func smallDots(l *Cursor, n *Node, in []*Array) []*Array {
	a, x, y := n.Attrs.(dotAttrs), in[0].shape, in[1].shape
	rows, inner, columns := productSizes(n)
	lead := len(a.LeftBatch)
	if lead == 0 && x.Rank() == 2 && y.Rank() > 2 && slices.Equal(a.RightContract, []int{y.Rank() - 2}) {
		return sharedSmallDots(l, n, in)
	}
	leading := rangeInts(0, lead)
	if l.loop != nil || x.DType != Float32 || lead == 0 || x.Rank() != lead+2 || y.Rank() != lead+2 ||
		len(a.LeftContract) != 1 || !slices.Equal(a.LeftBatch, leading) || !slices.Equal(a.RightBatch, leading) ||
		max(rows, inner, columns) > smallProduct || min(rows, columns) < 2 || inner < 3 {
		return nil
	}
	products := product(x.Dims[:lead])
	if !l.target.paysKernel(products, leastSmallDots) {
		return nil
	}
	flat := func(x *Array) *Array { return Reshape(x, products, x.Dim(lead), x.Dim(lead+1)) }
	config := []int{number(a.LeftContract[0] == lead), number(a.RightContract[0] == lead+1)}
	out := kernelCall(smallDotsKernel, config, []Shape{x.dims(products, rows, columns)}, flat(in[0]), flat(in[1]))
	return []*Array{Reshape(out[0], n.Outs[0].Dims()...)}
}

// sharedSmallDots is the product of one small matrix with each of many on its right, whose axis of columns is last. A
// compiler would move that axis past the others, and the products' back.
func sharedSmallDots(l *Cursor, n *Node, in []*Array) []*Array {
	a, x, y := n.Attrs.(dotAttrs), in[0].shape, in[1].shape
	lead := y.Rank() - 2
	products, inner, columns := product(y.Dims[:lead]), y.Dims[lead], y.Dims[lead+1]
	rows := x.Dims[1-a.LeftContract[0]]
	if l.loop != nil || x.DType != Float32 || max(rows, inner, columns) > smallProduct || min(rows, columns) < 2 ||
		inner < 3 || !l.target.paysKernel(products, leastSmallDots) {
		return nil
	}
	out := kernelCall(smallDotsKernel, []int{number(a.LeftContract[0] == 0), 0},
		[]Shape{x.dims(products, rows, columns)}, ExpandDims(in[0], 0), Reshape(in[1], products, inner, columns))[0]
	return []*Array{MoveAxis(Reshape(out, slices.Concat(y.Dims[:lead], []int{rows, columns})...), lead, 0)}
}

// smallDotsKernel multiplies matrices [n or 1, rows, inner] and [n, inner, columns]; its config says which lie
// transposed.
var smallDotsKernel = &Kernel{Target: "xlarun_small_dots", evalConfig: func(config []int, in, out []*Tensor) {
	x, y := in[0], in[1]
	rows, columns, inner := out[0].Shape.Dims[1], out[0].Shape.Dims[2], x.Shape.Dims[2-config[0]]
	forEach(out[0].Shape.Dims, func(i int, idx []int) {
		sum := 0.
		for k := range inner {
			left, right := idx[1]*inner+k, k*columns+idx[2]
			if config[0] == 1 {
				left = k*rows + idx[1]
			}
			if config[1] == 1 {
				right = idx[2]*inner + k
			}
			sum += x.F(idx[0]%x.Shape.Dims[0]*rows*inner+left) * y.F(idx[0]*inner*columns+right)
		}
		out[0].SetF(i, sum)
	})
}}
