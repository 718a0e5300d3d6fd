package graph

import "slices"

// XLA's CPU compiler has two ways to write the code of a loop. The older one compiles two to three times as fast to
// code of the same speed (policy.go chooses). But it cannot write into a part of an array in place: it
// copies the whole array each time. So kernels, which get the array's memory, write the parts, and a program in which
// they write all of them can be compiled the older way. A program that has other such writes is left as it is.

// lowerWrites replaces all writes into parts of arrays by calls of kernels.
func lowerWrites(g *Graph, t Target) *Graph {
	if !g.writesParts(t) {
		return g
	}
	l := newLowering(g, t, func(o *Op) lowerRule {
		if o.Write == nil {
			return nil
		}
		return func(l *lowering, n *Node, in []*Array) []*Array {
			if !o.WritesParts(n, t) {
				return nil
			}
			return o.Write(l, n, in)
		}
	})
	// Loops that become one function write parts in place.
	g.any(func(n *Node) bool {
		l.done[n] = whole(n)
		return false
	})
	called := l.graph(g)
	if called.writesParts(t) {
		return g
	}
	return called
}

// writesParts reports whether the program holds ops whose results are large arrays that XLA's CPU compiler writes part
// by part, and so would copy for each part.
func (g *Graph) writesParts(t Target) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		return n.Op.WritesParts != nil && n.Op.WritesParts(n, t) ||
			!whole(n) && slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.writesParts(t) })
	})
}
