package lower

import (
	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// XLA's CPU runtime calls the operations of a loop's step one by one and hands some of them to other threads. That
// takes a quarter of a microsecond each and more, which is most of the time of a step of a few microseconds. Its
// compiler can make one function of a whole loop instead (Codegen.WholeLoops), in which an operation costs next to
// nothing. But a function has fewer ways to compute: products of matrices are plain loops unless their operands lie
// well (tiles.go), and loops that call kernels stay as they are. Loops that would lose are kept apart by a call in each
// step that does nothing.

var passLoops = Pass{
	Name: "loops", Keeps: Rounded,
	Doc: "mark loops that lose if they become one function, and lay out the products in the others",
	For: graph.Target.HasKernels,
	After: []Order{{"exact", "loops are laid out with the barriers in them"},
		{"once", "loops are laid out with the barriers in them"},
		{"gathers", "a loop with numbered gathers is no function"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		large := largeProducts(g)
		return byNode(t, func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			a := n.Attrs.(attr.While)
			if a.Apart || whole(n) {
				return nil
			}
			if !large && tileable(n, nil) {
				a.Tiled = true
				return n.Op.Call(a, in, n.Bodies[0], tiles(n.Bodies[1], t))
			}
			if n.Bodies[1].Uses("custom_call") {
				return nil
			}
			a.Apart = true
			return n.Op.Call(a, in, n.Bodies...)
		}, "while")
	},
}

// whole reports whether a node with bodies becomes one function.
func whole(n *graph.Node) bool {
	if n.Op.Name == "function" {
		return true
	}
	if n.Op.Name != "while" || n.Attrs.(attr.While).Apart {
		return false
	}
	if n.Attrs.(attr.While).Tiled {
		return true
	}
	for _, b := range n.Bodies {
		if b.Any(func(n *graph.Node) bool { return n.Op.Apart != nil && n.Op.Apart(n) }) {
			return false
		}
	}
	return true
}
