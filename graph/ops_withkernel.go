package graph

import "slices"

// withKernelAttrs names the kernel that is called instead of the body.
type withKernelAttrs struct{ kernel *Kernel }

func (a withKernelAttrs) String() string { return "{" + a.kernel.Target + "}" }

// GoString is what equal calls are merged by.
func (a withKernelAttrs) GoString() string { return a.String() }

var _ = register(&Op{
	Name: "with_kernel", Shape: bodyShape,
	ByRows:  true,
	Complex: true,
	// Every input that is not shared and every result has lanes, in front: so the kernel takes them as leading axes.
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		front := *b
		front.last = false
		all := func(k int) []bool { return slices.Repeat([]bool{true}, k) }
		own := len(in) - n.Attrs.(withKernelAttrs).kernel.Shared
		for i := own; i < len(in); i++ {
			if dims[i] >= 0 {
				throw("WithKernel", "input %d is shared by all lanes, but VMap maps it: map the others", i)
			}
		}
		g, _ := front.closed(n.Bodies[0], slices.Concat(all(own), make([]bool, len(in)-own)), all(len(n.Outs)))
		return apply(n.Op, n.Attrs, append(front.front(in[:own], dims[:own]), in[own:]...), g), make([]int, len(n.Outs))
	},
	NotDifferentiable: "its kernel has no derivative: give the function around it a backward pass with CustomVjp",
	NotLinear:         "it is not known to be linear",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if !l.target.HasKernels() {
			return lowerBody(l, n, in)
		}
		k := *n.Attrs.(withKernelAttrs).kernel
		k.Eval = func(in, out []*Tensor) { // the kernel's reference is the body
			for i, x := range runGraph(n.Bodies[0], in, nil) {
				copy(out[i].V, x.V)
			}
		}
		return kernelCall(&k, nil, ShapesOf(n.Outs), in...)
	},
	Run:  runBody,
	Cost: costBody,
	Cases: func() []Case {
		backwards := &Kernel{Target: "xlarun_reverse"}
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 5)}, Rough: true, Fn: func(x []*Array) *Array {
			return WithKernel(backwards, func(in []*Array) []*Array { return []*Array{Reverse(in[0], -1)} }, x[0])[0]
		}}}
	},
})

// WithKernel is f of the arrays in, which programs compute by calling a kernel where they can call kernels, and by f's
// own ops elsewhere: on other targets and on the reference interpreter. Both must come to the same. Arrays are
// row-major; VMap gives all of them, results too, one more axis in front, which the kernel takes as many of as there
// are. Kernel.Shared leaves the last ones as they are. f must not capture traced values. Derivatives do not pass it.
func WithKernel(k *Kernel, f func(in []*Array) []*Array, in ...*Array) []*Array {
	if k == nil || k.Target == "" {
		throw("WithKernel", "the kernel has no target: give the name that it is registered under")
	}
	g, captured := buildGraph(ShapesOf(in), nil, func(p []*Array) []*Array {
		watchKeys(keyBody{args: in})
		return f(p)
	})
	noCaptures("WithKernel", "function", captured)
	if len(captured) > 0 {
		throw("WithKernel", "the function takes a concrete %s from around it: pass it as an argument",
			captured[0].shape)
	}
	return apply(op("with_kernel"), withKernelAttrs{k}, in, g)
}
