package graph

import "fmt"

// Dead results of control flow. Derivatives leave loops with results that nothing reads. A loop keeps the results that
// are read and the parts of its carry that those need.

// pruned has the nodes without the results that a bool for each does not mark. A loop looks several times for what its
// carry needs, and so does each loop inside of it: without this memory, the time would grow exponentially with their
// depth.
type pruned map[*Node]map[string]*Node

// node returns n without the results that live does not mark, or n itself if it needs them all. The results that stay
// are the same values.
func (p pruned) node(n *Node, live []bool) *Node {
	if n.Op.Prune == nil && len(n.Bodies) == 0 {
		return n
	}
	key := fmt.Sprint(live)
	if known := p[n][key]; known != nil {
		return known
	}
	if p[n] == nil {
		p[n] = map[string]*Node{}
	}
	p[n][key] = p.prune(n, live)
	return p[n][key]
}

func (p pruned) prune(n *Node, live []bool) *Node {
	if n.Op.Prune != nil {
		return n.Op.Prune(p, n, live)
	}
	bodies := make([]*Graph, len(n.Bodies))
	for i, g := range n.Bodies {
		bodies[i], _ = p.graph(g)
	}
	return &Node{Op: n.Op, Attrs: n.Attrs, Inputs: n.Inputs, Outs: n.Outs, Bodies: bodies, pos: n.pos}
}

// with returns g with these results only, dead nodes dropped, and which parameters it still uses.
func (p pruned) with(g *Graph, results []*Array) (*Graph, []bool) {
	g, read := p.graph(&Graph{Params: g.Params, Nodes: g.Nodes, Results: results})
	flags := make([]bool, len(g.Params))
	for i, x := range g.Params {
		flags[i] = read[x]
	}
	return g, flags
}
