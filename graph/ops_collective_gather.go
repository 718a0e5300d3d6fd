package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/stablehlo"
)

// hasRendezvous reports whether a node is a numbered gather, at which devices wait for each other, or holds one.
func hasRendezvous(n *Node) bool {
	if a, ok := n.Attrs.(collectiveAttrs); ok && a.Rendezvous > 0 {
		return true
	}
	return slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.Any(hasRendezvous) })
}

// value is the name and the type of an array in a text.
type value struct{ name, kind string }

// gather writes an all_gather as a call of the kernel.
func (e *emitter) gather(n *Node) {
	a, x := n.Attrs.(collectiveAttrs), n.Inputs[0]
	device := e.deviceIndex(a)
	if e.gathered == nil {
		e.gathered = &value{e.ref(x), mlirType(x.shape)}
	}
	e.names[n.Outs[0]] = e.Op("stablehlo.custom_call", e.ref(x)+", "+device+", "+e.gathered.name,
		fmt.Sprintf("call_target_name = \"xlarun_gather\", api_version = 4 : i32, has_side_effect = false, "+
			"backend_config = {config = %s}", stablehlo.Int64s([]int{a.Size, a.Rendezvous})),
		mlirType(x.shape)+", tensor<i32>, "+e.gathered.kind, mlirType(n.Outs[0].shape))
	e.gathered = &value{e.ref(n.Outs[0]), mlirType(n.Outs[0].shape)}
}

// afterGather calls write to write a node that holds gathers, and makes it wait for the gather before.
func (e *emitter) afterGather(n *Node, write func()) {
	smallest := func(all []*Array) *Array {
		var least *Array
		for _, a := range all {
			// loops' lengths would be hidden from the compiler
			constant := a.node != nil && a.node.Op.Name == "constant"
			if !constant && (least == nil || a.shape.Bytes() < least.shape.Bytes()) {
				least = a
			}
		}
		return least
	}
	if x := smallest(n.Inputs); x != nil && e.gathered != nil {
		name, kind := e.ref(x), mlirType(x.shape)
		e.names[x] = e.Op("stablehlo.custom_call", name+", "+e.gathered.name,
			"call_target_name = \"xlarun_after\", api_version = 4 : i32, has_side_effect = false, backend_config = {}",
			kind+", "+e.gathered.kind, kind)
		defer func() { e.names[x] = name }()
	}
	write()
	if out := smallest(n.Outs); out != nil {
		e.gathered = &value{e.ref(out), mlirType(out.shape)}
	}
}
