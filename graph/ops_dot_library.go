package graph

import (
	"slices"

	"xlarun/graph/internal/attr"
)

// XLA's CPU compiler hands products to two libraries. YNNPACK takes those whose left operand lies by rows of what is
// contracted, and its results depend on operands and shapes alone. Eigen takes all others. It cuts large ones into
// parts for its threads, of which there are as many as cores, or as devices if these are more, and rounds the ends of
// parts in another way. Its first call also generates code for 20 to 40 ms in each process.
//
// So left operands are turned for YNNPACK and kept behind a barrier. The compiler would move a transpose through what
// lies between, such as a sum, and fold it into the product, be it one of an operand or of the result. No library but
// Eigen multiplies complex numbers, so their products are written as real ones.

// ofSplitProduct reports whether an array is the result of a product of floats that Eigen may cut, or a reshape of it.
func ofSplitProduct(x *Array) bool {
	for x.node != nil && x.node.Op.Name == "reshape" {
		x = x.node.Inputs[0]
	}
	if x.node == nil || x.node.Op.Name != "dot_general" || !isFloat(x.DType()) {
		return false
	}
	return x.node.Attrs.(dotAttrs).Split(x.node.Inputs[0].Dims(), x.node.Inputs[1].Dims())
}

// libraryProduct is a product whose left operand lies behind a barrier as YNNPACK takes it; nil: it does already.
func libraryProduct(l *Cursor, op *Op, a dotAttrs, x, y *Array) []*Array {
	if !l.target.IsCPU() || !isFloat(x.DType()) || !a.Split(x.Dims(), y.Dims()) && l.target.Kernels != AlwaysKernels {
		return nil
	}
	x, batch, contract := throughTranspose(x, a.LeftBatch, a.LeftContract)
	free := dropAxes(rangeInts(0, x.Rank()), slices.Concat(batch, contract))
	perm := slices.Concat(batch, free, contract)
	if len(contract) == 0 || slices.IsSorted(perm) && x.node != nil && x.node.Op.Name == "optimization_barrier" {
		return nil
	}
	if slices.IsSorted(perm) {
		return apply(op, a.Of(batch, a.RightBatch, contract, a.RightContract), []*Array{Barrier(x)[0], y})
	}
	if rows, inner, columns := a.Matrices(x.Dims(), y.Dims()); x.Rank() == 2 && y.Rank() == 2 &&
		a.RightContract[0] == 0 && inner*rows > inner*columns+rows*columns && a.Preferred == 0 {
		// The larger operand stays: the product of swapped operands is turned.
		product := apply1(op, a.Of(nil, nil, []int{1}, []int{0}), turned(l, y, []int{1, 0}), x)
		return []*Array{turned(l, product, []int{1, 0})}
	}
	first, last := rangeInts(0, len(batch)), rangeInts(x.Rank()-len(contract), x.Rank())
	return apply(op, a.Of(first, a.RightBatch, last, a.RightContract), []*Array{turned(l, x, perm), y})
}

// turned is a transpose that the compiler folds into no product.
func turned(l *Cursor, x *Array, perm []int) *Array {
	out := x.shape.dims(attr.At(x.shape.Dims, perm)...)
	lead, cut, swaps := swappedAxes(perm)
	if !l.target.HasKernels() || !transposable(x.DType()) || !swaps {
		return Barrier(Transpose(Barrier(x)[0], perm...))[0]
	}
	n, rows, columns := product(x.shape.Dims[:lead]), product(x.shape.Dims[lead:cut]), product(x.shape.Dims[cut:])
	y := kernelCall(transposeKernel, nil, []Shape{x.shape.dims(n, columns, rows)}, Reshape(x, n, rows, columns))
	return Reshape(y[0], out.Dims...)
}

// swappedAxes reports whether a permutation swaps the axes from lead to cut with those behind.
func swappedAxes(perm []int) (lead, cut int, swaps bool) {
	for lead < len(perm) && perm[lead] == lead {
		lead++
	}
	if lead == len(perm) {
		return lead, lead, false
	}
	cut = perm[lead]
	return lead, cut, slices.Equal(perm[lead:], slices.Concat(rangeInts(cut, len(perm)), rangeInts(lead, cut)))
}

// transposeKernel transposes matrices [n, rows, columns] of float32, int32 or uint32.
var transposeKernel = &Kernel{Target: attr.Transposes, Eval: func(in, out []*Tensor) {
	rows, columns := in[0].Shape.Dims[1], in[0].Shape.Dims[2]
	for i, v := range in[0].V {
		at := i % (rows * columns)
		out[0].V[i-at+at%columns*rows+at/columns] = v
	}
}}

// realProducts is a product of complex numbers.
func realProducts(a dotAttrs, x, y *Array) *Array {
	of := func(x, y *Array) *Array { return apply1(op("dot_general"), a, x, y) }
	return Complex(Sub(of(Real(x), Real(y)), of(Imag(x), Imag(y))), Add(of(Real(x), Imag(y)), of(Imag(x), Real(y))))
}
