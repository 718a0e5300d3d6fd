package population

import "xlarun/graph"

// Layout lays a tree of float32 parameters out in one vector: leaf after leaf in the tree's order, each row-major.
type Layout struct{ packing *graph.Packing }

// LayoutOf returns the layout of trees like this one; only shapes matter. It throws an error for other dtypes.
func LayoutOf(params any) *Layout {
	if path, shape, other := OtherDType(params); other {
		graph.Throw("LayoutOf", "parameter %s is %s, want float32", path, shape)
	}
	return &Layout{graph.NewPacking(params, func(s graph.Shape) graph.DType { return s.DType })}
}

// OtherDType returns the first parameter that is not float32; ok is false if there is none.
func OtherDType(params any) (path string, shape graph.Shape, ok bool) {
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		if a.DType() != graph.Float32 {
			return tree.Path(i), a.Shape(), true
		}
	}
	return "", graph.Shape{}, false
}

// Size returns the length of the vector.
func (l *Layout) Size() int { return l.packing.Size(0) }

// Ravel returns a tree as one vector, f32[Size].
func (l *Layout) Ravel(params any) *graph.Array { return l.packing.Pack(params)[0] }

// Unravel returns the tree of a vector, f32[Size].
func (l *Layout) Unravel(vector *graph.Array) any { return l.packing.Unpack([]*graph.Array{vector}) }
