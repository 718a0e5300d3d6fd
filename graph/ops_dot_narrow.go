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

// narrowProduct is a product of bfloat16 or of int8 by a kernel, or nil.
func narrowProduct(l *Cursor, n *Node, in []*Array) []*Array {
	var kernel *Kernel
	switch out := n.Outs[0].DType(); in[0].DType() {
	case BFloat16:
		if l.target.products(BFloat16) && (out == BFloat16 || out == Float32) {
			kernel = halfDotKernel
		}
	case Int8, Uint8:
		if l.target.products(Int8) && in[1].DType() == Int8 && out == Int32 {
			kernel = int8DotKernel
		}
	}
	rows, inner, columns := productSizes(n)
	if kernel == nil || in[0].Size() == 0 || in[1].Size() == 0 ||
		max(in[0].Rank(), in[1].Rank()) > mostHalfAxes || rows*inner*columns < l.target.atLeast(leastHalf) ||
		min(rows, columns) < l.target.atLeast(leastHalfLines) {
		return nil
	}
	return kernelCall(kernel, dotConfig(n.Attrs.(dotAttrs)), ShapesOf(n.Outs), in...)
}

// mostHalfAxes is AXES of narrowdot.c.
const mostHalfAxes = 24

// halfDotKernel is the kernel for products of bfloat16, int8DotKernel that for products of int8, which a compiler
// widens to int32 first. They take the numbers of dotAttrs.config.
var halfDotKernel = &Kernel{Target: "xlarun_bf16_dot", evalConfig: evalDot}

var int8DotKernel = &Kernel{Target: "xlarun_int8_dot", evalConfig: evalDot}

func evalDot(config []int, in, out []*Tensor) {
	var a dotAttrs
	next := func(n int) (axes []int) {
		axes, config = config[:n], config[n:]
		return axes
	}
	n := next(1)[0]
	a.LeftBatch, a.RightBatch = next(n), next(n)
	n = next(1)[0]
	a.LeftContract, a.RightContract = next(n), next(n)
	evalProduct(a, in[0], in[1], out[0])
}

// dotConfig lists the axes, each two lists of one length after it.
func dotConfig(a dotAttrs) []int {
	return slices.Concat([]int{len(a.LeftBatch)}, a.LeftBatch, a.RightBatch, []int{len(a.LeftContract)}, a.LeftContract,
		a.RightContract)
}
