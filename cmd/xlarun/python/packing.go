package python

import "xlarun/graph"

// packing is how the leaves of a tree lie in few arrays. A call of a program spends some microseconds on each array
// that it gets or returns, which is more than a small step of environments takes.
type packing struct {
	tree   *graph.Tree
	leaves []graph.Shape
	groups [][]int       // the leaves of each array
	shapes []graph.Shape // of the arrays
}

// mostPacked is the size of a tree, in bytes, above which copying its leaves takes longer than more arrays do.
const mostPacked = 1 << 19

// packingOf returns a packing of trees like this one. Leaves of four bytes share an array, others one of their type.
func packingOf(tree any) (p packing) {
	var arrays []*graph.Array
	arrays, p.tree = graph.Flatten(tree)
	group, small := map[graph.DType]int{}, graph.TreeBytes(tree) <= mostPacked
	for i, a := range arrays {
		d := a.DType()
		if d == graph.Float32 || d == graph.Int32 {
			d = graph.Uint32
		}
		g, ok := group[d]
		if !ok || !small {
			g = len(p.groups)
			p.groups, p.shapes = append(p.groups, nil), append(p.shapes, graph.ShapeOf(d, 0))
		}
		group[d], p.groups[g] = g, append(p.groups[g], i)
		p.shapes[g] = graph.ShapeOf(d, p.shapes[g].Size()+a.Size())
		p.leaves = append(p.leaves, a.Shape())
	}
	return p
}

// pack returns the arrays of a tree.
func (p *packing) pack(tree any) (arrays []*graph.Array) {
	leaves := graph.Leaves(graph.Once(tree)) // else the compiler would compute them element by element
	for g, group := range p.groups {
		var parts []*graph.Array
		for _, i := range group {
			parts = append(parts, graph.Bitcast(leaves[i].Reshape(-1), p.shapes[g].DType))
		}
		arrays = append(arrays, graph.Concatenate(0, parts...))
	}
	return arrays
}

// unpack returns the tree in arrays.
func (p *packing) unpack(arrays []*graph.Array) any {
	leaves := make([]*graph.Array, len(p.leaves))
	for g, group := range p.groups {
		start := 0
		for _, i := range group {
			s := p.leaves[i]
			part := graph.SliceAxis(arrays[g], 0, start, start+s.Size())
			leaves[i] = graph.Bitcast(part, s.DType).Reshape(s.Dims...)
			start += s.Size()
		}
	}
	return p.tree.Unflatten(leaves)
}
