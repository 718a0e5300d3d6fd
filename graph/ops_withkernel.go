package graph

import (
	"fmt"
	"slices"
	"sync"
)

// withKernelAttrs names the kernel that is called instead of the body.
type withKernelAttrs struct {
	kernel *Kernel
	// The other fields are those of WithKernelLate.
	outs  []Shape
	flops float64
	body  func() *Graph // nil: the node has it
}

func (a withKernelAttrs) String() string {
	if a.body == nil {
		return "{" + a.kernel.Target + "}"
	}
	return fmt.Sprintf("{%s %v}", a.kernel.Target, a.outs)
}

// GoString is what equal calls are merged by.
func (a withKernelAttrs) GoString() string { return a.String() }

// bodyOf is the kernel's function in ops.
func bodyOf(n *Node) *Graph {
	if a := n.Attrs.(withKernelAttrs); a.body != nil {
		return a.body()
	}
	return n.Bodies[0]
}

var _ = register(&Op{
	Name: "with_kernel",
	Shape: func(c *call) []Shape {
		if a := c.attrs.(withKernelAttrs); a.body != nil {
			return slices.Clone(a.outs)
		}
		return bodyShape(c)
	},
	ByRows:  true,
	Complex: true,
	// Every input that is not shared and every result has lanes, in front: so the kernel takes them as leading axes.
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		front := *b
		front.last = false
		all := func(k int) []bool { return slices.Repeat([]bool{true}, k) }
		a := n.Attrs.(withKernelAttrs)
		own := len(in) - a.kernel.Shared
		for i := own; i < len(in); i++ {
			if dims[i] >= 0 {
				throw("WithKernel", "input %d is shared by all lanes, but VMap maps it: map the others", i)
			}
		}
		batched := func() *Graph {
			g, _ := front.closed(bodyOf(n), slices.Concat(all(own), make([]bool, len(in)-own)), all(len(n.Outs)))
			return g
		}
		var bodies []*Graph
		if a.body == nil {
			bodies = []*Graph{batched()}
		} else {
			a.body, a.outs, a.flops = sync.OnceValue(batched), slices.Clone(a.outs), a.flops*float64(b.size)
			for i, s := range a.outs {
				a.outs[i] = s.insert(0, b.size)
			}
		}
		in = append(front.front(in[:own], dims[:own]), in[own:]...)
		return apply(n.Op, a, in, bodies...), make([]int, len(n.Outs))
	},
	NotDifferentiable: "its kernel has no derivative: give the function around it a backward pass with CustomVjp",
	NotLinear:         "it is not known to be linear",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if !l.target.HasKernels() {
			return l.inline(bodyOf(n), in)
		}
		k := *n.Attrs.(withKernelAttrs).kernel
		k.Eval = func(in, out []*Tensor) { // the kernel's reference is the body
			for i, x := range runGraph(bodyOf(n), in, nil) {
				copy(out[i].V, x.V)
			}
		}
		return kernelCall(&k, nil, ShapesOf(n.Outs), in...)
	},
	Run: func(n *Node, in []*Tensor, r *interpreter) []*Tensor { return r.run(bodyOf(n), in) },
	Cost: func(n *Node, trips func(*Node) int) Cost {
		if a := n.Attrs.(withKernelAttrs); a.body != nil {
			return Cost{FLOPs: a.flops, Bytes: bytesOf(n.Inputs) + bytesOf(n.Outs)}
		}
		return costBody(n, trips)
	},
	Cases: func() []Case {
		backwards := &Kernel{Target: "xlarun_reverse"}
		flip := func(in []*Array) []*Array { return []*Array{Reverse(in[0], -1)} }
		five := ShapeOf(Float32, 5)
		return []Case{{Inputs: []Shape{five}, Rough: true, Fn: func(x []*Array) *Array {
			return WithKernel(backwards, flip, x[0])[0]
		}}, {Inputs: []Shape{five}, Rough: true, Fn: func(x []*Array) *Array {
			return WithKernelLate(backwards, []Shape{five}, 5, flip, x[0])[0]
		}}}
	},
})

// WithKernel is f of the arrays in, which programs compute by calling a kernel where they can call kernels, and by f's
// own ops elsewhere: on other targets and on the reference interpreter. Both must come to the same. Arrays are
// row-major; VMap gives all of them, results too, one more axis in front, which the kernel takes as many of as there
// are. Kernel.Shared leaves the last ones as they are. f must not capture traced values. Derivatives do not pass it.
func WithKernel(k *Kernel, f func(in []*Array) []*Array, in ...*Array) []*Array {
	wantTarget(k)
	g := withKernelBody(ShapesOf(in), func(p []*Array) []*Array {
		watchKeys(keyBody{args: in})
		return f(p)
	})
	return apply(op("with_kernel"), withKernelAttrs{kernel: k}, in, g)
}

// WithKernelLate is WithKernel of a function that takes long to trace: its results have the shapes outs, its work is
// flops operations, and it is traced when its ops are needed, perhaps never.
func WithKernelLate(k *Kernel, outs []Shape, flops float64, f func(in []*Array) []*Array, in ...*Array) []*Array {
	wantTarget(k)
	shapes := ShapesOf(in)
	body := sync.OnceValue(func() *Graph {
		g := withKernelBody(shapes, f)
		if got := ShapesOf(g.Results); !slices.EqualFunc(got, outs, Shape.Equal) {
			throw("WithKernelLate", "the function's results are %v, want %v", got, outs)
		}
		return g
	})
	return apply(op("with_kernel"), withKernelAttrs{k, slices.Clone(outs), flops, body}, in)
}

func wantTarget(k *Kernel) {
	if k == nil || k.Target == "" {
		throw("WithKernel", "the kernel has no target: give the name that it is registered under")
	}
}

// withKernelBody traces a kernel's function.
func withKernelBody(in []Shape, f func(in []*Array) []*Array) *Graph {
	g, captured := buildGraph(in, nil, f)
	noCaptures("WithKernel", "function", captured)
	if len(captured) > 0 {
		throw("WithKernel", "the function takes a concrete %s from around it: pass it as an argument",
			captured[0].shape)
	}
	return g
}
