package graph

// Dead results of control flow. Derivatives leave loops with results that nothing reads. A loop keeps the results that
// are read and the parts of its carry that those need.

// prune returns n without the results that live does not mark, or n itself if it needs them all. The results that stay
// are the same values.
func prune(n *Node, live []bool) *Node {
	if n.Op.Prune != nil {
		return n.Op.Prune(n, live)
	}
	if len(n.Bodies) == 0 {
		return n
	}
	bodies := make([]*Graph, len(n.Bodies))
	for i, g := range n.Bodies {
		bodies[i] = g.dropDead()
	}
	return &Node{Op: n.Op, Attrs: n.Attrs, Inputs: n.Inputs, Outs: n.Outs, Bodies: bodies, pos: n.pos}
}

// with returns g with these results only, dead nodes dropped, and which parameters it still uses.
func (g *Graph) with(results []*Array) (*Graph, []bool) {
	g = (&Graph{Params: g.Params, Nodes: g.Nodes, Results: results}).dropDead()
	used := map[*Array]bool{}
	for _, n := range g.Nodes {
		for _, a := range n.Inputs {
			used[a] = true
		}
	}
	for _, r := range g.Results {
		used[r] = true
	}
	flags := make([]bool, len(g.Params))
	for i, p := range g.Params {
		flags[i] = used[p]
	}
	return g, flags
}
