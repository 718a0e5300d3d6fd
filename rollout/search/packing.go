package search

import (
	"slices"

	"xlarun/graph"
)

// packs keep an embedding as one vector of each dtype, so that a node's state is read and written at once. Bools and unsigned words
// are kept as int32.
type packs[E any] struct {
	tree   *graph.Tree
	shapes []graph.Shape
	dtypes []graph.DType // of the vectors, in the order in which they are first met
}

// keptAs is the dtype of the vector that an array of dtype d is a part of. Converted there and back, no bit is lost.
func keptAs(d graph.DType) graph.DType {
	switch d {
	case graph.Bool, graph.Uint32, graph.Int8, graph.Uint8, graph.Int16, graph.Uint16:
		return graph.Int32
	}
	return d
}

// packing says how embeddings like e are packed, and packs it.
func packing[E any](e E) (packs[E], []*graph.Array) {
	leaves, tree := graph.Flatten(e)
	p := packs[E]{tree: tree}
	for _, a := range leaves {
		p.shapes = append(p.shapes, a.Shape())
		if d := keptAs(a.DType()); !slices.Contains(p.dtypes, d) {
			p.dtypes = append(p.dtypes, d)
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
			if keptAs(a.DType()) == d {
				flat = append(flat, graph.Convert(graph.Flatten1D(a), d))
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
			if keptAs(s.DType) == d {
				leaves[i] = graph.Convert(graph.Reshape(graph.SliceAxis(vectors[k], 0, at, at+s.Size()), s.Dims...), s.DType)
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
			if keptAs(s.DType) == d {
				nodes := vectors[k].Dim(0)
				leaves[i] = graph.Convert(graph.Reshape(graph.SliceAxis(vectors[k], 1, at, at+s.Size()), append([]int{nodes}, s.Dims...)...), s.DType)
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
			if keptAs(a.DType()) == d {
				flat = append(flat, graph.Convert(graph.Reshape(a, a.Dim(0), p.shapes[i].Size()), d))
			}
		}
		out[k] = graph.Concatenate(1, flat...)
	}
	return out
}
