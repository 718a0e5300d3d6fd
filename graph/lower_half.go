package graph

import "slices"

// XLA's CPU compiler widens bfloat16 operands of a product to float32 first, so that half precision takes longer than
// float32. Processors with instructions for products of bfloat16 (AVX512-BF16, AMX) do twice as many multiplications
// at a time, or more. A kernel uses them. It takes operands as they lie, whatever axes are contracted, so that neither
// lanes nor gradients need a transpose.

// leastHalf is the number of multiplications from which the kernel is called.
const leastHalf = 1 << 14

// leastHalfLines is the number of rows and of columns from which it is called. With fewer, most of its time goes into
// copies of the operands.
const leastHalfLines = 8

// halfProduct is a product of bfloat16 by the kernel, or nil.
func halfProduct(l *lowering, n *Node, in []*Array) []*Array {
	rows, inner, columns := productSizes(n)
	if !l.target.half() || in[0].DType() != BFloat16 || in[0].Size() == 0 || in[1].Size() == 0 ||
		max(in[0].Rank(), in[1].Rank()) > mostHalfAxes || rows*inner*columns < l.target.atLeast(leastHalf) ||
		min(rows, columns) < l.target.atLeast(leastHalfLines) {
		return nil
	}
	return kernelCall(halfDotKernel, n.Attrs.(dotAttrs).config(), shapesOf(n.Outs), in...)
}

// mostHalfAxes is AXES of bf16dot.c.
const mostHalfAxes = 24

// halfDotKernel is the kernel for products of bfloat16; its numbers are those of dotAttrs.config.
var halfDotKernel = &Kernel{Target: "xlarun_bf16_dot", evalConfig: func(config []int, in, out []*Tensor) {
	var a dotAttrs
	next := func(n int) (axes []int) {
		axes, config = config[:n], config[n:]
		return axes
	}
	n := next(1)[0]
	a.leftBatch, a.rightBatch = next(n), next(n)
	n = next(1)[0]
	a.leftContract, a.rightContract = next(n), next(n)
	a.eval(in[0], in[1], out[0])
}}

// config lists the axes, each two lists of one length after it.
func (a dotAttrs) config() []int {
	return slices.Concat([]int{len(a.leftBatch)}, a.leftBatch, a.rightBatch, []int{len(a.leftContract)}, a.leftContract,
		a.rightContract)
}
