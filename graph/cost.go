package graph

// Cost is the work of a program, counted from its ops, loops times their iterations; of one device.
type Cost struct {
	// FLOPs are floating-point operations: a product and a sum of a dot are two, an exponential is one.
	FLOPs float64 `json:"flops"`
	// Transcendentals are the operations that are no plain arithmetic: exponentials, logarithms, sines, roots, ...
	Transcendentals float64 `json:"transcendentals"`
	// IntOps are operations on integers and booleans, comparisons included.
	IntOps float64 `json:"int_ops"`
	// Bytes are what each op reads and writes, as if no two were fused: an upper bound of the traffic, most of which a
	// compiler keeps in registers.
	Bytes float64 `json:"bytes"`
}

func (c Cost) plus(d Cost, times float64) Cost {
	return Cost{c.FLOPs + times*d.FLOPs, c.Transcendentals + times*d.Transcendentals, c.IntOps + times*d.IntOps,
		c.Bytes + times*d.Bytes}
}

// Cost counts the work of a graph. trips gives the number of iterations of a "while", which the graph alone does not
// know (nil: one). Of the branches of a switch the costliest counts.
func (g *Graph) Cost(trips func(*Node) int) Cost {
	var sum Cost
	for _, n := range g.Nodes {
		sum = sum.plus(n.Op.Cost(n, trips), 1)
	}
	return sum
}

// costRule is the work of a node; trips is what Graph.Cost got.
type costRule = func(n *Node, trips func(*Node) int) Cost

// costFree is the rule of ops that move nothing once compiled.
func costFree(*Node, func(*Node) int) Cost { return Cost{} }

// costMove is the rule of ops that only move data: what they write, read once.
func costMove(n *Node, _ func(*Node) int) Cost { return Cost{Bytes: 2 * bytesOf(n.Outs)} }

// costBody is the rule of ops that are their first body; others are rules for it.
func costBody(n *Node, trips func(*Node) int) Cost { return n.Bodies[0].Cost(trips) }

// costOf is the rule of ops that read their inputs and write their results, with so many operations.
//
//go:noinline
func costOf(operations func(n *Node) float64) costRule {
	return func(n *Node, _ func(*Node) int) Cost {
		c := Cost{Bytes: bytesOf(n.Inputs) + bytesOf(n.Outs)}
		if k := len(n.Inputs); k > 0 && isFloat(n.Inputs[k-1].DType()) {
			c.FLOPs = operations(n)
		} else {
			c.IntOps = operations(n)
		}
		return c
	}
}

// costElements is the rule of ops with an operation for each element of the result.
func costElements(n *Node, _ func(*Node) int) Cost { return costOf(resultElements)(n, nil) }

// costTranscendental is costElements of what is no plain arithmetic.
func costTranscendental(n *Node, _ func(*Node) int) Cost {
	c := costElements(n, nil)
	c.Transcendentals = c.FLOPs
	return c
}

// costLogic is costElements of what is no arithmetic, of floats neither.
func costLogic(n *Node, _ func(*Node) int) Cost {
	return Cost{IntOps: resultElements(n), Bytes: bytesOf(n.Inputs) + bytesOf(n.Outs)}
}

func resultElements(n *Node) float64 { return float64(n.Outs[0].Size()) }

func inputElements(n *Node) float64 { return float64(n.Inputs[0].Size()) }

// costMatrix is the rule of decompositions: the usual leading term for square matrices, factor times the side cubed.
func costMatrix(factor float64) costRule {
	return costOf(func(n *Node) float64 {
		a := n.Inputs[0]
		return factor * float64(a.Dim(a.Rank()-1)) * float64(a.Size())
	})
}

// Plus returns the work of both.
func (c Cost) Plus(d Cost) Cost { return c.plus(d, 1) }

// Times returns the work of k runs.
func (c Cost) Times(k float64) Cost { return Cost{}.plus(c, k) }

func bytesOf(arrays []*Array) float64 {
	sum := 0.
	for _, a := range arrays {
		sum += float64(a.Shape().Bytes())
	}
	return sum
}

// Elements is the number of elements that a node without bodies computes, or reduces; of a product the number of its
// multiplications. Ops that only move elements have none, but gathers and calls of kernels.
func (n *Node) Elements() float64 {
	switch {
	case n.Op.Name == "dot_general":
		return float64(n.Outs[0].Size() * contractedSize(n.Attrs.(dotAttrs), n.Inputs[0].shape))
	case n.Op.Name == "reduce" || n.Op.Name == "argreduce":
		return float64(n.Inputs[0].Size())
	case n.Op.Name == "gather" || n.Op.Name == "custom_call" || n.Elementwise():
		return float64(n.Outs[0].Size())
	}
	return 0
}
