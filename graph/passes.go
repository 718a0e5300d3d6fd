package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Simplify returns the graph without dead nodes and with equal nodes merged, bodies included.
func (g *Graph) Simplify() *Graph { return g.mergeEqual().dropDead() }

// dropDead removes nodes whose results nothing uses, and from control flow the results that nothing uses.
func (g *Graph) dropDead() *Graph {
	live := map[*Array]bool{}
	for _, r := range g.Results {
		live[r] = true
	}
	var kept []*Node
	for _, n := range slices.Backward(g.Nodes) {
		flags := make([]bool, len(n.Outs))
		used := n.Op.effect || slices.ContainsFunc(n.Bodies, (*Graph).hasEffect)
		for i, o := range n.Outs {
			flags[i] = live[o]
			used = used || live[o]
		}
		if !used {
			continue
		}
		n = prune(n, flags)
		kept = append(kept, n)
		for _, a := range n.Inputs {
			live[a] = true
		}
	}
	slices.Reverse(kept)
	return &Graph{Params: g.Params, Nodes: kept, Results: g.Results}
}

// mergeEqual replaces each node that repeats an earlier one (same op, attributes, inputs, bodies) by the earlier one.
func (g *Graph) mergeEqual() *Graph {
	ids := map[*Array]int{}
	for _, p := range g.Params {
		ids[p] = len(ids)
	}
	same := map[*Array]*Array{}
	seen := map[string]*Node{}
	nodes := make([]*Node, 0, len(g.Nodes))
	var key strings.Builder
	for _, n := range g.Nodes {
		c := &Node{Op: n.Op, Attrs: n.Attrs, pos: n.pos}
		c.Inputs = make([]*Array, len(n.Inputs))
		key.Reset()
		key.WriteString(n.Op.Name)
		if n.Attrs != nil {
			fmt.Fprintf(&key, "%#v", n.Attrs)
		}
		for i, a := range n.Inputs {
			c.Inputs[i] = orSelf(same, a)
			fmt.Fprintf(&key, " %d", ids[c.Inputs[i]])
		}
		for _, b := range n.Bodies {
			c.Bodies = append(c.Bodies, b.mergeEqual())
			key.WriteString(c.Bodies[len(c.Bodies)-1].hash())
		}
		if first := seen[key.String()]; first != nil && !n.Op.effect && !n.Op.distinct {
			for i, o := range n.Outs {
				same[o] = first.Outs[i]
			}
			continue
		}
		seen[key.String()] = c
		c.Outs = make([]*Array, len(n.Outs))
		for i, o := range n.Outs {
			c.Outs[i] = &Array{shape: o.shape, node: c, index: i, scope: o.scope}
			same[o] = c.Outs[i]
			ids[c.Outs[i]] = len(ids)
		}
		nodes = append(nodes, c)
	}
	results := make([]*Array, len(g.Results))
	for i, r := range g.Results {
		results[i] = orSelf(same, r)
	}
	return &Graph{Params: g.Params, Nodes: nodes, Results: results}
}

// orSelf is what a was replaced by, or a.
func orSelf(same map[*Array]*Array, a *Array) *Array {
	if b := same[a]; b != nil {
		return b
	}
	return a
}
