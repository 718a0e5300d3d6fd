package graph

// Some loops are short and lie in each step of another one, such as the substeps of a spiking network in a step of its
// environment. On an accelerator each iteration costs a counter and copies of the state, and no kernel computes parts
// of two iterations. The rule of scans asks here whether to write the steps one after the other, without a loop.

const (
	// mostUnrolledSteps is the most steps of a loop that is written out.
	mostUnrolledSteps = 16
	// mostUnrolledOps is the most operations that all steps of such a loop have.
	mostUnrolledOps = 1 << 10
)

// writesSteps reports whether the steps of a scan are written without a loop: it is short, in the step of a loop, and
// has a state alone.
func (l *Cursor) writesSteps(n *Node) bool {
	a, body := n.Attrs.(scanAttrs), n.Bodies[0]
	return l.target.Accelerator() && (l.loop != nil || l.scan != nil) && a.Length <= mostUnrolledSteps &&
		len(n.Inputs) == a.Consts+a.Carry && len(n.Outs) == a.Carry && a.Length*len(body.Nodes) <= mostUnrolledOps &&
		!body.Any(func(n *Node) bool { return n.Op.Loop != nil })
}
