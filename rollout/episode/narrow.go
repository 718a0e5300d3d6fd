package episode

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

const (
	// narrowProduct is the largest size of a matrix whose product with a vector is faster as a sum over lanes than as
	// a product of the compiler's library.
	narrowProduct = 32
	// narrowSum is the number of elements up to which a sum over them is written out.
	narrowSum = 32
	// narrowDot is the same for the product of two vectors: the compiler adds its terms one after the other anyway.
	narrowDot = 256
)

// Narrow reports whether the steps of an episode are arithmetic on single numbers, for which the lanes of a vector are
// members: there is no product beyond a narrow one, and nothing that works on rows. Then an episode is fastest with
// batch last, because the compiler makes one loop over the lanes of a step. Nothing is computed.
func (r *Rollout) Narrow() bool {
	short := *r
	short.Steps = 2
	params := r.Policy.Init(random.New(0))
	single, err := graph.TraceArgs("narrow", []any{params, random.New(0)}, graph.TraceOptions{}, func(in []any) any {
		return short.Member(in[0], in[1].(random.Key)).Return
	})
	if err != nil || !steps(single.Graph, false, narrow) {
		return false
	}
	const lanes = 8
	many := func(a *graph.Array) *graph.Array { return a.BroadcastTo(append([]int{lanes}, a.Dims()...)...) }
	short.Plan.BatchLast = true
	mapped, err := graph.TraceArgs("narrow", []any{graph.MapTree(many, params), random.Split(random.New(0), lanes)},
		graph.TraceOptions{}, func(in []any) any {
			f, _ := short.Evaluate(in[0], in[1].(random.Key))
			return f
		})
	return err == nil && steps(mapped.Graph, false, func(n *graph.Node) bool {
		return !n.Op.ByRows && n.Op.Name != "dot_general"
	})
}

// steps reports whether all nodes inside the scans of a graph, which go over the steps of episodes, pass a test.
func steps(g *graph.Graph, inside bool, passes func(*graph.Node) bool) bool {
	for _, n := range g.Nodes {
		if inside && !passes(n) {
			return false
		}
		for _, b := range n.Bodies {
			if !steps(b, inside || n.Op.Name == "scan", passes) {
				return false
			}
		}
	}
	return true
}

// narrow reports whether a node of one member's step is.
func narrow(n *graph.Node) bool {
	switch {
	case n.Op.ByRows:
		return false
	case n.Op.Name == "dot_general":
		a, b, out := n.Inputs[0].Shape().Size(), n.Inputs[1].Shape().Size(), n.Outs[0].Shape().Size()
		return out == 1 && a <= narrowDot || max(a, b) <= narrowProduct
	case n.Op.Name == "reduce":
		return n.Inputs[0].Shape().Size() <= narrowSum
	}
	return true
}
