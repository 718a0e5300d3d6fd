package ppo

import "xlarun/graph"

// packing writes the small leaves of a tree side by side, so that a loop that stacks them writes one array a turn: each write is an operation of its own, which
// for a few numbers takes longer than to compute them.
type packing struct {
	tree   *graph.Tree
	shapes []graph.Shape // of the leaves, without the axes in front
	apart  []bool        // leaves that are large, or of a dtype that takes no 32 bits
}

// most is the number of elements up to which a leaf is small.
const most = 64

// pack gives the rows u32[n, …] of the small leaves of a tree whose leaves are [n, …], and the others behind it.
func (p *packing) pack(tree any) []*graph.Array {
	leaves, t := graph.Flatten(tree)
	*p = packing{tree: t}
	var columns, others []*graph.Array
	for _, a := range leaves {
		s := graph.ShapeOf(a.DType(), a.Dims()[1:]...)
		d := a.DType()
		apart := s.Size() > most || d != graph.Float32 && d != graph.Int32 && d != graph.Uint32 && d != graph.Bool
		p.shapes, p.apart = append(p.shapes, s), append(p.apart, apart)
		if apart {
			others = append(others, a)
			continue
		}
		switch d {
		case graph.Bool:
			a = graph.Convert(a, graph.Uint32)
		case graph.Float32, graph.Int32:
			a = graph.Bitcast(a, graph.Uint32)
		}
		columns = append(columns, graph.Reshape(a, a.Dim(0), s.Size()))
	}
	if len(columns) == 0 {
		return others
	}
	return append([]*graph.Array{graph.Concatenate(1, columns...)}, others...)
}

// unpack makes the tree again of what pack gave, with one more axis in front: the tree's leaves are [turns, n, …].
func (p *packing) unpack(packed []*graph.Array) any {
	leaves := make([]*graph.Array, len(p.shapes))
	var rows *graph.Array
	others := packed
	if len(packed) > 0 && len(packed) > count(p.apart) {
		rows, others = packed[0], packed[1:]
	}
	column := 0
	for i, s := range p.shapes {
		if p.apart[i] {
			leaves[i], others = others[0], others[1:]
			continue
		}
		a := graph.SliceAxis(rows, 2, column, column+s.Size())
		column += s.Size()
		a = graph.Reshape(a, append([]int{rows.Dim(0), rows.Dim(1)}, s.Dims...)...)
		switch s.DType {
		case graph.Bool:
			a = graph.Ne(a, 0)
		case graph.Float32, graph.Int32:
			a = graph.Bitcast(a, s.DType)
		}
		leaves[i] = a
	}
	return p.tree.Unflatten(leaves)
}

func count(all []bool) (n int) {
	for _, x := range all {
		if x {
			n++
		}
	}
	return n
}
