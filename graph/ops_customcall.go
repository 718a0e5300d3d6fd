package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/stablehlo"
)

// Kernel is a function outside of the compiler that programs call by name. Kernels of one name are the same kernel.
type Kernel struct {
	// Target is the name that the kernel is registered under (kernels.Register).
	Target string
	// Eval is the reference: it fills out from in.
	Eval func(in, out []*Tensor)
	// InPlace reports that the only result has the first input's shape and may get its memory.
	InPlace bool
	// Leading reports that the kernel does the same for each index of axes in front, which all arrays then share.
	Leading bool
	// Shared is how many of the last arrays are the same for each index of axes in front, which they do not get
	// (WithKernel).
	Shared int

	// expansion is the backend_config of a routine of the compiler itself; "": it is a registered kernel.
	expansion  string
	evalConfig func(config []int, in, out []*Tensor) // Eval of a kernel that is called with numbers
}

type customCallAttrs struct {
	kernel *Kernel
	outs   []Shape
	config []int // numbers for the kernel, its attribute "config"; none: no attribute
}

// String leaves the function's address out, so that programs print the same each time.
func (a customCallAttrs) String() string {
	if a.config == nil {
		return fmt.Sprintf("{%s %v}", a.kernel.Target, a.outs)
	}
	return fmt.Sprintf("{%s %v %v}", a.kernel.Target, a.config, a.outs)
}

// Kernel is the kernel that the node calls; nil: it calls none.
func (n *Node) Kernel() *Kernel {
	if a, ok := n.Attrs.(customCallAttrs); ok {
		return a.kernel
	}
	return nil
}

// GoString is what equal calls are merged by.
func (a customCallAttrs) GoString() string { return a.String() }

var _ = register(&Op{
	Apart:   alwaysApart,
	Name:    "custom_call",
	ByRows:  true,
	Complex: true,
	Shape:   func(c *call) []Shape { return slices.Clone(c.attrs.(customCallAttrs).outs) },
	// A kernel that knows nothing of lanes gets them in turn.
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		if a := n.Attrs.(customCallAttrs); a.kernel.Leading {
			shapes := make([]Shape, len(a.outs))
			for i, s := range a.outs {
				shapes[i] = s.insert(0, b.size)
			}
			return kernelCall(a.kernel, a.config, shapes, b.front(in, dims)...), make([]int, len(shapes))
		}
		var mapped []*Array
		for i, a := range in {
			if dims[i] >= 0 {
				mapped = append(mapped, b.moveTo(a, dims[i], 0))
			}
		}
		outs := Map(func(lane []*Array) []*Array {
			args, next := slices.Clone(in), 0
			for i := range args {
				if dims[i] >= 0 {
					args[i] = lane[next]
					next++
				}
			}
			return apply(n.Op, n.Attrs, args)
		}, mapped)
		return outs, make([]int, len(outs))
	},
	NotDifferentiable: "the kernel is not known to the graph: give the function around it a backward pass with " +
		"CustomVjp", NotLinear: "it is not known to the graph",
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(customCallAttrs)
		if a.kernel.expansion != "" {
			e.generic(n, "stablehlo.custom_call", fmt.Sprintf("call_target_name = %q, has_side_effect = false, "+
				"backend_config = %q", a.kernel.Target, a.kernel.expansion))
			return
		}
		config, aliases := "", ""
		if a.config != nil {
			config = "config = " + stablehlo.Int64s(a.config)
		}
		if a.kernel.InPlace {
			aliases = ", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], " +
				"operand_index = 0, operand_tuple_indices = []>]"
		}
		e.generic(n, "stablehlo.custom_call", fmt.Sprintf("call_target_name = %q, api_version = 4 : i32, "+
			"has_side_effect = false, backend_config = {%s}, operand_layouts = %s, result_layouts = %s%s",
			a.kernel.Target, config, rowMajor(n.Inputs), rowMajor(n.Outs), aliases))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(customCallAttrs)
		out := newTensors(n.Outs)
		if a.kernel.evalConfig != nil {
			a.kernel.evalConfig(a.config, in, out)
		} else {
			a.kernel.Eval(in, out)
		}
		return out
	},
	Cost: costOf(func(*Node) float64 { return 0 }),
	Cases: func() []Case {
		reverse := &Kernel{Target: "xlarun_reverse", Eval: func(in, out []*Tensor) {
			for i := range in[0].V {
				out[0].V[len(in[0].V)-1-i] = in[0].V[i]
			}
		}}
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 5)}, Rough: true, Fn: func(x []*Array) *Array {
			return CustomCall(reverse, []Shape{x[0].shape}, x[0])[0]
		}}}
	},
})

// callHost writes the call of a target that calls Go, with a message in front of n's inputs.
func (e *emitter) callHost(n *Node, target string, message []byte, sideEffect bool) {
	text := &Array{shape: ShapeOf(Uint8, len(message))}
	e.names[text] = e.constant(tensorFromBytes(text.shape, message))
	in := append([]*Array{text}, n.Inputs...)
	e.raw(n.Outs, "stablehlo.custom_call", in, fmt.Sprintf("call_target_name = %q, api_version = 4 : i32, "+
		"has_side_effect = %t, backend_config = {}, operand_layouts = %s, result_layouts = %s", target, sideEffect,
		rowMajor(in), rowMajor(n.Outs)))
}

// rowMajor writes the layouts of arrays as XLA's kernels expect them.
func rowMajor(arrays []*Array) string {
	return "[" + joined(arrays, func(a *Array) string { return stablehlo.RowMajor(a.Rank()) }) + "]"
}

// CustomCall calls a kernel: a C function that reads arrays and writes arrays of the shapes outs, row-major all. It
// runs on the backends that the kernel is registered for, and by k.Eval on the reference interpreter. Derivatives do
// not pass it (see CustomVjp), and VMap calls it lane by lane; calls are worth while for much work at a time.
func CustomCall(k *Kernel, outs []Shape, in ...*Array) []*Array {
	if k == nil || k.Target == "" || k.Eval == nil {
		throw("CustomCall", "the kernel has no target or no reference: both are needed")
	}
	return kernelCall(k, nil, slices.Clone(outs), in...)
}

// kernelCall is CustomCall with numbers for the kernel.
func kernelCall(k *Kernel, config []int, outs []Shape, in ...*Array) []*Array {
	return apply(op("custom_call"), customCallAttrs{k, outs, config}, in)
}
