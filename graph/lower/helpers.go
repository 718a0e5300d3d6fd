package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// shapesOf lists the shapes of arrays.
func shapesOf(arrays []*graph.Array) []graph.Shape {
	shapes := make([]graph.Shape, len(arrays))
	for i, a := range arrays {
		shapes[i] = a.Shape()
	}
	return shapes
}

// broadcastInDim is x with dims, where axes are the places of its axes.
func broadcastInDim(x *graph.Array, dims, axes []int) *graph.Array {
	if slices.Equal(x.Dims(), dims) && slices.IsSorted(axes) {
		return x
	}
	return graph.Table["broadcast_in_dim"].Call(attr.Broadcast{Dims: slices.Clone(dims), Axes: axes},
		[]*graph.Array{x})[0]
}

// product multiplies the sizes of axes.
func product(sizes []int) int { return graph.ShapeOf(graph.Int32, sizes...).Size() }

// hasRendezvous reports whether a node is a numbered gather, at which devices wait for each other, or holds one.
func hasRendezvous(n *graph.Node) bool {
	if a, ok := n.Attrs.(attr.Collective); ok && a.Rendezvous > 0 {
		return true
	}
	return slices.ContainsFunc(n.Bodies, func(b *graph.Graph) bool { return b.Any(hasRendezvous) })
}

// ofFloat32 reports whether a product is one of float32 in float32.
func ofFloat32(n *graph.Node) bool {
	return n.Outs[0].DType() == graph.Float32 && n.Attrs.(attr.Dot).Preferred == 0
}

// sizesAt lists the sizes of some axes.
func sizesAt(dims, axes []int) []int {
	sizes := make([]int, len(axes))
	for i, axis := range axes {
		sizes[i] = dims[axis]
	}
	return sizes
}

// isInexact reports whether numbers of a dtype are rounded.
func isInexact(d graph.DType) bool { return d.IsFloat() || d.IsComplex() }
