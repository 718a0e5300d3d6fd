package search

import (
	"slices"

	"xlarun/graph"
)

// packs keep an embedding as one vector of each dtype, so that a node's state is read and written at once.
type packs[E any] struct {
	tree   *graph.Tree
	shapes []graph.Shape
	dtypes []graph.DType // of the vectors, in the order in which they are first met
}

// packing says how embeddings like e are packed, and packs it.
func packing[E any](e E) (packs[E], []*graph.Array) {
	leaves, tree := graph.Flatten(e)
	p := packs[E]{tree: tree}
	for _, a := range leaves {
		p.shapes = append(p.shapes, a.Shape())
		if !slices.Contains(p.dtypes, a.DType()) {
			p.dtypes = append(p.dtypes, a.DType())
		}
	}
	return p, p.pack(e)
}

func (p packs[E]) pack(e E) []*graph.Array {
	leaves := graph.Leaves(e)
	if len(leaves) != len(p.shapes) {
		graph.Throw("search", "the model gives an embedding of %d arrays, want the root's %d", len(leaves), len(p.shapes))
	}
	out := make([]*graph.Array, len(p.dtypes))
	for k, d := range p.dtypes {
		var flat []*graph.Array
		for i, a := range leaves {
			if !a.Shape().Equal(p.shapes[i]) {
				graph.Throw("search", "the model gives an embedding with %s at %s, want the root's %s", a.Shape(), p.tree.Path(i), p.shapes[i])
			}
			if a.DType() == d {
				flat = append(flat, graph.Flatten1D(a))
			}
		}
		out[k] = graph.Concatenate(0, flat...)
	}
	return out
}

// unpack takes one node's vectors apart.
func (p packs[E]) unpack(vectors []*graph.Array) E {
	leaves := make([]*graph.Array, len(p.shapes))
	for k, d := range p.dtypes {
		at := 0
		for i, s := range p.shapes {
			if s.DType == d {
				leaves[i] = graph.Reshape(graph.SliceAxis(vectors[k], 0, at, at+s.Size()), s.Dims...)
				at += s.Size()
			}
		}
	}
	e, _ := p.tree.Unflatten(leaves).(E)
	return e
}

// unpackAll takes the vectors of all nodes apart.
func (p packs[E]) unpackAll(vectors []*graph.Array) E {
	leaves := make([]*graph.Array, len(p.shapes))
	for k, d := range p.dtypes {
		at := 0
		for i, s := range p.shapes {
			if s.DType == d {
				nodes := vectors[k].Dim(0)
				leaves[i] = graph.Reshape(graph.SliceAxis(vectors[k], 1, at, at+s.Size()), append([]int{nodes}, s.Dims...)...)
				at += s.Size()
			}
		}
	}
	e, _ := p.tree.Unflatten(leaves).(E)
	return e
}

// packAll is pack for the embeddings of all nodes.
func (p packs[E]) packAll(e E) []*graph.Array {
	leaves := graph.Leaves(e)
	out := make([]*graph.Array, len(p.dtypes))
	for k, d := range p.dtypes {
		var flat []*graph.Array
		for i, a := range leaves {
			if a.DType() == d {
				flat = append(flat, graph.Reshape(a, a.Dim(0), p.shapes[i].Size()))
			}
		}
		out[k] = graph.Concatenate(1, flat...)
	}
	return out
}
