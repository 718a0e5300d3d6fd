package lower

import "xlarun/graph"

// A key is two words of a hash, and the keys that are made of it are hashes of it. XLA's CPU compiler computes a key
// again in each place that reads it, together with the key that it was made of. So a member that splits a key in eight,
// and draws with each of them, has loops of five hashes of a hundred operations each, where one would do. LLVM's time
// grows much faster than such a loop: docs/explanation/qd.md has what NSGA-II's programs take to compile. Large draws
// call kernels, whose inputs are stored in any case.
//
// A key with few readers stays in their loops: each stored key is a kernel more, and takes memory to compile.

// leastReaders is the number of hashes that read a key from which on it is stored.
const leastReaders = 4

var passHashes = Pass{
	Name: "hashes", Doc: "compute hashes once that many hashes read", Keeps: Exact,
	For:   onCPU,
	After: []Order{{"ops", "a draw is a hash or a call of a kernel only then"}},
	Begin: func(g *graph.Graph, _ graph.Target) Run {
		shared := map[*graph.Node]bool{}
		markShared(g, shared)
		return barriersAfter(shared)
	},
}

func isHash(o *graph.Op) bool { return o.Name == "threefry2x32" }

// markShared marks the hashes of a graph and of its bodies that many hashes of the same graph read.
func markShared(g *graph.Graph, shared map[*graph.Node]bool) {
	known := map[*graph.Array]sources{}
	readers, last := map[*graph.Node]int{}, map[*graph.Node]*graph.Node{} // of each hash
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			markShared(b, shared)
		}
		if !isHash(n.Op) {
			continue
		}
		for _, in := range n.Inputs {
			for s := range collect(in, moved, known) {
				made := s.array.Node()
				if made == nil || !isHash(made.Op) || last[made] == n {
					continue
				}
				last[made] = n
				if readers[made]++; readers[made] >= leastReaders {
					shared[made] = true
				}
			}
		}
	}
}
