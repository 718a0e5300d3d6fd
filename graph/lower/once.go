package lower

import (
	"fmt"
	"slices"

	"xlarun/graph"
)

// A key is two words of a hash, and the keys that are made of it are hashes of it. XLA's CPU compiler decides by the
// size of an operation whether to compute it again in each place that reads it, and not by its cost: it writes the
// hundred operations of a hash there, together with those of the key that it was made of, and so on. LLVM's time grows
// much faster than such a loop. Without this pass, an update of A2C on Breakout compiles for more than a minute instead
// of three seconds. So a key has a barrier, and a hash that is read in several places. Its words are whole numbers,
// which are the same wherever they are computed.

var passOnce = Pass{
	Name: "once", Doc: "compute keys, and hashes that are read in several places, once", Keeps: Exact,
	For:   graph.Target.IsCPU,
	After: []Order{{"ops", "a draw is a hash or a call of a kernel only then"}},
	Begin: func(g *graph.Graph, _ graph.Target) Run {
		shared := map[*graph.Node]bool{}
		eachGraph(g, func(g *graph.Graph) {
			if !slices.ContainsFunc(g.Nodes, isHash) {
				return
			}
			keys := keysOf(g)
			copies(g, true, func(n *graph.Node, copies float64) (once bool) {
				if isHash(n) && (copies >= 2 || keys[n]) {
					shared[n] = true
				}
				return shared[n]
			})
		})
		return barriersAfter(shared)
	},
}

// keysOf returns the hashes that other hashes are made of in the same loop. XLA writes a chain of them again for each
// element, also where each has one reader: an update of A2C with parameters that are drawn for each episode compiles
// for more than nine minutes.
func keysOf(g *graph.Graph) map[*graph.Node]bool {
	keys := map[*graph.Node]bool{}
	hashed := map[*graph.Array]bool{} // a hash is made of it
	for _, n := range slices.Backward(g.Nodes) {
		reads := slices.ContainsFunc(n.Outs, func(o *graph.Array) bool { return hashed[o] })
		if isHash(n) {
			keys[n], reads = reads, true
		} else if keeps(n) {
			reads = false
		}
		for _, in := range n.Inputs {
			hashed[in] = hashed[in] || reads
		}
	}
	return keys
}

func isHash(n *graph.Node) bool { return n.Op.Name == "threefry2x32" }

// eachGraph calls f for a graph and its bodies.
func eachGraph(g *graph.Graph, f func(g *graph.Graph)) {
	f(g)
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			eachGraph(b, f)
		}
	}
}

// readers are the readers of an array, by their numbers in ascending order, with the number of copies in each. They do
// not change: arrays share them.
type readers []read

type read struct {
	reader int
	copies float64
}

func (p readers) total() (sum float64) {
	for _, c := range p {
		sum += c.copies
	}
	return sum
}

// and returns the readers of both. One that is in both has the larger number of copies.
func (p readers) and(q readers) readers {
	if len(p) == 0 {
		return q
	}
	all := make(readers, 0, len(p)+len(q))
	for _, c := range p {
		for ; len(q) > 0 && q[0].reader < c.reader; q = q[1:] {
			all = append(all, q[0])
		}
		if len(q) > 0 && q[0].reader == c.reader {
			c.copies, q = max(c.copies, q[0].copies), q[1:]
		}
		all = append(all, c)
	}
	return append(all, q...)
}

// copies calls f for the nodes of a graph, from the last one on, with the number of places in which a compiler writes
// the node again. If times is set, it is the number of times that an element is computed: a broadcast reads the same
// one for many. f returns whether the node is stored.
func copies(g *graph.Graph, times bool, f func(n *graph.Node, copies float64) (once bool)) {
	// A reader is where an array is computed: in the loop of an array that is stored, or where a node reads one of its
	// inputs by another index than its own.
	of := make(map[*graph.Array]readers, len(g.Params)+len(g.Nodes))
	stored := map[*graph.Array]int{}
	next := 0
	another := func(copies float64) readers {
		next++
		return readers{{next, copies}}
	}
	store := func(a *graph.Array) readers {
		if stored[a] == 0 {
			next++
			stored[a] = next
		}
		return readers{{stored[a], 1}}
	}
	for _, r := range g.Results {
		of[r] = of[r].and(store(r))
	}
	for _, n := range slices.Backward(g.Nodes) {
		var all readers
		for _, o := range n.Outs {
			all = all.and(of[o])
		}
		total := all.total()
		once := f(n, total)
		for _, in := range n.Inputs {
			var by readers
			switch {
			case once:
				by = store(n.Outs[0])
			case keeps(n):
				by = store(in)
			case n.Elementwise() || isHash(n) || n.Op.Name == "reshape" || n.Op.Name == "transpose":
				by = all // in the same loop, by the same index
			case n.Op.Name == "concatenate": // each place reads some of the parts
				by = another(max(1, total*float64(in.Size())/float64(max(1, n.Outs[0].Size()))))
			case times && n.Op.Name == "broadcast_in_dim":
				by = another(total * float64(n.Outs[0].Size()) / float64(max(1, in.Size())))
			default: // each place reads other elements
				by = another(total)
			}
			of[in] = of[in].and(by)
		}
	}
}

// keeps reports whether the results of a node are stored.
func keeps(n *graph.Node) bool { return len(n.Bodies) > 0 || len(n.Outs) == 0 || notFused[n.Op.Name] }

// hashWork is the number of operations of a hash.
const hashWork = 65

// mostRepeated is the number of operations, for one element of an array in all places that compute it again, from which
// XLA takes minutes. A2C on Breakout has 14,040 without the pass. Boruvka's algorithm in bench generic has 10,240, and
// compiles in seconds.
const mostRepeated = 12000

// Repeated returns what a user should know of a lowered program for CPUs: the line whose value the compiler computes
// again in so many places that compiling takes minutes. "": there is none.
func Repeated(g *graph.Graph) string {
	most, line := 0., ""
	eachGraph(g, func(g *graph.Graph) {
		work := map[*graph.Array]float64{} // operations for one element, from stored arrays on
		for _, n := range g.Nodes {
			own := 0.
			if !keeps(n) {
				for _, in := range n.Inputs {
					own = max(own, work[in])
				}
				if isHash(n) {
					own += hashWork
				} else if n.Elementwise() {
					own++
				}
			}
			for _, o := range n.Outs {
				work[o] = own
			}
		}
		copies(g, false, func(n *graph.Node, copies float64) bool {
			if len(n.Outs) > 0 && copies > 1 {
				if all := work[n.Outs[0]] * copies; all > most {
					most, line = all, n.Where()
				}
			}
			return false
		})
	})
	if most < mostRepeated {
		return ""
	}
	return fmt.Sprintf("%s: the compiler computes this value again in each place that reads it, %.0f operations in "+
		"all, which takes minutes: put graph.Once around the value", line, most)
}
