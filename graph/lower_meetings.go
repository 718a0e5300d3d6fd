package graph

import (
	"fmt"
	"slices"
)

// Devices of a CPU are threads of one process. XLA's way to gather what they have takes them 15 to 60 microseconds, a kernel one or two (xlabridge/gather.c): what
// decides in a loop whose step takes a hundred. A kernel makes a thread wait, though, and the runtime runs what does not depend on each other in any order, so that two
// devices could wait for each other at two places for ever. So all places of a program are put in one order: each gets the result of the one before as an
// input that it does not read, and what holds places in its bodies has an input that waits for it. A program that has other collectives is left to XLA.

// lowerMeetings numbers the all_gathers that call the kernel: all, or none.
func lowerMeetings(g *Graph, t Target) *Graph {
	gathers := false
	others := g.any(func(n *Node) bool {
		a, ok := n.Attrs.(collectiveAttrs)
		switch {
		case n.Op.Name == "all_gather":
			gathers = gathers || a.size > 1
			return a.size > 1 && a.size != a.devices
		case n.Op.Name == "axis_index" || n.Op.Name == "preduce" && n.Attrs.(preduceAttrs).size == 1:
			return false
		}
		_, permutes := n.Attrs.(ppermuteAttrs)
		_, reduces := n.Attrs.(preduceAttrs)
		return ok && a.size > 1 || permutes || reduces
	})
	if !t.kernels() || !gathers || others {
		return g
	}
	number := 0
	return newLowering(g, t, func(o *Op) lowerRule {
		if o.Name != "all_gather" {
			return nil
		}
		return func(_ *lowering, n *Node, in []*Array) []*Array {
			a := n.Attrs.(collectiveAttrs)
			if a.size == 1 || a.meeting > 0 {
				return nil
			}
			number++
			a.meeting = number
			return apply(n.Op, a, in)
		}
	}).graph(g)
}

// meets tells whether an op stands for a place where devices meet, or holds one.
func meets(n *Node) bool {
	if a, ok := n.Attrs.(collectiveAttrs); ok && a.meeting > 0 {
		return true
	}
	return slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.any(meets) })
}

// value is an array as a text knows it.
type value struct{ name, kind string }

// meet writes an all_gather as a call of the kernel.
func (e *emitter) meet(n *Node) {
	a, x := n.Attrs.(collectiveAttrs), n.Inputs[0]
	device := e.deviceIndex(a)
	if e.met == nil {
		e.met = &value{e.ref(x), mlirType(x.shape)}
	}
	e.names[n.Outs[0]] = e.line("stablehlo.custom_call", e.ref(x)+", "+device+", "+e.met.name,
		fmt.Sprintf("call_target_name = \"xlarun_gather\", api_version = 4 : i32, has_side_effect = false, backend_config = {config = %s}", i64s([]int{a.size, a.meeting})),
		mlirType(x.shape)+", tensor<i32>, "+e.met.kind, mlirType(n.Outs[0].shape))
	e.met = &value{e.ref(n.Outs[0]), mlirType(n.Outs[0].shape)}
}

// behind has write write a node that holds meetings so that it waits for the meeting before.
func (e *emitter) behind(n *Node, write func()) {
	smallest := func(all []*Array) *Array {
		var least *Array
		for _, a := range all {
			constant := a.node != nil && a.node.Op.Name == "constant" // loops' lengths would be hidden from the compiler
			if !constant && (least == nil || a.shape.Bytes() < least.shape.Bytes()) {
				least = a
			}
		}
		return least
	}
	if x := smallest(n.Inputs); x != nil && e.met != nil {
		name, kind := e.ref(x), mlirType(x.shape)
		e.names[x] = e.line("stablehlo.custom_call", name+", "+e.met.name,
			"call_target_name = \"xlarun_after\", api_version = 4 : i32, has_side_effect = false, backend_config = {}", kind+", "+e.met.kind, kind)
		defer func() { e.names[x] = name }()
	}
	write()
	if out := smallest(n.Outs); out != nil {
		e.met = &value{e.ref(out), mlirType(out.shape)}
	}
}
