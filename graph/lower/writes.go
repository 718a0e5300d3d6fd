package lower

import (
	"slices"

	"xlarun/graph"
)

// XLA's CPU compiler has two ways to write the code of a loop. The older one compiles two to three times as fast to
// code of the same speed (policy.go chooses). But it cannot write into a part of an array in place: it copies the whole
// array each time. So kernels, which get the array's memory, write the parts, and a program in which they write all of
// them can be compiled the older way. A program that has other such writes is left as it is.

var passWrites = Pass{
	Name: "writes", Keeps: Exact,
	Doc:   "write into parts of arrays by calls of kernels, if that is possible for all",
	For:   graph.Target.HasKernels,
	After: []Order{{"loops", "loops that are one function write parts in place and need no kernel"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		if !writesParts(g, t) {
			return nil
		}
		return func(g *graph.Graph) *graph.Graph {
			called := graph.Rewrite(g, t, func(o *graph.Op) graph.LoweringRule { return writeRule(o, t) })
			if writesParts(called, t) {
				return g
			}
			return called
		}
	},
}

// writeRule calls kernels for the writes of an op.
func writeRule(o *graph.Op, t graph.Target) graph.LoweringRule {
	switch {
	case o.Write != nil:
		return func(l *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			if !o.WritesParts(n, t) {
				return nil
			}
			return o.Write(l, n, in)
		}
	case o.Name == "while": // one that becomes one function writes parts in place
		return func(l *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			if !whole(n) {
				return nil
			}
			return l.Copy(n, in, n.Bodies)
		}
	}
	return nil
}

// writesParts reports whether the program holds ops whose results are large arrays that XLA's CPU compiler writes part
// by part, and so would copy for each part.
func writesParts(g *graph.Graph, t graph.Target) bool {
	return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool {
		return n.Op.WritesParts != nil && n.Op.WritesParts(n, t) ||
			!whole(n) && slices.ContainsFunc(n.Bodies, func(b *graph.Graph) bool { return writesParts(b, t) })
	})
}
