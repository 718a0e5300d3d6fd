package python

import "xlarun/graph"

// packing is how the leaves of a tree lie in few arrays. A call of a program spends some microseconds on each array that
// it gets or returns.
type packing struct {
	tree   *graph.Tree
	leaves []graph.Shape
	groups [][]int       // the leaves of each array
	shapes []graph.Shape // of the arrays
}

// mostPacked is the size of a tree, in bytes, above which copying its leaves takes longer than their arrays do.
const mostPacked = 1 << 19

// word is the type of the array in which leaves of a type lie.
func word(d graph.DType) graph.DType {
	if d == graph.Float32 || d == graph.Int32 {
		return graph.Uint32
	}
	return d
}

// pack returns how the leaves of a tree lie in arrays.
func pack(tree any) (p packing) {
	arrays, t := graph.Flatten(tree)
	p.tree = t
	of := map[graph.DType]int{}
	size := graph.TreeBytes(tree)
	for i, a := range arrays {
		p.leaves = append(p.leaves, a.Shape())
		d := word(a.DType())
		if g, ok := of[d]; ok && size <= mostPacked {
			p.groups[g] = append(p.groups[g], i)
			p.shapes[g] = graph.ShapeOf(d, p.shapes[g].Size()+a.Size())
			continue
		}
		of[d] = len(p.groups)
		p.groups = append(p.groups, []int{i})
		p.shapes = append(p.shapes, graph.ShapeOf(d, a.Size()))
	}
	return p
}

// pack returns the arrays of a tree.
func (p *packing) pack(tree any) (all []*graph.Array) {
	leaves := graph.Leaves(graph.Once(tree)) // else each element would be computed by itself
	for g, group := range p.groups {
		var parts []*graph.Array
		for _, i := range group {
			parts = append(parts, graph.Bitcast(leaves[i].Reshape(-1), p.shapes[g].DType))
		}
		all = append(all, graph.Concatenate(0, parts...))
	}
	return all
}

// unpack returns the tree in arrays.
func (p *packing) unpack(all []*graph.Array) any {
	leaves := make([]*graph.Array, len(p.leaves))
	for g, group := range p.groups {
		start := 0
		for _, i := range group {
			end := start + p.leaves[i].Size()
			leaves[i] = graph.Bitcast(graph.SliceAxis(all[g], 0, start, end), p.leaves[i].DType).Reshape(p.leaves[i].Dims...)
			start = end
		}
	}
	return p.tree.Unflatten(leaves)
}
