package graph

import "slices"

// A program counts by a call of a kernel (Counted). A call keeps a loop from being one function, which would take time
// and could change the last digits of results. So a loop that is one function and counts its turns becomes two: an
// outer one that calls the kernel, and an inner one of one turn, which is the function. Counts further inside of a
// function are left out.

// lowerCounts makes calls of a kernel of the ops that count.
func lowerCounts(g *Graph, t Target) *Graph {
	if !g.Uses(countedName) {
		return g
	}
	return newLowering(g, t, func(o *Op) lowerRule {
		switch o.Name {
		case countedName:
			return func(_ *lowering, n *Node, in []*Array) []*Array {
				return kernelCall(countKernel, nil, shapesOf(n.Outs), in...)
			}
		case "while":
			return func(l *lowering, n *Node, in []*Array) []*Array {
				if !whole(n) || !n.Bodies[1].Uses(countedName) {
					return nil
				}
				return countTurns(l, n, in)
			}
		}
		return nil
	}).graph(g)
}

// countTurns returns the results of a loop that is one function, and counts its turns.
func countTurns(l *lowering, n *Node, in []*Array) []*Array {
	a := n.Attrs.(whileAttrs)
	p := splitWhileParts(a, in)
	cond, body := n.Bodies[0], withoutCounts(n.Bodies[1], l.target)
	number := slices.IndexFunc(p.carry, func(x *Array) bool { return x.shape.Equal(Shape{DType: Int32}) })
	counter := -1
	for _, m := range n.Bodies[1].Nodes {
		if m.Op.Name == countedName {
			counter = slices.Index(n.Bodies[1].Params[:a.bodyConsts], m.Inputs[1])
		}
	}
	if number < 0 || counter < 0 {
		return apply(n.Op, a, in, cond, body)
	}
	return whileLoop(a.name, func(c []*Array) *Array {
		return inline(cond, slices.Concat(p.cond, c))[0]
	}, func(c []*Array) []*Array {
		// One turn. The compiler, which would dissolve a loop of one turn, does not know what the kernel returns.
		same := kernelCall(countKernel, nil, []Shape{c[number].shape}, c[number], p.body[counter])[0]
		end := Add(same, 1)
		k := len(c)
		// Ne, as end is the smallest number after the largest.
		return whileLoop("", func(c []*Array) *Array { return Ne(c[k], end) }, func(c []*Array) []*Array {
			return append(inline(body, slices.Concat(p.body, c[:k])), Add(c[k], 1))
		}, append(slices.Clone(c), c[number]))[:k]
	}, p.carry)
}

// withoutCounts returns a graph that counts nothing.
func withoutCounts(g *Graph, t Target) *Graph {
	return lowerNamed(g, t, func(_ *lowering, _ *Node, in []*Array) []*Array { return in[:1] }, countedName)
}
