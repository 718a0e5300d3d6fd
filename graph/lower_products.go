package graph

import "slices"

// A loop that is one function (lower_loops.go) calls no library for its products of matrices. XLA's compiler has code of its own for them, in tiles that stay in
// registers, as fast for matrices of some hundred rows as a library is; but only where the left operand lies by rows of what is contracted and the right one by columns. So in loops of
// such products, as learning goes through minibatches, operands are turned beforehand. A program with larger products elsewhere is left alone: tiles of registers alone do not
// keep large matrices in a cache, and the choice is the whole program's (TiledProducts).

// mostTiled is the number of multiplications up to which a product of two matrices in a loop is computed in tiles: larger ones take so long that a call is nothing.
const mostTiled = 1 << 20

// mostRight is the size of a right operand, in elements, up to which it stays in a core's cache while all rows of the left one pass.
const mostRight = 1 << 16

// TiledProducts tells whether a lowered program has loops, or other functions, that are one function if the compiler's own products are chosen.
func (g *Graph) TiledProducts() bool {
	return g.any(func(n *Node) bool {
		return n.Op.Name == "function" || n.Op.Name == "while" && n.Attrs.(whileAttrs).tiled
	})
}

// tileable tells whether a loop's products are such that they can be computed in tiles, and nothing else keeps the loop apart; what except marks does not count.
func (l *lowering) tileable(loop *Node, except func(*Node) bool) bool {
	if l.huge == nil {
		huge := l.program.any(func(n *Node) bool {
			if n.Op.Name != "dot_general" {
				return false
			}
			rows, inner, columns := productSizes(n)
			return rows > 1 && columns > 1 && inner*columns > mostRight
		})
		l.huge = &huge
	}
	return !*l.huge && !slices.ContainsFunc(loop.Bodies, func(b *Graph) bool {
		return b.any(func(n *Node) bool {
			if except(n) {
				return false
			}
			switch n.Op.Name {
			case "dot_general":
				rows, inner, columns := productSizes(n)
				return largeProduct(n) && (n.Outs[0].DType() != Float32 || rows*inner*columns > mostTiled)
			case "custom_call":
				return n.Attrs.(customCallAttrs).kernel != turnKernel
			}
			return n.Op.Apart != nil && n.Op.Apart(n)
		})
	})
}

// tiles rewrites the body of a loop for products in tiles.
func (l *lowering) tiles(body *Graph) *Graph {
	return newLowering(body, l.target, func(o *Op) lowerRule {
		switch o.Name {
		case "while":
			return func(_ *lowering, n *Node, in []*Array) []*Array {
				a := n.Attrs.(whileAttrs)
				if a.tiled {
					return nil
				}
				a.tiled = true
				return apply(n.Op, a, in, n.Bodies...)
			}
		case "custom_call":
			return func(_ *lowering, n *Node, in []*Array) []*Array { return []*Array{turned(in[0], []int{1, 0})} }
		case "dot_general":
			return func(_ *lowering, n *Node, in []*Array) []*Array {
				if !largeProduct(n) {
					return nil
				}
				return tiledProduct(n, in)
			}
		}
		return nil
	}).graph(body)
}

// turned is a transpose that no later step makes part of a product again.
func turned(x *Array, perm []int) *Array {
	if slices.IsSorted(perm) {
		return x
	}
	return Barrier(Transpose(x, perm...))[0]
}

// lanesOfTile is the number of columns below which a tile's registers are not full.
const lanesOfTile = 8

// movedElement is the time of an element that is turned, in those of a multiplication in full registers.
const movedElement = 16

// tiledProduct is a product with the left operand as [batch, rows, contracted] and the right one as [batch, contracted, columns], or the other way round and turned, whichever is
// less work; nil if it is so already.
func tiledProduct(n *Node, in []*Array) []*Array {
	a, x, y := n.Attrs.(dotAttrs), in[0], in[1]
	xFree, yFree := a.free(x.Rank(), y.Rank())
	rows, inner, columns := productSizes(n)
	batch := product(sizesAt(x.Dims(), a.leftBatch))
	dims := slices.Concat(sizesAt(x.Dims(), a.leftBatch), sizesAt(x.Dims(), xFree), sizesAt(y.Dims(), yFree))
	left, right := slices.Concat(a.leftBatch, xFree, a.leftContract), slices.Concat(a.rightBatch, a.rightContract, yFree)
	if inner <= mostTerms {
		return []*Array{Reshape(termByTerm(Reshape(Transpose(x, left...), batch, rows, inner), Reshape(Transpose(y, right...), batch, inner, columns)), dims...)}
	}
	cost := func(x *Array, perm []int) int {
		if slices.IsSorted(perm) {
			return 0
		}
		return x.Size() * movedElement
	}
	work := func(rows, columns int) int { return batch * inner * rows * max(columns, lanesOfTile) } // registers that are not full take as long
	swappedLeft, swappedRight := slices.Concat(a.rightBatch, yFree, a.rightContract), slices.Concat(a.leftBatch, a.leftContract, xFree)
	straight := cost(x, left) + cost(y, right) + work(rows, columns)
	swapped := cost(y, swappedLeft) + cost(x, swappedRight) + work(columns, rows) + n.Outs[0].Size()*movedElement
	flat := func(x *Array, perm []int, dims ...int) *Array { return Reshape(turned(x, perm), dims...) }
	of := dotAttrs{[]int{0}, []int{0}, []int{2}, []int{1}}
	if batch == 1 && len(a.leftBatch) == 0 {
		of = dotAttrs{leftContract: []int{1}, rightContract: []int{0}}
	}
	shaped := func(sizes ...int) []int {
		if len(of.leftBatch) == 0 {
			return sizes
		}
		return append([]int{batch}, sizes...)
	}
	if straight <= swapped {
		if slices.IsSorted(left) && slices.IsSorted(right) && x.Rank() == len(shaped(1, 1)) && y.Rank() == x.Rank() {
			return nil
		}
		p := apply1(n.Op, of, flat(x, left, shaped(rows, inner)...), flat(y, right, shaped(inner, columns)...))
		return []*Array{Reshape(p, dims...)}
	}
	p := apply1(n.Op, of, flat(y, swappedLeft, shaped(columns, inner)...), flat(x, swappedRight, shaped(inner, rows)...))
	back := []int{1, 0}
	if len(of.leftBatch) > 0 {
		back = []int{0, 2, 1}
	}
	return []*Array{Reshape(turned(Barrier(p)[0], back), dims...)}
}

// mostTerms is the number of contracted elements up to which a product is a sum of that many terms.
const mostTerms = 8

// termByTerm is the product of x [batch, rows, contracted] and y [batch, contracted, columns], which the compiler makes one loop over the result.
func termByTerm(x, y *Array) (sum *Array) {
	out := x.shape.dims(x.Dim(0), x.Dim(1), y.Dim(2))
	for k := range x.Dim(2) {
		sum = addTangents(sum, Mul(broadcastInDim(index(x, 2, k), out.Dims, []int{0, 1}), broadcastInDim(index(y, 1, k), out.Dims, []int{0, 2})))
	}
	return sum
}
