package graph

import "slices"

// Dead results of control flow: derivatives leave loops that compute what nobody asks for. A loop keeps the results
// that are used and the parts of its carry that those need.

// prune returns n without the results that live does not mark, or n itself if it needs them all. The results that stay
// are the same values.
func prune(n *Node, live []bool) *Node {
	switch n.Op.Name {
	case "scan":
		return pruneScan(n, live)
	case "while":
		return pruneWhile(n, live)
	case "switch":
		return pruneSwitch(n, live)
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

// growCarry adds to live the parts of a loop's carry that its live results need.
func growCarry(body *Graph, live []bool, consts, carry int) (g *Graph, used []bool) {
	for {
		g, used = body.with(choose(body.Results, live))
		grown := false
		for i := range carry {
			if used[consts+i] && !live[i] {
				live[i], grown = true, true
			}
		}
		if !grown {
			return g, used
		}
	}
}

func pruneScan(n *Node, live []bool) *Node {
	a := n.Attrs.(scanAttrs)
	live = slices.Clone(live)
	body, used := growCarry(n.Bodies[0], live, a.consts, a.carry)
	keep := slices.Concat(used[:a.consts], live[:a.carry], used[a.consts+a.carry:])
	body = &Graph{Params: choose(body.Params, keep), Nodes: body.Nodes, Results: body.Results}
	b := a
	b.consts, b.carry = count(keep[:a.consts]), count(live[:a.carry])
	return &Node{Op: n.Op, Attrs: b, Inputs: choose(n.Inputs, keep), Outs: choose(n.Outs, live), Bodies: []*Graph{body}, pos: n.pos}
}

func pruneWhile(n *Node, live []bool) *Node {
	a := n.Attrs.(whileAttrs)
	live = slices.Clone(live)
	cond, condUsed := n.Bodies[0].with(n.Bodies[0].Results)
	for i, u := range condUsed[a.condConsts:] {
		live[i] = live[i] || u
	}
	body, used := growCarry(n.Bodies[1], live, a.bodyConsts, len(live))
	condKeep := append(slices.Clone(condUsed[:a.condConsts]), live...)
	bodyKeep := append(slices.Clone(used[:a.bodyConsts]), live...)
	cond = &Graph{Params: choose(cond.Params, condKeep), Nodes: cond.Nodes, Results: cond.Results}
	body = &Graph{Params: choose(body.Params, bodyKeep), Nodes: body.Nodes, Results: body.Results}
	b := whileAttrs{count(condKeep[:a.condConsts]), count(bodyKeep[:a.bodyConsts]), a.name}
	keep := slices.Concat(condKeep[:a.condConsts], bodyKeep)
	return &Node{Op: n.Op, Attrs: b, Inputs: choose(n.Inputs, keep), Outs: choose(n.Outs, live), Bodies: []*Graph{cond, body}, pos: n.pos}
}

func pruneSwitch(n *Node, live []bool) *Node {
	bodies := make([]*Graph, len(n.Bodies))
	used := make([]bool, len(n.Inputs)-1)
	for i, g := range n.Bodies {
		var u []bool
		bodies[i], u = g.with(choose(g.Results, live))
		for k := range u {
			used[k] = used[k] || u[k]
		}
	}
	for i, g := range bodies {
		bodies[i] = &Graph{Params: choose(g.Params, used), Nodes: g.Nodes, Results: g.Results}
	}
	return &Node{Op: n.Op, Attrs: n.Attrs, Inputs: append(n.Inputs[:1:1], choose(n.Inputs[1:], used)...), Outs: choose(n.Outs, live), Bodies: bodies, pos: n.pos}
}
