package graph

import "slices"

// Packing lays the leaves of a tree end to end in a few arrays, without losing a bit. One array is read, written or
// handed over faster than many small ones: a call of a compiled program takes some three microseconds per array and
// device, and each write into a stacked array is an operation of its own.
//
// Leaves may have leading axes that they all share ([lanes, ...], [iterations, lanes, ...]). The packed arrays then
// have them too: [leading..., elements].
type Packing struct {
	tree   *Tree
	shapes []Shape // of the leaves, without leading axes
	class  []DType // per leaf: dtype of the packed array that holds it, or NotPacked
	places []place // of the leaves
	arrays []DType // of the packed arrays, in the order in which leaves first name them
	sizes  []int   // elements of each packed array
	count  int     // of the arrays that Pack returns
}

// place is where a leaf lies: in Pack's array of this number, its elements from this one on.
type place struct{ array, from int }

// NotPacked is the class of a leaf that stays an array of its own.
const NotPacked DType = 0

// NewPacking returns the packing of trees like this one, of which only structure and shapes matter. class returns the
// dtype of the packed array that holds a leaf: its own dtype; for dtypes of 32 bits, another one of 32 bits; for bools
// and shorter integers, an integer of 32 bits; or NotPacked.
func NewPacking(tree any, class func(leaf Shape) DType) *Packing {
	leaves, t := Flatten(tree)
	p := &Packing{tree: t, places: make([]place, len(leaves))}
	for i, a := range leaves {
		c := class(a.Shape())
		p.shapes, p.class = append(p.shapes, a.Shape()), append(p.class, c)
		if c == NotPacked {
			continue
		}
		if !packs(a.DType(), c) {
			throw("NewPacking", "leaf %s is %s, which an array of %s does not hold bit by bit", t.Path(i), a.Shape(), c)
		}
		k := slices.Index(p.arrays, c)
		if k < 0 {
			k = len(p.arrays)
			p.arrays, p.sizes = append(p.arrays, c), append(p.sizes, 0)
		}
		p.places[i] = place{k, p.sizes[k]}
		p.sizes[k] += a.Size()
	}
	p.count = len(p.arrays)
	for i, c := range p.class {
		if c == NotPacked {
			p.places[i] = place{array: p.count}
			p.count++
		}
	}
	return p
}

// packs reports whether elements of one dtype become elements of another, and themselves again, without losing a bit.
func packs(from, to DType) bool {
	return from == to || ItemSize(from) == 4 && ItemSize(to) == 4 ||
		(from == Bool || from.IsInt() && ItemSize(from) < 4) && (to == Int32 || to == Uint32)
}

// recast changes the dtype of packed elements: bits stay where both dtypes have 32 of them, values stay otherwise.
func recast(a *Array, to DType) *Array {
	from := a.DType()
	if from != to && ItemSize(from) == 4 && ItemSize(to) == 4 {
		return Bitcast(a, to)
	}
	return Convert(a, to)
}

// Shapes returns the shapes of the leaves, without leading axes.
func (p *Packing) Shapes() []Shape { return p.shapes }

// Tree returns the structure of the trees.
func (p *Packing) Tree() *Tree { return p.tree }

// Size returns the number of elements of packed array k.
func (p *Packing) Size(k int) int { return p.sizes[k] }

// Abstract returns abstract arrays with the shapes of Pack's results, without leading axes.
func (p *Packing) Abstract() []*Array {
	var out []*Array
	for k, d := range p.arrays {
		out = append(out, Abstract(ShapeOf(d, p.sizes[k])))
	}
	for i, s := range p.shapes {
		if p.class[i] == NotPacked {
			out = append(out, Abstract(s))
		}
	}
	return out
}

// Pack returns the packed arrays, [leading..., elements], followed by the leaves that are not packed.
func (p *Packing) Pack(tree any) []*Array {
	leaves := p.leaves("Pack", tree)
	out := make([]*Array, 0, len(p.arrays))
	for _, d := range p.arrays {
		var parts []*Array
		for i, a := range leaves {
			if p.class[i] == d {
				leading := a.Dims()[:a.Rank()-p.shapes[i].Rank()]
				flat := Reshape(a, slices.Concat(leading, []int{p.shapes[i].Size()})...)
				parts = append(parts, recast(flat, d))
			}
		}
		out = append(out, Concatenate(parts[0].Rank()-1, parts...))
	}
	return append(out, p.notPacked(leaves)...)
}

// notPacked returns the leaves that are not packed.
func (p *Packing) notPacked(leaves []*Array) (out []*Array) {
	for i, a := range leaves {
		if p.class[i] == NotPacked {
			out = append(out, a)
		}
	}
	return out
}

// leaves returns the leaves of a tree that has the packing's structure.
func (p *Packing) leaves(op string, tree any) []*Array {
	leaves, t := Flatten(tree)
	if len(leaves) != len(p.shapes) {
		throw(op, "got a tree of %d leaves, want %d", len(leaves), len(p.shapes))
	}
	for i, a := range leaves {
		want := p.shapes[i]
		if leading := a.Rank() - want.Rank(); a.DType() != want.DType || leading < 0 ||
			!slices.Equal(a.Dims()[leading:], want.Dims) {
			throw(op, "leaf %s is %s, want %s", t.Path(i), a.Shape(), want)
		}
	}
	return leaves
}

// Unpack returns the tree of arrays that Pack returned. They may have other leading axes than the tree had.
func (p *Packing) Unpack(arrays []*Array) any {
	return p.unpack("Unpack", arrays, func(at place, s Shape) *Array {
		packed := arrays[at.array]
		last := packed.Rank() - 1
		part := recast(SliceAxis(packed, last, at.from, at.from+s.Size()), s.DType)
		return Reshape(part, slices.Concat(packed.Dims()[:last], s.Dims)...)
	})
}

// check refuses arrays that Pack does not return.
func (p *Packing) check(op string, arrays []*Array) {
	if len(arrays) != p.count {
		throw(op, "got %d arrays, want %d", len(arrays), p.count)
	}
	for k, d := range p.arrays {
		if a := arrays[k]; a.DType() != d || a.Rank() == 0 || a.Dim(-1) != p.sizes[k] {
			throw(op, "got %s, want %s", a.Shape(), ShapeOf(d, p.sizes[k]))
		}
	}
}

// unpack returns the tree whose packed leaves are part(place, shape).
func (p *Packing) unpack(op string, arrays []*Array, part func(at place, s Shape) *Array) any {
	p.check(op, arrays)
	leaves := make([]*Array, len(p.shapes))
	for i, at := range p.places {
		if p.class[i] == NotPacked {
			leaves[i] = arrays[at.array]
		} else {
			leaves[i] = part(at, p.shapes[i])
		}
	}
	return p.tree.Unflatten(leaves)
}

// PackHost is Pack of arrays that are computed or lazy, without leading axes. The packed arrays are on the host. Leaves
// must have the item size of the array that holds them.
func (p *Packing) PackHost(tree any) ([]*Array, error) {
	leaves := Leaves(tree)
	if len(p.arrays) == 0 {
		return leaves, nil
	}
	leaves, err := Eval(leaves) // all in one: lazy leaves may share what they are computed from
	if err != nil {
		return nil, err
	}
	var out []*Array
	for k, d := range p.arrays {
		var packed []byte
		for i, a := range leaves {
			if p.class[i] != d {
				continue
			}
			b, err := HostBytes(a)
			if err != nil {
				return nil, err
			}
			packed = append(packed, b...)
		}
		out = append(out, FromBytes(ShapeOf(d, p.sizes[k]), packed))
	}
	return append(out, p.notPacked(leaves)...), nil
}

// UnpackHost is Unpack of arrays without leading axes. The leaves that were packed are on the host, the others stay
// where they are. Leaves must have the item size of the array that holds them.
func (p *Packing) UnpackHost(arrays []*Array) (any, error) {
	packed := make([][]byte, len(p.arrays))
	for k := range p.arrays {
		var err error
		if packed[k], err = HostBytes(arrays[k]); err != nil {
			return nil, err
		}
	}
	return p.unpack("UnpackHost", arrays, func(at place, s Shape) *Array {
		size := ItemSize(s.DType)
		return FromBytes(s, slices.Clone(packed[at.array][size*at.from:size*(at.from+s.Size())]))
	}), nil
}

// View calls visit with each leaf's number and its elements, which are valid during the call. The arrays have no
// leading axes, and elements of leaves that were packed the item size of the array that holds them.
func (p *Packing) View(arrays []*Array, visit func(leaf int, elements []byte)) error {
	if err := Try(func() { p.check("View", arrays) }); err != nil {
		return err
	}
	for k, a := range arrays {
		if err := View(a, func(b []byte) error {
			size := ItemSize(a.DType())
			for i, at := range p.places {
				if at.array == k {
					visit(i, b[size*at.from:size*(at.from+p.shapes[i].Size())])
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
