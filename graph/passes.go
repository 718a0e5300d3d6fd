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
	live := make(map[*Array]bool, len(g.Nodes))
	for _, r := range g.Results {
		live[r] = true
	}
	kept := make([]*Node, 0, len(g.Nodes))
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
	merged, _ := g.merge()
	return merged
}

// merge is mergeEqual, with a hash of the merged graph: graphs with equal hashes compute the same.
func (g *Graph) merge() (*Graph, [sha256.Size]byte) {
	ids := make(map[*Array]int, len(g.Params)+len(g.Nodes))
	same := make(map[*Array]*Array, len(g.Nodes))
	seen := make(map[string]*Node, len(g.Nodes))
	nodes := make([]*Node, 0, len(g.Nodes))
	all := binary.AppendUvarint(nil, uint64(len(g.Params))) // what the hash is of
	var key []byte
	for _, p := range g.Params {
		ids[p] = len(ids)
		all = appendValue(all, reflect.ValueOf(p.shape))
	}
	for _, n := range g.Nodes {
		c := &Node{Op: n.Op, Attrs: n.Attrs, pos: n.pos}
		c.Inputs = make([]*Array, len(n.Inputs))
		key = appendAttrs(appendText(key[:0], n.Op.Name), n.Attrs)
		key = binary.AppendUvarint(key, uint64(len(n.Inputs)))
		for i, a := range n.Inputs {
			c.Inputs[i] = orSelf(same, a)
			key = binary.AppendUvarint(key, uint64(ids[c.Inputs[i]]))
		}
		key = binary.AppendUvarint(key, uint64(len(n.Bodies)))
		for _, b := range n.Bodies {
			body, hash := b.merge()
			c.Bodies = append(c.Bodies, body)
			key = append(key, hash[:]...)
		}
		if first := seen[string(key)]; first != nil && !n.Op.Effect && !n.Op.distinct {
			for i, o := range n.Outs {
				same[o] = first.Outs[i]
			}
			continue
		}
		seen[string(key)] = c
		all = append(append(all, 1), key...)
		c.Outs = make([]*Array, len(n.Outs))
		for i, o := range n.Outs {
			c.Outs[i] = &Array{shape: o.shape, node: c, index: i, scope: o.scope}
			same[o] = c.Outs[i]
			ids[c.Outs[i]] = len(ids)
		}
		nodes = append(nodes, c)
	}
	all = append(all, 0)
	results := make([]*Array, len(g.Results))
	for i, r := range g.Results {
		results[i] = orSelf(same, r)
		all = binary.AppendUvarint(all, uint64(ids[results[i]]))
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
