package graph

import (
	"math/bits"
	"slices"
)

// Cost is the work of a program, counted from its ops, loops times their turns; of one device.
type Cost struct {
	// FLOPs are floating-point operations: a product and a sum of a dot are two, an exponential is one.
	FLOPs float64 `json:"flops"`
	// Transcendentals are those of them that are no plain arithmetic: exponentials, logarithms, sines, roots, ...
	Transcendentals float64 `json:"transcendentals"`
	// IntOps are operations on integers and booleans, comparisons included.
	IntOps float64 `json:"int_ops"`
	// Bytes are what each op reads and writes, as if no two were fused: an upper bound of the traffic, most of which a
	// compiler keeps in registers.
	Bytes float64 `json:"bytes"`
}

func (c Cost) plus(d Cost, times float64) Cost {
	return Cost{c.FLOPs + times*d.FLOPs, c.Transcendentals + times*d.Transcendentals, c.IntOps + times*d.IntOps, c.Bytes + times*d.Bytes}
}

// Cost counts the work of a graph. turns gives the number of turns of a "while", which the graph alone does not know
// (nil: one). Of the branches of a switch the costliest counts.
func (g *Graph) Cost(turns func(*Node) int) Cost {
	var sum Cost
	for _, n := range g.Nodes {
		sum = sum.plus(nodeCost(n, turns), 1)
	}
	return sum
}

// free are the ops that move nothing once compiled.
var free = []string{"reshape", "broadcast_in_dim", "constant", "iota", "optimization_barrier", "stop_gradient", "bitcast", "axis_index"}

// moves are the ops that only move data: what they write, read once.
var moves = []string{"transpose", "reverse", "concatenate", "pad", "slice", "dynamic_slice", "gather", "all_gather", "ppermute", "all_to_all"}

// transcendental are the unary and binary ops that are no plain arithmetic.
var transcendental = []string{"exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
	"acosh", "atanh", "sqrt", "rsqrt", "cbrt", "pow", "logistic", "erf", "erf_inv", "erfc", "lgamma", "digamma"}

func nodeCost(n *Node, turns func(*Node) int) Cost {
	name := n.Op.Name
	var c Cost
	switch {
	case n.Op.Cost != nil:
		return n.Op.Cost(n, turns)
	case len(n.Bodies) > 0: // the first is the function, others are rules for it
		return n.Bodies[0].Cost(turns)
	}
	if slices.Contains(free, name) {
		return c
	}
	in, out := bytesOf(n.Inputs), bytesOf(n.Outs)
	switch {
	case slices.Contains(moves, name):
		return Cost{Bytes: 2 * out}
	case name == "dynamic_update_slice":
		return Cost{Bytes: 2 * bytesOf(n.Inputs[1:2])}
	case name == "scatter":
		return Cost{Bytes: 3 * bytesOf(n.Inputs[len(n.Inputs)-1:])}
	}
	c.Bytes = in + out
	ops := operations(n)
	if len(n.Inputs) > 0 && isFloat(n.Inputs[len(n.Inputs)-1].DType()) && name != "compare" && name != "select" {
		c.FLOPs = ops
		if slices.Contains(transcendental, name) {
			c.Transcendentals = ops
		}
	} else {
		c.IntOps = ops
	}
	return c
}

func (c Cost) times(k int) Cost { return Cost{}.plus(c, float64(k)) }

// operations of an op without bodies. Decompositions count by the usual leading terms for square matrices.
func operations(n *Node) float64 {
	elements := func(a *Array) float64 { return float64(a.Size()) }
	switch n.Op.Name {
	case "dot_general":
		contracted := 1.
		for _, axis := range n.Attrs.(dotAttrs).leftContract {
			contracted *= float64(n.Inputs[0].Dim(axis))
		}
		return 2 * elements(n.Outs[0]) * contracted
	case "conv":
		w := n.Inputs[1]
		return 2 * elements(n.Outs[0]) * elements(w) / max(1, float64(w.Dim(n.Attrs.(convAttrs).w[0])))
	case "reduce", "argreduce", "cumulative", "preduce":
		return elements(n.Inputs[0])
	case "sort", "top_k":
		a := n.Inputs[0]
		if a.Rank() == 0 {
			return 0
		}
		return elements(a) * float64(bits.Len(uint(slices.Max(a.Dims()))))
	case "threefry2x32":
		return 65 * elements(n.Outs[0]) // 20 rounds of an addition, a rotation and a xor, and 5 keys, for two words
	case "cholesky", "lu", "qr", "eigh", "svd", "triangular_solve":
		a := n.Inputs[0]
		side := float64(a.Dim(a.Rank() - 1))
		factor := map[string]float64{"cholesky": 1. / 3, "lu": 2. / 3, "qr": 4. / 3, "eigh": 9, "svd": 20}[n.Op.Name]
		if n.Op.Name == "triangular_solve" {
			return side * elements(n.Outs[0])
		}
		return factor * side * elements(a)
	case "custom_call":
		return 0
	}
	return elements(n.Outs[0])
}

func bytesOf(arrays []*Array) float64 {
	sum := 0.
	for _, a := range arrays {
		sum += float64(a.Shape().Bytes())
	}
	return sum
}
