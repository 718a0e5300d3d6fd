package run

import (
	"slices"

	"xlarun/graph"
)

// A call of a program takes some three microseconds for each array that it is given or gives, on each device: of a learner with dozens of small ones, a tenth of an update. packing keeps
// those of them that have four bytes an element as one vector, bit by bit. The others stay as they are, behind it.
type packing struct {
	shapes []graph.Shape
	small  []bool
	words  int // of the vector; 0: nothing is packed
}

// mostPacked is the size in bytes up to which an array is small: a larger one takes longer to copy than to hand over.
const mostPacked = 1 << 16

func packingOf(leaves []*graph.Array, on bool) *packing {
	p := &packing{small: make([]bool, len(leaves))}
	for i, a := range leaves {
		s := a.Shape()
		p.shapes = append(p.shapes, s)
		if on && graph.ItemSize(s.DType) == 4 && s.Bytes() <= mostPacked {
			p.small[i] = true
			p.words += a.Size()
		}
	}
	return p
}

// abstract is what a program is traced with that takes leaves packed.
func (p *packing) abstract(leaves []*graph.Array) []*graph.Array {
	if p.words == 0 {
		return leaves
	}
	out := []*graph.Array{graph.Abstract(graph.ShapeOf(graph.Uint32, p.words))}
	for i, a := range leaves {
		if !p.small[i] {
			out = append(out, a)
		}
	}
	return out
}

// traced packs arrays of a program.
func (p *packing) traced(leaves []*graph.Array) []*graph.Array {
	if p.words == 0 {
		return leaves
	}
	var words, others []*graph.Array
	for i, a := range leaves {
		if p.small[i] {
			words = append(words, graph.Bitcast(graph.Reshape(a, -1), graph.Uint32))
		} else {
			others = append(others, a)
		}
	}
	return append([]*graph.Array{graph.Concatenate(0, words...)}, others...)
}

// untraced are the arrays of a program that were packed.
func (p *packing) untraced(arrays []*graph.Array) []*graph.Array {
	return p.apart(arrays, func(words *graph.Array, from int, s graph.Shape) *graph.Array {
		return graph.Reshape(graph.Bitcast(graph.SliceAxis(words, 0, from, from+s.Size()), s.DType), s.Dims...)
	})
}

// apart are the leaves, of which part gives the small ones: from a word on, of a shape.
func (p *packing) apart(arrays []*graph.Array, part func(words *graph.Array, from int, s graph.Shape) *graph.Array) []*graph.Array {
	if p.words == 0 {
		return arrays
	}
	leaves, others, from := make([]*graph.Array, len(p.shapes)), arrays[1:], 0
	for i, s := range p.shapes {
		if p.small[i] {
			leaves[i] = part(arrays[0], from, s)
			from += s.Size()
		} else {
			leaves[i], others = others[0], others[1:]
		}
	}
	return leaves
}

// packed packs arrays that are computed; the vector is on the host then.
func (p *packing) packed(leaves []*graph.Array) ([]*graph.Array, error) {
	if p.words == 0 {
		return leaves, nil
	}
	leaves, err := graph.Eval(leaves) // together: they may be lazy, and made of the same
	if err != nil {
		return nil, err
	}
	var words []byte
	var others []*graph.Array
	for i, a := range leaves {
		if !p.small[i] {
			others = append(others, a)
			continue
		}
		b, err := bytesOf(a)
		if err != nil {
			return nil, err
		}
		words = append(words, b...)
	}
	return append([]*graph.Array{graph.FromBytes(graph.ShapeOf(graph.Uint32, p.words), words)}, others...), nil
}

// unpacked are the leaves of arrays that were packed; the small ones are on the host then.
func (p *packing) unpacked(arrays []*graph.Array) ([]*graph.Array, error) {
	if p.words == 0 {
		return arrays, nil
	}
	words, err := bytesOf(arrays[0])
	if err != nil {
		return nil, err
	}
	return p.apart(arrays, func(_ *graph.Array, from int, s graph.Shape) *graph.Array {
		return graph.FromBytes(s, slices.Clone(words[4*from:4*(from+s.Size())]))
	}), nil
}

// bytesOf are an array's elements on the host.
func bytesOf(a *graph.Array) ([]byte, error) {
	data, err := a.Data()
	if err != nil {
		return nil, err
	}
	return data.HostBytes()
}
