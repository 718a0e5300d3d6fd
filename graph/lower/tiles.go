package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A loop that is one function (loops.go) calls no library for its products of matrices. XLA's compiler has code of its
// own for them, in tiles that stay in registers. For matrices of some hundred rows it is as fast as a library, but only
// where the left operand lies by rows of what is contracted and the right one by columns. So in loops of such products,
// as in learning from minibatches, operands are transposed beforehand. A program with larger products elsewhere is left
// alone: register tiles do not keep large matrices in a cache, and the choice is made for the whole program
// (Facts.Tiles).

// mostTiled is the number of multiplications up to which a product of two matrices in a loop is computed in tiles. A
// larger one takes so long that the call of a library costs nothing.
const mostTiled = 1 << 20

// mostRight is the size of a right operand, in elements, up to which it stays in a core's cache while all rows of the
// left one pass.
const mostRight = 1 << 16

// largeProducts reports whether a program has products that are too large for tiles.
func largeProducts(g *graph.Graph) bool {
	return g.Any(func(n *graph.Node) bool {
		if n.Op.Name != "dot_general" {
			return false
		}
		rows, inner, columns := matrices(n)
		return rows > 1 && columns > 1 && inner*columns > mostRight
	})
}

// tileable reports whether a loop's products can be computed in tiles and nothing else keeps the loop apart, in a
// program without large products. Nodes that except marks (nil: none) do not count.
func tileable(loop *graph.Node, except func(*graph.Node) bool) bool {
	return !slices.ContainsFunc(loop.Bodies, func(b *graph.Graph) bool {
		return b.Any(func(n *graph.Node) bool {
			if except != nil && except(n) {
				return false
			}
			switch n.Op.Name {
			case "dot_general":
				rows, inner, columns := matrices(n)
				return n.Op.Apart(n) && (!ofFloat32(n) || rows*inner*columns > mostTiled)
			case "custom_call":
				return n.Kernel().Target != attr.Transposes
			}
			return n.Op.Apart != nil && n.Op.Apart(n)
		})
	})
}

// matrices are the sizes of the matrices [rows, inner] and [inner, columns] that a product multiplies.
func matrices(n *graph.Node) (rows, inner, columns int) {
	return n.Attrs.(attr.Dot).Matrices(n.Inputs[0].Dims(), n.Inputs[1].Dims())
}

// tiles rewrites the body of a loop for products in tiles.
func tiles(body *graph.Graph, t graph.Target) *graph.Graph {
	return graph.Rewrite(body, t, func(o *graph.Op) graph.LoweringRule {
		switch o.Name {
		case "while":
			return func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
				a := n.Attrs.(attr.While)
				if a.Tiled {
					return nil
				}
				a.Tiled = true
				return n.Op.Call(a, in, n.Bodies...)
			}
		case "custom_call":
			return func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
				return []*graph.Array{movedAxes(in[0], []int{0, 2, 1})}
			}
		case "dot_general":
			return func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
				if !n.Op.Apart(n) {
					return nil
				}
				return tiledProduct(n, in)
			}
		}
		return nil
	})
}

// movedAxes is a transpose that the compiler does not move into a product again.
func movedAxes(x *graph.Array, perm []int) *graph.Array {
	if slices.IsSorted(perm) {
		return x
	}
	return graph.Barrier(graph.Transpose(x, perm...))[0]
}

// lanesOfTile is the number of columns below which a tile's registers are not full.
const lanesOfTile = 8

// movedElement is the time to transpose an element, in multiplications in full registers.
const movedElement = 16

// tiledProduct is a product with the left operand as [batch, rows, contracted] and the right one as [batch, contracted,
// columns], or the transpose of the product of their transposes, whichever is less work. It is nil if the operands lie
// so already.
func tiledProduct(n *graph.Node, in []*graph.Array) []*graph.Array {
	a, x, y := n.Attrs.(attr.Dot), in[0], in[1]
	xFree, yFree := a.Free(x.Rank(), y.Rank())
	rows, inner, columns := matrices(n)
	batch := graph.Shape{Dims: attr.At(x.Dims(), a.LeftBatch)}.Size()
	dims := slices.Concat(attr.At(x.Dims(), a.LeftBatch), attr.At(x.Dims(), xFree), attr.At(y.Dims(), yFree))
	left, right := slices.Concat(a.LeftBatch, xFree, a.LeftContract), slices.Concat(a.RightBatch, a.RightContract,
		yFree)
	if inner <= mostTerms {
		return []*graph.Array{
			graph.Reshape(termByTerm(graph.Reshape(graph.Transpose(x, left...), batch, rows, inner),
				graph.Reshape(graph.Transpose(y, right...),
					batch, inner, columns)), dims...)}
	}
	swappedLeft, swappedRight := slices.Concat(a.RightBatch, yFree, a.RightContract),
		slices.Concat(a.LeftBatch, a.LeftContract, xFree)
	wide := func(x *graph.Array, perm []int, n int) *graph.Array {
		return graph.Reshape(graph.Transpose(x, perm...), batch, inner, n)
	}
	switch {
	case rows < fewVectors && slices.IsSorted(right):
		return []*graph.Array{graph.Reshape(vectorByVector(wide(y, right, columns), wide(x, swappedRight, rows), 1),
			dims...)}
	case columns < fewVectors && slices.IsSorted(swappedRight):
		return []*graph.Array{graph.Reshape(vectorByVector(wide(x, swappedRight, rows), wide(y, right, columns), 2),
			dims...)}
	}
	cost := func(x *graph.Array, perm []int) int {
		if slices.IsSorted(perm) {
			return 0
		}
		return x.Size() * movedElement
	}
	// registers that are not full take as long
	work := func(rows, columns int) int { return batch * inner * rows * max(columns, lanesOfTile) }
	straight := cost(x, left) + cost(y, right) + work(rows, columns)
	swapped := cost(y, swappedLeft) + cost(x, swappedRight) + work(columns, rows) + n.Outs[0].Size()*movedElement
	flat := func(x *graph.Array, perm []int, dims ...int) *graph.Array {
		return graph.Reshape(movedAxes(x, perm), dims...)
	}
	of := a.Of([]int{0}, []int{0}, []int{2}, []int{1})
	if batch == 1 && len(a.LeftBatch) == 0 {
		of = a.Of(nil, nil, []int{1}, []int{0})
	}
	shaped := func(sizes ...int) []int {
		if len(of.LeftBatch) == 0 {
			return sizes
		}
		return append([]int{batch}, sizes...)
	}
	if straight <= swapped {
		if slices.IsSorted(left) && slices.IsSorted(right) && x.Rank() == len(shaped(1, 1)) && y.Rank() == x.Rank() {
			return nil
		}
		p := n.Op.Call(of, []*graph.Array{flat(x, left, shaped(rows, inner)...),
			flat(y, right, shaped(inner, columns)...)})[0]
		return []*graph.Array{graph.Reshape(p, dims...)}
	}
	p := n.Op.Call(of, []*graph.Array{flat(y, swappedLeft, shaped(columns, inner)...),
		flat(x, swappedRight, shaped(inner, rows)...)})[0]
	back := []int{1, 0}
	if len(of.LeftBatch) > 0 {
		back = []int{0, 2, 1}
	}
	return []*graph.Array{graph.Reshape(movedAxes(graph.Barrier(p)[0], back), dims...)}
}

// fewVectors is the number of rows or columns below which a product with a matrix that lies by what is contracted, such
// as the gradient of a last layer's weights, is a sum of the matrix's rows for each of them. Tiles are too wide for it,
// and the compiler's code for the transposed product is not vectorized.
const fewVectors = 4

// vectorByVector is the product of the transpose of x [batch, contracted, n] with y [batch, contracted, few], which lie
// along an axis of the result [batch, n or few, n or few].
func vectorByVector(x, y *graph.Array, axis int) *graph.Array {
	var all []*graph.Array
	for j := range y.Dim(2) {
		column := graph.BroadcastInDim(graph.IndexAxis(y, 2, j), x.Dims(), []int{0, 1})
		all = append(all, graph.Sum(graph.Mul(x, column), 1))
	}
	return graph.Stack(all, axis)
}

// mostTerms is the number of contracted elements up to which a product is a sum of that many terms.
const mostTerms = 8

// termByTerm is the product of x [batch, rows, contracted] and y [batch, contracted, columns] as one loop over the
// result.
func termByTerm(x, y *graph.Array) (sum *graph.Array) {
	dims := []int{x.Dim(0), x.Dim(1), y.Dim(2)}
	for k := range x.Dim(2) {
		term := graph.Mul(graph.BroadcastInDim(graph.IndexAxis(x, 2, k), dims, []int{0, 1}),
			graph.BroadcastInDim(graph.IndexAxis(y, 1, k), dims,
				[]int{0, 2}))
		if sum == nil {
			sum = term
		} else {
			sum = graph.Add(sum, term)
		}
	}
	return sum
}

// ofFloat32 reports whether a product is one of float32 in float32.
func ofFloat32(n *graph.Node) bool {
	return n.Outs[0].DType() == graph.Float32 && n.Attrs.(attr.Dot).Preferred == 0
}
