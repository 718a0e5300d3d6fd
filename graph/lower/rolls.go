package lower

import (
	"maps"
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A rolled array is two slices, one after the other. XLA computes it inside of what reads it, where each element asks
// which slice it lies in: the sum of the eight neighbors in a grid of 256 x 256 took 80 us. So arrays that are rolls
// of one array by a few places, as in stencils and cellular automata, become slices of that array with a border: its
// last elements lie before the first, and its first after the last. The array with its border is stored once.

const (
	// leastRolled is the least number of elements of an array that gets a border.
	leastRolled = 1 << 12
	// leastRolledRow is the least length of its last axis: along shorter ones, slices are no vectors.
	leastRolledRow = 32
	// mostBorder is the most places that an array is rolled by along an axis. It is also at most an eighth of the axis.
	mostBorder = 8
)

// border has the rolls of one array.
type border struct {
	before, after []int // places along each axis
	rolls         int
	inner, array  *graph.Array // the array, rewritten, and with its border; nil before it is made
}

// rolled is an array that is a roll of another along some axes: its element i is the other's element i + shift.
type rolled struct {
	of    *graph.Array
	shift []int
}

var passRolls = Pass{
	Name: "rolls", Doc: "make rolls of one array slices of that array with a border", Keeps: Exact,
	For:   graph.Target.IsCPU,
	After: []Order{{"ops", "what an op becomes may roll"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		rolls, borders := map[*graph.Node]rolled{}, map[*graph.Array]*border{}
		markRolls(g, rolls, borders)
		if !slices.ContainsFunc(slices.Collect(maps.Values(borders)), (*border).pays) {
			return nil
		}
		return byNode(t, sliceRolls(rolls, borders), "concatenate")
	},
}

// sliceRolls makes rolls slices of arrays with borders.
func sliceRolls(rolls map[*graph.Node]rolled, borders map[*graph.Array]*border) graph.LoweringRule {
	return func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
		r, ok := rolls[n]
		if !ok || !borders[r.of].pays() {
			return nil
		}
		b := borders[r.of]
		if n.Inputs[0].Node().Inputs[0] == r.of { // a roll of a roll comes after the first roll
			first := in[0].Node()
			if first == nil || first.Op.Name != "slice" {
				b.array = nil
			} else if b.array == nil || b.inner != first.Inputs[0] { // another inner: the body was copied before
				b.inner, b.array = first.Inputs[0], b.around(first.Inputs[0])
			}
		}
		if b.array == nil {
			return nil
		}
		start, limit := make([]int, len(r.shift)), make([]int, len(r.shift))
		for axis, s := range r.shift {
			start[axis] = b.before[axis] + s
			limit[axis] = start[axis] + r.of.Dim(axis)
		}
		return []*graph.Array{graph.Slice(b.array, start, limit)}
	}
}

// pays reports whether the border takes less than the rolls.
func (b *border) pays() bool { return b.rolls > 1 }

// around returns the array with its border. Parts of a vector lie behind barriers: a concatenation with them inside
// asks for each element in which part it lies, while one of several axes copies rows.
func (b *border) around(x *graph.Array) *graph.Array {
	for axis := range b.before {
		from := x
		part := func(start, limit int) *graph.Array {
			p := graph.SliceAxis(from, axis, start, limit)
			if p.Rank() == 1 {
				p = graph.Barrier(p)[0]
			}
			return p
		}
		n, all := x.Dim(axis), []*graph.Array{x}
		if places := b.before[axis]; places > 0 {
			all = append([]*graph.Array{part(n-places, n)}, x)
		}
		if places := b.after[axis]; places > 0 {
			all = append(all, part(0, places))
		}
		x = graph.Concatenate(axis, all...)
	}
	return graph.Barrier(x)[0]
}

// markRolls finds the rolls of a graph and of its bodies.
func markRolls(g *graph.Graph, rolls map[*graph.Node]rolled, borders map[*graph.Array]*border) {
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			markRolls(b, rolls, borders)
		}
		x, axis, shift := rollOf(n)
		if x == nil || x.Size() < leastRolled || x.Dim(x.Rank()-1) < leastRolledRow {
			continue
		}
		r := rolled{x, make([]int, x.Rank())}
		if x.Node() != nil {
			if inner, ok := rolls[x.Node()]; ok && inner.shift[axis] == 0 {
				r = rolled{inner.of, slices.Clone(inner.shift)}
			}
		}
		r.shift[axis] = shift
		if borders[r.of] == nil {
			borders[r.of] = &border{before: make([]int, x.Rank()), after: make([]int, x.Rank())}
		}
		b := borders[r.of]
		b.before[axis], b.after[axis] = max(b.before[axis], -shift), max(b.after[axis], shift)
		b.rolls++
		rolls[n] = r
	}
}

// rollOf returns the array that a node rolls, and by how many places along which axis; nil if it is no such roll.
func rollOf(n *graph.Node) (x *graph.Array, axis, shift int) {
	if n.Op.Name != "concatenate" || len(n.Inputs) != 2 || n.Inputs[0].Node() == nil || n.Inputs[1].Node() == nil {
		return nil, 0, 0
	}
	axis = n.Attrs.(attr.Axis).Axis
	first, second := n.Inputs[0].Node(), n.Inputs[1].Node()
	if first.Op.Name != "slice" || second.Op.Name != "slice" || first.Inputs[0] != second.Inputs[0] {
		return nil, 0, 0
	}
	x = first.Inputs[0]
	p, q := first.Attrs.(attr.Slice), second.Attrs.(attr.Slice)
	cut := p.Start[axis]
	for i, d := range x.Dims() {
		from, to := 0, d
		if i == axis {
			from, to = cut, cut
		}
		if p.Start[i] != from || p.Limit[i] != d || q.Start[i] != 0 || q.Limit[i] != to ||
			p.Stride[i] != 1 || q.Stride[i] != 1 {
			return nil, 0, 0
		}
	}
	length := x.Dim(axis)
	if shift = cut; shift > length/2 {
		shift -= length
	}
	if most := min(mostBorder, length/8); shift > most || -shift > most {
		return nil, 0, 0
	}
	return x, axis, shift
}
