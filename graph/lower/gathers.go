package lower

import (
	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// Devices of a CPU are threads of one process. XLA's all_gather takes them 15 to 60 microseconds, a kernel one or two
// (xlabridge/kernels/gather.c), which decides the time of a loop whose step takes a hundred. But a kernel makes a
// thread wait, and the runtime runs independent ops in any order: two devices could wait for each other at two places
// forever. So all gathers of a program are put in one order. Each gets the result of the one before as an input that it
// does not read, and an op that holds gathers in its bodies has an input that waits for the one before. A program that
// has other collectives is left to XLA.

var passGathers = Pass{
	Name: "gathers", Keeps: Exact,
	Doc:   "number the all_gathers that call a kernel, in one order for all devices",
	For:   graph.Target.HasKernels,
	After: []Order{{"ops", "later passes know only the ops that a target takes: a scan is a while loop"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		if !onlyGathers(g) {
			return nil
		}
		number := 0
		return byNode(t, func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			a := n.Attrs.(attr.Collective)
			if a.Size == 1 || a.Rendezvous > 0 {
				return nil
			}
			number++
			a.Rendezvous = number
			return n.Op.Call(a, in)
		}, "all_gather")
	},
}

// onlyGathers reports whether a program has all_gathers, each over all devices, and no other collectives.
func onlyGathers(g *graph.Graph) bool {
	gathers := false
	others := g.Any(func(n *graph.Node) bool {
		c, ok := n.Attrs.(interface{ Collective() attr.Collective })
		if !ok {
			return false
		}
		a := c.Collective()
		switch n.Op.Name {
		case "all_gather":
			gathers = gathers || a.Size > 1
			return a.Size > 1 && a.Size != a.Devices
		case "axis_index":
			return false
		case "ppermute":
			return true
		}
		return a.Size > 1
	})
	return gathers && !others
}
