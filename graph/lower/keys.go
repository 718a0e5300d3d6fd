package lower

import (
	"slices"

	"xlarun/graph"
)

// On CPUs a barrier keeps the compiler from hashing a key again in each place that reads it (Once). On an accelerator
// the barrier costs more than the hash: a stored key is a kernel, and one more for each half of it that is read. So
// keys have no barriers there. Their words are whole numbers, which are the same wherever they are computed.

var passKeys = Pass{
	Name: "keys", Doc: "drop the barriers after keys", Keeps: Exact,
	For:   graph.Target.Accelerator,
	After: []Order{{"ops", "a key that is split or folded is a hash only then"}},
	Begin: func(_ *graph.Graph, t graph.Target) Run { return byNode(t, keysApart, "optimization_barrier") },
}

// keysApart leaves keys out of a barrier. nil: it has none.
func keysApart(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
	var others []*graph.Array
	for i, x := range n.Inputs {
		if !isKey(x) {
			others = append(others, in[i])
		}
	}
	if len(others) == len(in) {
		return nil
	}
	if len(others) > 0 {
		others = n.Op.Call(n.Attrs, others)
	}
	out := slices.Clone(in)
	for i, x := range n.Inputs {
		if !isKey(x) {
			out[i], others = others[0], others[1:]
		}
	}
	return out
}

// keyMoves are the ops that move the words of a key.
var keyMoves = []string{"optimization_barrier", "reshape", "transpose", "slice", "dynamic_slice", "concatenate",
	"broadcast_in_dim"}

// isKey reports whether an array has the words of a hash.
func isKey(x *graph.Array) bool {
	for n := x.Node(); n != nil && x.DType() == graph.Uint32; n = x.Node() {
		if isHash(n) {
			return true
		}
		if !slices.Contains(keyMoves, n.Op.Name) {
			return false
		}
		from := 0
		if n.Op.Name == "optimization_barrier" {
			from = slices.Index(n.Outs, x)
		}
		x = n.Inputs[from]
	}
	return false
}
