package lower

import "xlarun/graph"

// A hash is a hundred operations, and XLA writes it once for each of its two words. In a generation of evolve the
// hashes that make keys took a third of the time to compile. So a kernel makes them, but in loops that are one
// function.

var passHashCalls = Pass{
	Name: "hashcalls", Doc: "hash by calls of a kernel, but in loops that are one function", Keeps: Exact,
	For: graph.Target.HasKernels,
	After: []Order{{"loops", "a loop that calls a kernel is no function"},
		{"functions", "a call of a kernel is not part of a function"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		return func(g *graph.Graph) *graph.Graph {
			return graph.Rewrite(g, t, func(o *graph.Op) graph.LoweringRule {
				switch o.Name {
				case "threefry2x32":
					return (*graph.Cursor).CallHash
				case "while", "function":
					return func(l *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
						if whole(n) {
							return l.Copy(n, in, n.Bodies)
						}
						return nil
					}
				}
				return nil
			})
		}
	},
}
