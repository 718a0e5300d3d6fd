package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"
)

// Simplify returns the graph without dead nodes and with equal nodes merged, bodies included.
func (g *Graph) Simplify() *Graph { return g.mergeEqual().dropDead() }

// dropDead removes nodes whose results nothing uses, and from control flow the results that nothing uses.
func (g *Graph) dropDead() *Graph {
	g, _ = pruned{}.graph(g)
	return g
}

// graph is dropDead, and returns what the graph's nodes and results read.
func (p pruned) graph(g *Graph) (kept *Graph, read map[*Array]bool) {
	live := make(map[*Array]bool, len(g.Params)+len(g.Nodes))
	for _, r := range g.Results {
		live[r] = true
	}
	nodes := make([]*Node, 0, len(g.Nodes))
	for _, n := range slices.Backward(g.Nodes) {
		flags := make([]bool, len(n.Outs))
		used := n.Op.Effect || slices.ContainsFunc(n.Bodies, (*Graph).hasEffect)
		for i, o := range n.Outs {
			flags[i] = live[o]
			used = used || live[o]
		}
		if !used {
			continue
		}
		n = p.node(n, flags)
		nodes = append(nodes, n)
		for _, a := range n.Inputs {
			live[a] = true
		}
	}
	slices.Reverse(nodes)
	return &Graph{Params: g.Params, Nodes: nodes, Results: g.Results}, live
}

// mergeEqual replaces each node that repeats an earlier one (same op, attributes, inputs, bodies) by the earlier one.
func (g *Graph) mergeEqual() *Graph {
	merged, _ := g.merge(&made{})
	return merged
}

// merge is mergeEqual, with a hash of the merged graph: graphs with equal hashes compute the same.
func (g *Graph) merge(m *made) (*Graph, [sha256.Size]byte) {
	type merged struct {
		*Array
		id int
	}
	of := make(map[*Array]merged, len(g.Params)+len(g.Nodes))
	id := 0
	seen := make(map[string]*Node, len(g.Nodes))
	nodes := make([]*Node, 0, len(g.Nodes))
	all := binary.AppendUvarint(nil, uint64(len(g.Params))) // what the hash is of
	var key []byte
	for _, p := range g.Params {
		of[p] = merged{p, id}
		id++
		all = appendValue(all, reflect.ValueOf(p.shape))
	}
	for _, n := range g.Nodes {
		c := m.node(n.Op, n.Attrs, n.pos, len(n.Inputs), len(n.Outs))
		key = appendAttrs(appendText(key[:0], n.Op.Name), n.Attrs)
		key = binary.AppendUvarint(key, uint64(len(n.Inputs)))
		for i, a := range n.Inputs {
			c.Inputs[i] = of[a].Array
			key = binary.AppendUvarint(key, uint64(of[a].id))
		}
		key = binary.AppendUvarint(key, uint64(len(n.Bodies)))
		for _, b := range n.Bodies {
			body, hash := b.merge(m)
			c.Bodies = append(c.Bodies, body)
			key = append(key, hash[:]...)
		}
		if first := seen[string(key)]; first != nil && !n.Op.Effect && !n.Op.distinct {
			for i, o := range n.Outs {
				of[o] = of[first.Outs[i]]
			}
			continue
		}
		seen[string(key)] = n
		all = append(append(all, 1), key...)
		for i, o := range n.Outs {
			c.Outs[i] = m.array(o.shape, c, i, o.scope)
			of[o] = merged{c.Outs[i], id}
			id++
		}
		nodes = append(nodes, c)
	}
	all = append(all, 0)
	results := make([]*Array, len(g.Results))
	for i, r := range g.Results {
		results[i] = of[r].Array
		all = binary.AppendUvarint(all, uint64(of[r].id))
	}
	return &Graph{Params: g.Params, Nodes: nodes, Results: results}, sha256.Sum256(all)
}

// orSelf is what a was replaced by, or a.
func orSelf(same map[*Array]*Array, a *Array) *Array {
	if b := same[a]; b != nil {
		return b
	}
	return a
}
