package lower

import (
	"maps"
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A compiler computes a value again in each place that reads it, if it finds that cheaper than to store it, and rounds
// each copy in its own way: a·b+c with one rounding or with two, a sum in another order. Then x <= x fails where both
// sides are copies of one x: ranks, ties, tournaments, medians and dominance come out wrong, and what was accepted by
// a comparison is not what is stored. JAX programs have this fault, too. This pass puts a barrier after such values, so
// that they are computed once. They are found like this:
//
//   - An op is copying if each element of its result is an element of an input, or an exact function of one:
//     broadcasts, slices, gathers, selections, sorts, maxima, signs.
//   - The sources of an array are the results of other ops that it is made of by copying ops alone.
//   - A source is inexact if it is rounded more than once between arrays that are stored. A single rounded operation on
//     stored numbers gives the same number in every copy.
//   - An inexact source is compared with itself if both sides of a comparison have it. A difference compares, too, if
//     its two sides have a source by moves alone: softmax subtracts a maximum, and its last digit does not matter.
//   - An inexact source is accepted if one side of a comparison has it, and a result of the program or of a loop's step
//     has it beside a source of the other side: best = select(f(x) > best, f(x), best).

var passExact = Pass{
	Name: "exact", Keeps: Exact,
	Doc:   "compute inexact values once that are compared with copies of themselves, or accepted",
	After: []Order{{"ops", "what an op becomes may compare copies"}},
	Begin: func(g *graph.Graph, _ graph.Target) Run {
		marked := map[*graph.Node]bool{}
		markInexact(g, marked)
		return barriersAfter(marked)
	},
}

// barriersAfter puts a barrier after each of some nodes of a graph and of its bodies, so that they are computed once.
func barriersAfter(nodes map[*graph.Node]bool) Run {
	if len(nodes) == 0 {
		return nil
	}
	return byNode(graph.Target{}, func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
		if !nodes[n] {
			return nil
		}
		return graph.Barrier(n.Op.Call(n.Attrs, in)...)
	})
}

// markInexact marks the nodes of a graph and of its bodies whose results need a barrier.
func markInexact(g *graph.Graph, marked map[*graph.Node]bool) {
	x := &exactness{copied: map[*graph.Array]sources{}, moved: map[*graph.Array]sources{}}
	type pair struct{ compared, with source }
	pairs := map[pair]bool{}
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			markInexact(b, marked)
		}
		if n.Op.Name != "compare" && n.Op.Name != "sub" || n.Inputs[0] == n.Inputs[1] ||
			!isInexact(n.Inputs[0].DType()) {
			continue
		}
		known, inputs := x.copied, copied
		if n.Op.Name == "sub" {
			known, inputs = x.moved, moved
		}
		left, right := collect(n.Inputs[0], inputs, known), collect(n.Inputs[1], inputs, known)
		for p := range left {
			for q := range right {
				if p.overlaps(q) && x.inexact(p.array) {
					marked[p.array.Node()] = true
				}
				if n.Op.Name == "compare" {
					pairs[pair{p, q}], pairs[pair{q, p}] = x.inexact(p.array), x.inexact(q.array)
				}
			}
		}
	}
	maps.DeleteFunc(pairs, func(_ pair, inexact bool) bool { return !inexact })
	for _, r := range g.Results {
		kept := collect(r, copied, x.copied)
		for c := range pairs {
			if kept[c.compared] && kept[c.with] {
				marked[c.compared.array.Node()] = true
			}
		}
	}
}

// exactness has the sources of a graph's arrays: those that reach an array by copying ops, and those that are only
// moved.
type exactness struct{ copied, moved map[*graph.Array]sources }

// source is an array, or a slice of it along an axis.
type source struct {
	array              *graph.Array
	axis, start, limit int // axis -1: the whole array
}

type sources map[source]bool

// overlaps reports whether two sources may have an element in common.
func (s source) overlaps(t source) bool {
	return s.array == t.array && (s.axis != t.axis || s.axis < 0 || s.start < t.limit && t.start < s.limit)
}

// mostSources bounds the sources of an array, and with them the time of the pass. An array with more is its own source.
const mostSources = 64

// collect returns the sources of an array: it goes through the ops for which inputs returns true. known has earlier
// results.
func collect(a *graph.Array, inputs func(*graph.Node, int) ([]*graph.Array, bool),
	known map[*graph.Array]sources) sources {
	if s, ok := known[a]; ok {
		return s
	}
	s := sources{}
	var made []*graph.Array
	copying := false
	if a.Node() != nil {
		made, copying = inputs(a.Node(), slices.Index(a.Node().Outs, a))
	}
	for _, in := range made {
		for p := range collect(in, inputs, known) {
			if p.array == in && p.axis < 0 {
				p = sliced(a.Node(), p)
			}
			s[p] = true
		}
	}
	if !copying || len(s) > mostSources {
		s = sources{{array: a, axis: -1}: true}
	}
	known[a] = s
	return s
}

// sliced returns what a node takes of a source: the slice on the first axis that a slice shortens, else all of it.
func sliced(n *graph.Node, p source) source {
	if a, ok := n.Attrs.(attr.Slice); ok {
		for i, d := range p.array.Dims() {
			if a.Start[i] > 0 || a.Limit[i] < d {
				return source{p.array, i, a.Start[i], a.Limit[i]}
			}
		}
	}
	return p
}

// moved returns the inputs whose elements a result of an op has, if the op only moves elements.
func moved(n *graph.Node, _ int) (inputs []*graph.Array, moves bool) {
	switch n.Op.Name {
	case "constant", "iota":
		return nil, true
	case "broadcast_in_dim", "reshape", "transpose", "slice", "reverse", "dynamic_slice", "gather", "stop_gradient",
		"neg":
		return n.Inputs[:1], true
	case "concatenate", "pad":
		return n.Inputs, true
	case "dynamic_update_slice":
		return n.Inputs[:2], true
	case "select":
		return n.Inputs[1:], true
	}
	return nil, false
}

// copied returns the inputs whose elements, or exact functions of them, a result of an op has, if the op is copying.
func copied(n *graph.Node, result int) (inputs []*graph.Array, copying bool) {
	kind := ""
	switch n.Op.Name {
	case "abs", "sign", "floor", "ceil", "round", "round_away", "convert", "bitcast":
		return n.Inputs[:1], true
	case "max", "min", "clamp":
		return n.Inputs, true
	case "sort", "top_k":
		return n.Inputs[min(result, len(n.Inputs)-1):][:1], true
	case "reduce":
		kind = n.Attrs.(attr.Reduce).Kind
	case "cumulative":
		kind = n.Attrs.(attr.Cumulative).Kind
	}
	if kind == "max" || kind == "min" {
		return n.Inputs[:1], true
	}
	return moved(n, result)
}

// once has the ops that round once: the result is the number nearest to the exact one.
var once = []string{"add", "sub", "mul", "div", "sqrt"}

// inexact reports whether copies of an array may differ.
func (x *exactness) inexact(a *graph.Array) bool {
	n := a.Node()
	if n == nil || !isInexact(a.DType()) || stored(n) {
		return false
	}
	if !slices.Contains(once, n.Op.Name) {
		return true
	}
	for _, in := range n.Inputs {
		for p := range collect(in, copied, x.copied) {
			if p.array.Node() != nil && isInexact(p.array.DType()) && !stored(p.array.Node()) {
				return true
			}
		}
	}
	return false
}

// stored reports whether the compiler keeps a node's results in memory: it does not compute them again where they are
// read.
func stored(n *graph.Node) bool {
	return len(n.Bodies) > 0 || slices.Contains([]string{"optimization_barrier", "custom_call", "all_gather", "preduce",
		"ppermute", "all_to_all", "threefry2x32", "threefry_draw"}, n.Op.Name)
}

// isInexact reports whether numbers of a dtype are rounded.
func isInexact(d graph.DType) bool { return d.IsFloat() || d.IsComplex() }
