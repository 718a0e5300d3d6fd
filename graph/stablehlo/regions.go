package stablehlo

import (
	"slices"
	"strings"

	"xlarun/graph"
)

// single is the op of a region that is only this op of its two parameters: "add". It is "" where the region returns its
// second parameter.
func (o *op) single() (name string, ok bool) {
	if _, after, ok := strings.Cut(o.head, " applies "); ok { // JAX's short form of a reduction
		name, _, _ = strings.Cut(after, " ")
		return strings.TrimPrefix(name, "stablehlo."), true
	}
	if len(o.regions) != 1 || len(o.regions[0].params) != 2 {
		return "", false
	}
	g := o.regions[0]
	params := []string{g.params[0].name, g.params[1].name}
	switch returned := g.returned(); {
	case len(returned) != 1:
	case len(g.ops) == 1 && returned[0] == params[1]:
		return "", true
	case len(g.ops) == 2 && slices.Equal(g.ops[0].results, returned) && slices.Equal(g.ops[0].operands, params):
		return strings.TrimPrefix(g.ops[0].name, "stablehlo."), true
	}
	return "", false
}

// combine applies a region of scalars to the elements of arrays, which have equal dims. It combines the first half of
// them with the second.
func (m *importer) combine(o *op, s *scope, args ...*graph.Array) []*graph.Array {
	dims := args[0].Dims()
	flat := make([]*graph.Array, len(args))
	for i, a := range args {
		flat[i] = a.Reshape(a.Size())
	}
	out := graph.VMap(func(args []*graph.Array) []*graph.Array { return m.region(o, 0, s, args) })(flat)
	if 2*len(out) != len(args) {
		m.refuse(o, "its region returns %d values of %d, want half as many", len(out), len(args))
	}
	for i := range out {
		out[i] = out[i].Reshape(dims...)
	}
	return out
}

// fold combines the parts of several arrays, in their order, by a region that takes two elements of each.
func (m *importer) fold(o *op, s *scope, parts [][]*graph.Array) []*graph.Array {
	for len(parts) > 1 {
		var next [][]*graph.Array
		for pair := range slices.Chunk(parts, 2) {
			if len(pair) == 2 {
				pair[0] = m.combine(o, s, slices.Concat(pair...)...)
			}
			next = append(next, pair[0])
		}
		parts = next
	}
	return parts[0]
}
