package graph

import (
	"slices"

	"xlarun/graph/internal/attr"
)

// On processors with instructions for products of bfloat16, a kernel computes convolutions, as it does products
// (ops_dot_narrow.go).

// leastHalfWindow is the number of elements of a window from which a convolution of bfloat16 calls the kernel. With
// fewer, most of its time goes into copies of windows.
const leastHalfWindow = 16

// halfConv is a convolution of bfloat16 by the kernel, or nil. Windows are rows of a product's left operand.
func halfConv(l *Cursor, n *Node, in []*Array) []*Array {
	a, out, x, w := n.Attrs.(convAttrs), n.Outs[0].shape, in[0].shape, in[1].shape
	if !a.paysHalf(l.target, x, w, out) {
		return nil
	}
	if a.out[1] == out.Rank()-1 {
		return kernelCall(halfConvKernel, a.config(), []Shape{out}, in...)
	}
	place := slices.Concat(a.out[:1], a.out[2:], a.out[1:2])
	a.out, _ = featuresLast(out.Rank())
	y := kernelCall(halfConvKernel, a.config(), []Shape{out.dims(attr.At(out.Dims, place)...)}, in...)
	return []*Array{unorder(y[0], place)}
}

// paysHalf reports whether the kernel is called for a convolution.
func (a convAttrs) paysHalf(t Target, x, w, out Shape) bool {
	window := w.Size() / max(1, w.Dims[a.w[0]])
	return t.products(BFloat16) && x.DType == BFloat16 && a.featureGroups*a.batchGroups == 1 &&
		x.Rank() <= mostHalfAxes &&
		min(x.Size(), w.Size(), out.Size()) > 0 && out.Size()*window >= t.atLeast(leastHalf) &&
		min(out.Size()/w.Dims[a.w[0]], w.Dims[a.w[0]]) >= t.atLeast(leastHalfLines) &&
		window >= t.atLeast(leastHalfWindow)
}

// halfConvKernel is the kernel for convolutions of bfloat16. It takes the numbers of convAttrs.config.
var halfConvKernel = &Kernel{Target: "xlarun_bf16_conv", evalConfig: func(config []int, in, out []*Tensor) {
	rank := in[0].Shape.Rank()
	a := convAttrs{featureGroups: 1, batchGroups: 1}
	a.x, a.w, a.out = config[:rank], config[rank:2*rank], config[2*rank:3*rank]
	for c := config[3*rank:]; len(c) > 0; c = c[4:] {
		g := &a.geometry
		g.strides, g.padding = append(g.strides, c[0]), append(g.padding, [2]int{c[1], 0})
		g.baseDilation, g.windowDilation = append(g.baseDilation, c[2]), append(g.windowDilation, c[3])
	}
	a.eval(in[0], in[1], out[0])
}}

// config lists the axes, and the geometry by spatial axes. The zeros after the last element follow from the shapes.
func (a convAttrs) config() []int {
	all, g := slices.Concat(a.x, a.w, a.out), a.geometry
	for i := range g.strides {
		all = append(all, g.strides[i], g.padding[i][0], g.baseDilation[i], g.windowDilation[i])
	}
	return all
}
