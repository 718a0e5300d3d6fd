package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A program counts by a call of a kernel (Counted). A call keeps a loop from being one function, which would take time
// and could change the last digits of results. So a loop that is one function and counts its iterations becomes two: an
// outer one that calls the kernel, and an inner one of one iteration, which is the function. Counts further inside of a
// function are left out.

var passCounts = Pass{
	Name: "counts", Doc: "count by calls of a kernel, where that keeps no loop from being one function", Keeps: Exact,
	For: graph.Target.HasKernels,
	After: []Order{{"loops", "only then it is known which loops become one function"},
		{"writes", "writes are laid out as without a count"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		if !g.Uses("counted") {
			return nil
		}
		return byNode(t, func(l *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			switch {
			case n.Op.Name == "counted":
				return graph.CustomCall(countKernel, graph.ShapesOf(n.Outs), in...)
			case whole(n) && n.Bodies[1].Uses("counted"):
				return countIterations(l, n, in)
			}
			return nil
		}, "counted", "while")
	},
}

// countIterations returns the results of a loop that is one function, and counts its iterations.
func countIterations(l *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
	a := n.Attrs.(attr.While)
	ofBody := a.CondConsts + a.BodyConsts
	condConsts, bodyConsts, carry := in[:a.CondConsts], in[a.CondConsts:ofBody], in[ofBody:]
	cond, body := n.Bodies[0], withoutCounts(n.Bodies[1], l.Target())
	number := slices.IndexFunc(carry,
		func(x *graph.Array) bool { return x.Shape().Equal(graph.Shape{DType: graph.Int32}) })
	counter := -1
	for _, m := range n.Bodies[1].Nodes {
		if m.Op.Name == "counted" {
			counter = slices.Index(n.Bodies[1].Params[:a.BodyConsts], m.Inputs[1])
		}
	}
	if number < 0 || counter < 0 {
		return n.Op.Call(a, in, cond, body)
	}
	return graph.NamedWhile(a.Name, func(c []*graph.Array) *graph.Array {
		return l.Inline(cond, slices.Concat(condConsts, c))[0]
	}, func(c []*graph.Array) []*graph.Array {
		// One iteration. The compiler, which would dissolve a loop of one iteration, does not know what the kernel
		// returns.
		same := graph.CustomCall(countKernel, []graph.Shape{c[number].Shape()}, c[number], bodyConsts[counter])[0]
		end := graph.Add(same, 1)
		k := len(c)
		// Ne, as end is the smallest number after the largest.
		return graph.NamedWhile("", func(c []*graph.Array) *graph.Array { return graph.Ne(c[k], end) },
			func(c []*graph.Array) []*graph.Array {
				return append(l.Inline(body, slices.Concat(bodyConsts, c[:k])), graph.Add(c[k], 1))
			}, append(slices.Clone(c), c[number]))[:k]
	}, carry)
}

// withoutCounts returns a graph that counts nothing.
func withoutCounts(g *graph.Graph, t graph.Target) *graph.Graph {
	return byNode(t, func(_ *graph.Cursor, _ *graph.Node, in []*graph.Array) []*graph.Array { return in[:1] },
		"counted")(g)
}

// countKernel passes its first input on, and adds 1 to the counter whose number is the second.
var countKernel = &graph.Kernel{Target: "xlarun_count", Eval: func(in, out []*graph.Tensor) { copy(out[0].V, in[0].V) }}
