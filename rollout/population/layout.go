package population

import "xlarun/graph"

// Layout says how a tree of parameters lies in one flat vector: leaf after leaf in the tree's order, each row-major.
type Layout struct {
	tree   *graph.Tree
	shapes []graph.Shape
	size   int
}

// LayoutOf reads the layout of a tree of float32 leaves; only their shapes matter. Other dtypes are thrown as an error.
func LayoutOf(params any) *Layout {
	leaves, tree := graph.Flatten(params)
	l := &Layout{tree: tree}
	for i, a := range leaves {
		if a.DType() != graph.Float32 {
			graph.Throw("LayoutOf", "parameter %s is %s, want float32", tree.Path(i), a.Shape())
		}
		l.shapes = append(l.shapes, a.Shape())
		l.size += a.Size()
	}
	return l
}

// Size is the length of the vector.
func (l *Layout) Size() int { return l.size }

// Ravel writes a tree of this layout as one vector, f32[Size].
func (l *Layout) Ravel(params any) *graph.Array {
	leaves := graph.Leaves(params)
	if len(leaves) != len(l.shapes) {
		graph.Throw("Ravel", "got a tree of %d leaves, want %d", len(leaves), len(l.shapes))
	}
	flat := make([]*graph.Array, len(leaves))
	for i, a := range leaves {
		if !a.Shape().Equal(l.shapes[i]) {
			graph.Throw("Ravel", "leaf %s is %s, want %s", l.tree.Path(i), a.Shape(), l.shapes[i])
		}
		flat[i] = graph.Flatten1D(a)
	}
	return graph.Concatenate(0, flat...)
}

// Unravel reads a tree out of one vector, f32[Size].
func (l *Layout) Unravel(vector *graph.Array) any {
	if !vector.Shape().Equal(graph.ShapeOf(graph.Float32, l.size)) {
		graph.Throw("Unravel", "got %s, want f32[%d]", vector.Shape(), l.size)
	}
	leaves := make([]*graph.Array, len(l.shapes))
	at := 0
	for i, s := range l.shapes {
		leaves[i] = graph.Reshape(graph.SliceAxis(vector, 0, at, at+s.Size()), s.Dims...)
		at += s.Size()
	}
	return l.tree.Unflatten(leaves)
}
