package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

type dotAttrs = attr.Dot

// productDType is the dtype of the product of two arrays.
func productDType(a dotAttrs, left DType) DType {
	if a.Preferred != 0 {
		return a.Preferred
	}
	return left
}

// prefersDType reports whether products of two dtypes may have a preferred one. A byte without a sign times a signed
// one is the only product of two dtypes: processors have an instruction for it.
func prefersDType(a dotAttrs, left, right DType) bool {
	same := left == right || left == Uint8 && right == Int8
	switch {
	case isFloat(left):
		return same && isFloat(a.Preferred) && ItemSize(a.Preferred) > ItemSize(left)
	case isInt(left):
		return same && isInt(a.Preferred) && ItemSize(a.Preferred) > ItemSize(left) &&
			(isSigned(a.Preferred) || isUnsigned(right))
	}
	return false
}

var _ = register(&Op{
	Apart: largeProduct,
	Name:  "dot_general",
	Shape: func(c *call) []Shape {
		a, l, r := c.attrs.(dotAttrs), c.in[0], c.in[1]
		if a.Preferred == 0 && (l.DType != r.DType || l.DType == Bool) {
			c.fail("got %s and %s, want numbers of one dtype", l, r)
		}
		if a.Preferred != 0 && !prefersDType(a, l.DType, r.DType) {
			c.fail("got %s and %s and the preferred dtype %s; want two arrays of one dtype, or one of u8 and one of "+
				"i8, and a wider dtype of the same kind", l, r, shortNames[a.Preferred])
		}
		checkAxes(c, append(slices.Clone(a.LeftBatch), a.LeftContract...), l.Rank())
		checkAxes(c, append(slices.Clone(a.RightBatch), a.RightContract...), r.Rank())
		if len(a.LeftBatch) != len(a.RightBatch) || len(a.LeftContract) != len(a.RightContract) {
			c.fail("got %d and %d batch axes, %d and %d contracted axes; want as many on both sides", len(a.LeftBatch),
				len(a.RightBatch), len(a.LeftContract), len(a.RightContract))
		}
		var dims []int
		for i, x := range a.LeftBatch {
			if l.Dims[x] != r.Dims[a.RightBatch[i]] {
				c.fail("batch axis %d of %s and %d of %s differ in size", x, l, a.RightBatch[i], r)
			}
			dims = append(dims, l.Dims[x])
		}
		for i, x := range a.LeftContract {
			if l.Dims[x] != r.Dims[a.RightContract[i]] {
				c.fail("contracted axis %d of %s and %d of %s differ: %d and %d", x, l, a.RightContract[i], r,
					l.Dims[x], r.Dims[a.RightContract[i]])
			}
		}
		lf, rf := a.Free(l.Rank(), r.Rank())
		for _, x := range lf {
			dims = append(dims, l.Dims[x])
		}
		for _, x := range rf {
			dims = append(dims, r.Dims[x])
		}
		return []Shape{{productDType(a, l.DType), dims}}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(dotAttrs)
		shift := func(v []int, at int) []int { return mapInts(v, shifted(at)) }
		lf, _ := a.Free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
		switch {
		case dims[1] < 0: // the lane axis is one more free axis of the left
			d := dims[0]
			place := len(a.LeftBatch)
			for _, x := range shift(lf, d) {
				if x < d {
					place++
				}
			}
			a.LeftBatch, a.LeftContract = shift(a.LeftBatch, d), shift(a.LeftContract, d)
			return apply(n.Op, a, in), []int{place}
		case dims[0] < 0:
			d := dims[1]
			_, rf := a.Free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
			place := len(a.LeftBatch) + len(lf)
			for _, x := range shift(rf, d) {
				if x < d {
					place++
				}
			}
			a.RightBatch, a.RightContract = shift(a.RightBatch, d), shift(a.RightContract, d)
			if !b.last && len(a.LeftBatch) == 0 && len(rf) == 0 && len(lf) > 0 && in[0].DType() == in[1].DType() {
				return apply(n.Op, a.Of(nil, nil, a.RightContract, a.LeftContract), []*Array{in[1], in[0]}), []int{0}
			}
			out := apply1(n.Op, a, in...)
			if !b.last && place > 0 {
				// Products of what comes of it would copy it to have lanes in front, each for itself.
				return []*Array{b.moveTo(out, place, 0)}, []int{0}
			}
			return []*Array{out}, []int{place}
		}
		if b.last && contractedSize(a, n.Inputs[0].shape) <= unrolledContraction && n.Outs[0].Size() <= unrolledResult {
			return []*Array{unrolledDot(b, n, in, dims)}, []int{n.Outs[0].Rank()}
		}
		l, r := dims[0], dims[1]
		return apply(n.Op, a.Of(append([]int{l}, shift(a.LeftBatch, l)...), append([]int{r}, shift(a.RightBatch, r)...),
			shift(a.LeftContract, l), shift(a.RightContract, r)), in), []int{0}
	},
	JVP: bilinearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(dotAttrs)
		out := make([]*Array, 2)
		nb := len(a.LeftBatch)
		lf, rf := a.Free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
		// The operands' dtype, so that gradients are products of one dtype, too: in half precision the cotangent is
		// rounded, as it is by the conversion of a result that is not wider.
		ct := Convert(cts[0], n.Inputs[0].DType())
		if linear[0] {
			// ct [batch, lf, rf] with right, over rf: [batch, lf, right's contracted axes in order].
			of := dotAttrs{}.Of(rangeInts(0, nb), a.RightBatch, rangeInts(nb+len(lf), ct.Rank()), rf)
			g := dotThrough(n.Op, of, ct, in[1])
			out[0] = unorder(g, append(append(slices.Clone(a.LeftBatch), lf...),
				paired(a.RightContract, a.LeftContract)...))
		}
		if linear[1] {
			// left with ct, over lf: [batch, left's contracted axes in order, rf], for x·W what W's own order is.
			of := dotAttrs{}.Of(a.LeftBatch, rangeInts(0, nb), lf, rangeInts(nb, nb+len(lf)))
			g := dotThrough(n.Op, of, in[0], ct)
			out[1] = unorder(g, append(append(slices.Clone(a.RightBatch), paired(a.LeftContract, a.RightContract)...),
				rf...))
		}
		return out
	},
	Lower: lowerDot,
	Emit:  func(e *emitter, n *Node) { e.generic(n, "stablehlo.dot_general", dotText(n.Attrs.(dotAttrs))) },
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(dotAttrs)
		out := newTensor(n.Outs[0].shape)
		evalProduct(a, in[0], in[1], out)
		return []*Tensor{out}
	},
	EvalComplex: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(n.Outs[0].shape)
		eachProduct(n.Attrs.(dotAttrs), in[0], in[1], out, func(i int, pairs func(f func(j, k int))) {
			var sum complex128
			pairs(func(j, k int) { sum += in[0].C(j) * in[1].C(k) })
			out.SetC(i, sum)
		})
		return []*Tensor{out}
	},
	Cost: costOf(func(n *Node) float64 {
		return 2 * resultElements(n) * float64(contractedSize(n.Attrs.(dotAttrs), n.Inputs[0].shape))
	}),
	Cases: func() []Case {
		return []Case{
			{Name: "matmul", Inputs: []Shape{ShapeOf(Float32, 3, 4), ShapeOf(Float32, 4, 2)}, Lo: -1, Hi: 1, Tol: 1e-5,
				Fn: func(x []*Array) *Array { return Dot(x[0], x[1]) }},
			{Name: "batched", Inputs: []Shape{ShapeOf(Float32, 2, 3, 4), ShapeOf(Float32, 4, 2, 5)}, Lo: -1, Hi: 1,
				Tol: 1e-5, Fn: func(x []*Array) *Array { return Einsum("bij,jbk->bik", x[0], x[1]) }},
			{Name: "two contracted", Inputs: []Shape{ShapeOf(Float32, 2, 3, 4), ShapeOf(Float32, 4, 5, 2)}, Lo: -1,
				Hi: 1, Tol: 1e-5,
				Fn: func(x []*Array) *Array { return DotGeneral(x[0], x[1], nil, nil, []int{0, 2}, []int{2, 0}) }},
			{Name: "i32", Inputs: []Shape{ShapeOf(Int32, 3, 4), ShapeOf(Int32, 4)}, Lo: -5, Hi: 5, Rough: true,
				Fn: func(x []*Array) *Array { return Dot(x[0], x[1]) }},
			{Name: "bf16 to f32", Inputs: []Shape{ShapeOf(BFloat16, 2, 3, 4), ShapeOf(BFloat16, 4, 5, 2)}, Lo: -1,
				Hi: 1, Tol: 1e-2, Fn: func(x []*Array) *Array {
					return DotGeneral(x[0], x[1], []int{0}, []int{2}, []int{2}, []int{0}, PreferredDType(Float32))
				}},
			{Name: "i8 to i32", Inputs: []Shape{ShapeOf(Int8, 3, 4), ShapeOf(Int8, 5, 4)}, Lo: -128, Hi: 127,
				Rough: true, Fn: func(x []*Array) *Array {
					return DotGeneral(x[0], x[1], nil, nil, []int{1}, []int{1}, PreferredDType(Int32))
				}},
			{Name: "u8 and i8 to i32", Inputs: []Shape{ShapeOf(Uint8, 4, 3), ShapeOf(Int8, 4)}, Lo: 0, Hi: 127,
				Rough: true, Fn: func(x []*Array) *Array {
					return DotGeneral(x[0], x[1], nil, nil, []int{0}, []int{0}, PreferredDType(Int32))
				}},
			{Name: "trace", Inputs: []Shape{ShapeOf(Float32, 3, 3, 2)}, Fn: func(x []*Array) *Array {
				return Einsum("iij", x[0])
			}},
			{Name: "ellipsis", Inputs: []Shape{ShapeOf(Float32, 2, 3, 4), ShapeOf(Float32, 4, 2)}, Lo: -1, Hi: 1,
				Tol: 1e-5, Fn: func(x []*Array) *Array { return Einsum("...ij,jk", x[0], x[1]) }},
			{Name: "outer", Inputs: []Shape{ShapeOf(Float32, 3), ShapeOf(Float32, 2)}, Lo: -1, Hi: 1,
				Fn: func(x []*Array) *Array { return Einsum("i,j->ij", x[0], x[1]) }},
		}
	},
})

// evalProduct is the product of two tensors.
func evalProduct(a dotAttrs, l, r, out *Tensor) {
	float := isFloat(l.Shape.DType)
	eachProduct(a, l, r, out, func(i int, pairs func(f func(x, y int))) {
		var f float64
		var u uint64
		pairs(func(x, y int) {
			if float {
				f += l.F(x) * r.F(y)
			} else { // elements of fewer bits are stored with their sign in all 64
				u += l.V[x] * r.V[y]
			}
		})
		if float {
			out.SetF(i, f)
		} else {
			out.SetI(i, int64(u))
		}
	})
}

// eachProduct calls f for each element of the result, with the pairs of elements whose products are added up.
func eachProduct(a dotAttrs, l, r, out *Tensor, f func(i int, pairs func(f func(x, y int)))) {
	lf, rf := a.Free(l.Shape.Rank(), r.Shape.Rank())
	ls, rs := strides(l.Shape.Dims), strides(r.Shape.Dims)
	left := offsets(out.Shape.Dims, slices.Concat(attr.At(ls, a.LeftBatch), attr.At(ls, lf), make([]int, len(rf))))
	right := offsets(out.Shape.Dims, slices.Concat(attr.At(rs, a.RightBatch), make([]int, len(lf)), attr.At(rs, rf)))
	contract := attr.At(l.Shape.Dims, a.LeftContract)
	leftTerms := offsets(contract, attr.At(ls, a.LeftContract))
	rightTerms := offsets(contract, attr.At(rs, a.RightContract))
	for i := range out.V {
		f(i, func(f func(x, y int)) {
			for k := range leftTerms {
				f(left[i]+leftTerms[k], right[i]+rightTerms[k])
			}
		})
	}
}

// bilinearJVP is the rule of ops that are linear in each of their two operands.
func bilinearJVP(n *Node, in, out, t []*Array) []*Array {
	var a, b *Array
	if t[0] != nil {
		a = apply1(n.Op, n.Attrs, t[0], in[1])
	}
	if t[1] != nil {
		b = apply1(n.Op, n.Attrs, in[0], t[1])
	}
	return []*Array{addTangents(a, b)}
}

// unrolledContraction is the longest contraction that is written out term by term when lanes are last, unrolledResult
// the largest result: vectors times matrices. Matrices times matrices are faster one by one.
const unrolledContraction, unrolledResult = 256, 256

func contractedSize(a dotAttrs, left Shape) int { return product(attr.At(left.Dims, a.LeftContract)) }

// unrolledDot writes a product of small matrices, one pair a lane, as a sum over the contracted index: each term
// multiplies slices whose last axis is the lanes. The compiler fuses the terms into one loop over lanes.
func unrolledDot(b *batching, n *Node, in []*Array, dims []int) *Array {
	a := n.Attrs.(dotAttrs)
	out := n.Outs[0].shape.insert(n.Outs[0].Rank(), b.size)
	lf, rf := a.Free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
	nb := len(a.LeftBatch)
	// Each operand as [contracted, batch, free, lanes].
	arrange := func(x *Array, d, rank int, batch, free, contract []int) *Array {
		x = Transpose(b.moveTo(x, d, rank), slices.Concat(contract, batch, free, []int{rank})...)
		x = Convert(x, n.Outs[0].DType())
		return Reshape(x, append([]int{product(x.Dims()[:len(contract)])}, x.Dims()[len(contract):]...)...)
	}
	l := arrange(in[0], dims[0], n.Inputs[0].Rank(), a.LeftBatch, lf, a.LeftContract)
	r := arrange(in[1], dims[1], n.Inputs[1].Rank(), a.RightBatch, rf, a.RightContract)
	last := out.Rank() - 1
	lAxes := append(rangeInts(0, nb+len(lf)), last)
	rAxes := slices.Concat(rangeInts(0, nb), rangeInts(nb+len(lf), out.Rank()))
	var sum *Array
	for k := range l.Dim(0) {
		term := Mul(BroadcastInDim(index(l, 0, k), out.Dims, lAxes), BroadcastInDim(index(r, 0, k), out.Dims, rAxes))
		sum = addTangents(sum, term)
	}
	if sum == nil {
		return Zeros(out)
	}
	return sum
}

// lowerDot makes one axis of several contracted ones, where they lie side by side in the larger operand: a compiler
// copies both operands of a product over several axes. The smaller operand is rearranged if it has to be.
func lowerDot(l *Cursor, n *Node, in []*Array) []*Array {
	a := n.Attrs.(dotAttrs)
	if l.target.IsCPU() && isComplex(in[0].DType()) && a.Split(in[0].Dims(), in[1].Dims()) {
		return []*Array{realProducts(a, in[0], in[1])}
	}
	if out := narrowProduct(l, n, in); out != nil {
		return out
	}
	if a.Preferred == 0 {
		if out := smallDots(l, n, in); out != nil {
			return out
		}
	}
	if out := summedDot(l, n, in); out != nil {
		return out
	}
	if out := writtenOut(l, n, in); out != nil {
		return out
	}
	k := len(a.LeftContract)
	by := a.LeftContract
	if in[1].Size() > in[0].Size() {
		by = a.RightContract
	}
	if order := slices.Sorted(slices.Values(by)); k < 2 || order[k-1]-order[0] != k-1 {
		if out := libraryProduct(l, n.Op, a, in[0], in[1]); out != nil {
			return out
		}
		return swapOperands(l, n, in)
	}
	left, lb, lc := oneContracted(in[0], a.LeftBatch, paired(by, a.LeftContract))
	right, rb, rc := oneContracted(in[1], a.RightBatch, paired(by, a.RightContract))
	a = a.Of(lb, rb, lc, rc)
	if out := libraryProduct(l, n.Op, a, left, right); out != nil {
		return out
	}
	return apply(n.Op, a, []*Array{left, right})
}

// oneContracted is x with its contracted axes merged into one, its batch axes and the contracted axis. Other axes keep
// their order.
func oneContracted(x *Array, batch, contract []int) (merged *Array, newBatch, newContract []int) {
	axis, k := contract[0], len(contract)
	if !slices.Equal(contract, rangeInts(axis, axis+k)) {
		x = Transpose(x, slices.Concat(batch, contract, dropAxes(rangeInts(0, x.Rank()),
			slices.Concat(batch, contract)))...)
		batch, axis = rangeInts(0, len(batch)), len(batch)
	}
	dims := x.Dims()
	merged = Reshape(x, slices.Concat(dims[:axis], []int{product(dims[axis : axis+k])}, dims[axis+k:])...)
	newBatch = mapInts(batch, func(i int) int {
		if i > axis {
			return i - k + 1
		}
		return i
	})
	return merged, newBatch, []int{axis}
}

// swapOperands exchanges the operands of batches of products where less has to be copied then: CPU libraries take the
// left operand by rows and the right one by columns of what is contracted, and what lies otherwise is copied first. In
// a weight's gradient under VMap the activations are on the wrong side.
func swapOperands(l *Cursor, n *Node, in []*Array) []*Array {
	a, nb := n.Attrs.(dotAttrs), len(n.Attrs.(dotAttrs).LeftBatch)
	lf, rf := a.Free(in[0].Rank(), in[1].Rank())
	if !l.target.IsCPU() || nb == 0 || len(a.LeftContract) != 1 || len(lf) == 0 || len(rf) == 0 ||
		in[0].DType() != in[1].DType() {
		return nil
	}
	x, y, out := in[0].Size(), in[1].Size(), n.Outs[0].Size()
	cost := func(wrong bool, size int) int {
		if wrong {
			return size
		}
		return 0
	}
	xLast, xFirst := a.LeftContract[0] > slices.Max(lf), a.LeftContract[0] < slices.Min(lf)
	yLast, yFirst := a.RightContract[0] > slices.Max(rf), a.RightContract[0] < slices.Min(rf)
	m, k := product(attr.At(in[0].Dims(), lf)), product(attr.At(in[1].Dims(), rf))
	now := cost(!xLast && m > 1, x) + cost(!yFirst && k > 1, y)
	then := cost(!yLast && k > 1, y) + cost(!xFirst && m > 1, x) + cost(m > 1 && k > 1, out)
	if then >= now {
		return nil
	}
	p := apply1(n.Op, a.Of(a.RightBatch, a.LeftBatch, a.RightContract, a.LeftContract), in[1], in[0])
	return []*Array{
		Transpose(p, slices.Concat(rangeInts(0, nb), rangeInts(nb+len(rf), p.Rank()), rangeInts(nb, nb+len(rf)))...)}
}

// leastApart is the number of multiplications from which a product of two matrices is computed by a library, which
// plain loops do not keep up with.
const leastApart = 1 << 12

func largeProduct(n *Node) bool {
	rows, inner, columns := productSizes(n)
	return rows > 1 && columns > 1 && rows*inner*columns >= leastApart
}

// productSizes returns the sizes of the matrices [rows, inner] and [inner, columns] that a node multiplies, for each
// element of its batch axes.
func productSizes(n *Node) (rows, inner, columns int) {
	return n.Attrs.(dotAttrs).Matrices(n.Inputs[0].Dims(), n.Inputs[1].Dims())
}

// dotText is the attribute of a StableHLO dot_general.
func dotText(a dotAttrs) string {
	return fmt.Sprintf("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = %s, rhs_batching_dimensions "+
		"= %s, lhs_contracting_dimensions = %s, rhs_contracting_dimensions = %s>",
		stablehlo.Ints(a.LeftBatch), stablehlo.Ints(a.RightBatch), stablehlo.Ints(a.LeftContract),
		stablehlo.Ints(a.RightContract))
}

// paired gives b's entries in the order that sorts a: a and b hold the axes of two operands that are contracted
// together.
func paired(a, b []int) []int {
	order := slices.Clone(a)
	slices.Sort(order)
	return mapInts(order, func(x int) int { return b[slices.Index(a, x)] })
}

// dotThrough multiplies what the operands are transposes of, where that leaves the result as it is: a compiler copies a
// transpose that it cannot fold. Contracted axes are paired in the order in which the larger operand has them, so that
// the smaller one is rearranged.
func dotThrough(op *Op, a dotAttrs, x, y *Array) *Array {
	x, a.LeftBatch, a.LeftContract = throughTranspose(x, a.LeftBatch, a.LeftContract)
	y, a.RightBatch, a.RightContract = throughTranspose(y, a.RightBatch, a.RightContract)
	by := a.LeftContract
	if y.Size() > x.Size() {
		by = a.RightContract
	}
	left, right := paired(by, a.LeftContract), paired(by, a.RightContract)
	a.LeftContract, a.RightContract = left, right
	return apply1(op, a, x, y)
}

// throughTranspose gives x's operand and the same axes of it, if x is a transpose that keeps the order of other axes.
func throughTranspose(x *Array, batch, contract []int) (*Array, []int, []int) {
	if x.node == nil || x.scope == nil || x.scope != x.scope.trace.cur || x.node.Op.Name != "transpose" {
		return x, batch, contract
	}
	perm := x.node.Attrs.(permAttrs).perm
	before := func(axes []int) []int { return attr.At(perm, axes) }
	if !slices.IsSorted(before(dropAxes(rangeInts(0, x.Rank()), slices.Concat(batch, contract)))) {
		return x, batch, contract
	}
	return x.node.Inputs[0], before(batch), before(contract)
}

// unorder transposes g, whose axis i belongs at place[i].
func unorder(g *Array, place []int) *Array {
	perm := make([]int, len(place))
	for i, p := range place {
		perm[p] = i
	}
	return Transpose(g, perm...)
}

// DotOption is an option of DotGeneral.
type DotOption func(*dotAttrs)

// PreferredDType is the dtype of sums and of the result, preferred_element_type of jax.lax.dot_general. It is wider
// than that of the operands: Float32 for products of BFloat16, Int32 for products of Int8. Operands have one dtype, or
// the first one has Uint8 and the second one Int8. Gradients of half precision are products of half precision, too, for
// which the cotangent is rounded; jax.lax widens the other operand.
func PreferredDType(d DType) DotOption { return func(a *dotAttrs) { a.Preferred = d } }

// DotGeneral multiplies and sums over contracted axes, for each pair of batch axes: result axes are batch, x's others,
// y's others. Operands are promoted to one dtype. Of bools the result is whether both are true anywhere, as in NumPy.
func DotGeneral(x, y *Array, xBatch, yBatch, xContract, yContract []int, options ...DotOption) *Array {
	a := dotAttrs{}.Of(xBatch, yBatch, xContract, yContract)
	for _, set := range options {
		set(&a)
	}
	if a.Preferred == x.DType() && a.Preferred == y.DType() {
		a.Preferred = 0
	}
	if a.Preferred != 0 {
		return apply1(op("dot_general"), a, x, y)
	}
	d := Promote(x.DType(), y.DType())
	if d == Bool {
		x, y = Convert(x, Int32), Convert(y, Int32)
		return Ne(DotGeneral(x, y, xBatch, yBatch, xContract, yContract), 0)
	}
	return apply1(op("dot_general"), a, Convert(x, d), Convert(y, d))
}

// Dot is numpy.dot: it contracts x's last axis with y's last but one, or its only one. The result has x's other axes,
// then y's. Tensordot contracts x's last axes with y's first.
func Dot(x, y *Array) *Array {
	if x.Rank() == 0 || y.Rank() == 0 {
		return Mul(x, y)
	}
	return dotLast("Dot", x, y, 0, max(0, y.Rank()-2))
}

// dotLast sums over x's last axis and one of y's, for each of the leading batch axes.
func dotLast(name string, x, y *Array, batch, axis int) *Array {
	last := x.Rank() - 1
	if x.shape.Dims[last] != y.shape.Dims[axis] {
		throw(name, "got %s and %s: the last axis of the first is %d, axis %d of the second %d; want equal sizes",
			x.shape, y.shape, x.shape.Dims[last], axis, y.shape.Dims[axis])
	}
	b := rangeInts(0, batch)
	return DotGeneral(x, y, b, b, []int{last}, []int{axis})
}

// MatMul is NumPy's matmul: the last two axes are matrices, the others broadcast; vectors are rows (x) or columns (y).
func MatMul(x, y *Array) *Array {
	if x.Rank() == 0 || y.Rank() == 0 {
		throw("MatMul", "got %s and %s, want at least one axis each", x.shape, y.shape)
	}
	if y.Rank() <= 2 {
		return dotLast("MatMul", x, y, 0, 0)
	}
	if x.Rank() == 1 {
		if a := y.Rank() - 2; x.Size() != y.shape.Dims[a] {
			throw("MatMul", "got %s and %s: the first has %d elements, axis %d of the second %d; want equal sizes",
				x.shape, y.shape, x.Size(), a, y.shape.Dims[a])
		}
		return DotGeneral(y, x, nil, nil, []int{y.Rank() - 2}, []int{0})
	}
	batch := BroadcastDims("MatMul", x.Dims()[:x.Rank()-2], y.Dims()[:y.Rank()-2])
	x = BroadcastTo(x, append(slices.Clone(batch), x.Dims()[x.Rank()-2:]...)...)
	y = BroadcastTo(y, append(slices.Clone(batch), y.Dims()[y.Rank()-2:]...)...)
	return dotLast("MatMul", x, y, len(batch), len(batch))
}
