package graph

import "slices"

// Which values a loop keeps for its derivative. A value that is cheap to compute again from kept values is not kept:
// that saves writing and reading a stack over all steps, and the backward pass fuses the arithmetic into its own loops.

// cheapOps are computed again rather than kept: a few instructions an element, and the results no larger than what it
// takes to make them.
var cheapOps = map[string]bool{
	"abs": true, "add": true, "and": true, "broadcast_in_dim": true, "ceil": true, "clamp": true, "compare": true,
	"constant": true,
	"convert":  true, "div": true, "floor": true, "iota": true, "is_finite": true, "max": true, "min": true,
	"mul": true,
	"neg": true,
	"not": true, "or": true, "reshape": true, "round": true, "select": true, "sign": true, "slice": true, "sqrt": true,
	"stop_gradient": true, "sub": true, "xor": true,
}

// residuals chooses which values of a body to keep, so that all needed ones are available: kept are the values to keep,
// again the nodes to run once more, in order. free reports whether a value is available at no cost.
func residuals(body *Graph, needed []*Array, free func(*Array) bool) (kept []*Array, again []*Node) {
	r := &residualSet{maker: map[*Array]*Node{}, kept: map[*Array]bool{}, free: free}
	place := map[*Array]int{}
	for i, n := range body.Nodes {
		for _, o := range n.Outs {
			r.maker[o], place[o] = n, i+1
		}
	}
	for _, v := range needed {
		r.kept[v] = !free(v)
	}
	needed = slices.Clone(needed)
	slices.SortStableFunc(needed, func(a, b *Array) int { return place[a] - place[b] })
	order := needed
	// Several values may come cheaply from one that is not needed itself: a mask and what it masks, say.
	groups := map[*Array][]*Array{}
	for i := len(needed) - 1; i >= 0; i-- {
		v := needed[i]
		if !r.kept[v] {
			continue
		}
		switch from := r.sources(v); {
		case len(from) == 0:
			r.kept[v] = false
		case len(from) == 1 && from[0] != v:
			groups[from[0]] = append(groups[from[0]], v)
		}
	}
	for _, n := range body.Nodes {
		for _, a := range n.Inputs {
			order = r.regroup(a, groups, order)
		}
	}
	for _, v := range order {
		if r.kept[v] {
			kept = append(kept, v)
		}
	}
	run := map[*Node]bool{}
	for _, v := range needed {
		r.chain(v, run)
	}
	for _, n := range body.Nodes {
		if run[n] {
			again = append(again, n)
		}
	}
	return kept, again
}

type residualSet struct {
	maker map[*Array]*Node
	kept  map[*Array]bool
	free  func(*Array) bool
}

// regroup keeps source instead of the values that come from it, where that is less.
func (r *residualSet) regroup(source *Array, groups map[*Array][]*Array, order []*Array) []*Array {
	bytes := 0
	for _, v := range groups[source] {
		bytes += v.shape.Bytes()
	}
	if bytes <= source.shape.Bytes() {
		return order
	}
	for _, v := range groups[source] {
		r.kept[v] = false
	}
	delete(groups, source)
	r.kept[source] = true
	return append(order, source)
}

// sources lists the values that have to be kept so that v can be computed again: none if all are available, v itself if
// it cannot be computed again.
func (r *residualSet) sources(v *Array) []*Array {
	var out []*Array
	seen := map[*Array]bool{}
	var visit func(a *Array) bool
	visit = func(a *Array) bool {
		if seen[a] || r.free(a) || a != v && r.kept[a] {
			return true
		}
		seen[a] = true
		n := r.maker[a]
		if n == nil || !cheapOps[n.Op.Name] || a.shape.Size() > v.shape.Size() {
			out = append(out, a)
			return a != v && len(out) < 2
		}
		for _, x := range n.Inputs {
			if !visit(x) {
				return false
			}
		}
		return true
	}
	if !visit(v) {
		return []*Array{v}
	}
	return out
}

// chain marks the nodes that compute v from available values.
func (r *residualSet) chain(v *Array, run map[*Node]bool) {
	n := r.maker[v]
	if r.kept[v] || r.free(v) || n == nil || run[n] {
		return
	}
	run[n] = true
	for _, x := range n.Inputs {
		r.chain(x, run)
	}
}
