package graph

// XLA's CPU runtime calls the operations of a loop's step one by one and hands some of them to other threads. That
// takes a quarter of a microsecond each and more, which is most of the time of a step of a few microseconds. Its
// compiler can make one function of a whole loop instead (Codegen.WholeLoops), in which an operation
// costs next to nothing. But a function has fewer ways to compute: products of matrices are plain loops unless their
// operands lie well (lower_tiles.go), and loops that call kernels stay as they are. Loops that would lose are kept
// apart by a call in each step that does nothing.

// lowerLoops marks the loops that are better not made one function.
func lowerLoops(g *Graph, t Target) *Graph {
	return lowerNamed(g, t, func(l *lowering, n *Node, in []*Array) []*Array {
		a := n.Attrs.(whileAttrs)
		if a.apart || whole(n) {
			return nil
		}
		if l.tileable(n, nil) {
			a.tiled = true
			return apply(n.Op, a, in, n.Bodies[0], l.tiles(n.Bodies[1]))
		}
		if n.Bodies[1].Uses("custom_call") {
			return nil
		}
		a.apart = true
		return apply(n.Op, a, in, n.Bodies...)
	}, "while")
}

// whole reports whether a node with bodies becomes one function.
func whole(n *Node) bool {
	if n.Op.Name == "function" {
		return true
	}
	if n.Op.Name != "while" || n.Attrs.(whileAttrs).apart {
		return false
	}
	if n.Attrs.(whileAttrs).tiled {
		return true
	}
	for _, b := range n.Bodies {
		if b.any(func(n *Node) bool { return n.Op.Apart != nil && n.Op.Apart(n) }) {
			return false
		}
	}
	return true
}
