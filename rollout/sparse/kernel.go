package sparse

/*
#cgo CFLAGS: -I${SRCDIR}/../../third_party/pjrt -I${SRCDIR}/../../xlabridge -O3 -Wall -Wno-psabi
#cgo LDFLAGS: -lm
#include "ffi_abi.h"
#include "kernel.h"
xf_error *xs_handler(xf_frame *frame);
xf_error *xs_bf16_handler(xf_frame *frame);
xf_error *xs_index_handler(xf_frame *frame);
*/
import "C"

import (
	"unsafe"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// laneMultiple is what the number of examples in a batch is padded to.
const laneMultiple = 32

func init() {
	xlabridge.RegisterKernel("xlarun_sparse", unsafe.Pointer(C.xs_handler))
	xlabridge.RegisterKernel("xlarun_sparse_bf16", unsafe.Pointer(C.xs_bf16_handler))
	xlabridge.RegisterKernel("xlarun_sparse_index", unsafe.Pointer(C.xs_index_handler))
}

// kernelPaths are the instruction sets that the kernel is built for and this processor runs, by default the last.
func kernelPaths() []string { return []string{"plain", "avx2", "avx512"}[:int(C.xs_paths())] }

// useKernelPath makes all kernels of the process run on the path of that number; -1 goes back to the default.
func useKernelPath(path int) { C.xs_use(C.int(path)) }

// kernelMethod runs a member's step in C (kernel.c): only the connections are computed. In bfloat16, what is multiplied
// (weights, what units hold, deltas) is rounded, while sums, logits and gradients stay float32. That takes about twice
// the instructions of float32, which units that hold half as many bytes do not win back on a processor whose first-level
// cache holds a piece either way: it is for results in bfloat16, not for speed.
type kernelMethod struct {
	shape Shape
	dtype graph.DType
}

var (
	sparseIndex      = &graph.Kernel{Target: "xlarun_sparse_index", Eval: evalIndex}
	sparseKernel     = &graph.Kernel{Target: "xlarun_sparse", Eval: func(in, out []*graph.Tensor) { evalKernel(in, out, same) }}
	sparseBF16Kernel = &graph.Kernel{Target: "xlarun_sparse_bf16", Eval: func(in, out []*graph.Tensor) { evalKernel(in, out, toBF16) }}
)

// indexSize is the length of the index of layer l.
func (s Shape) indexSize(l int) int {
	return int(C.xs_index_size(C.int(s[l].In), C.int(s[l].Out), C.int64_t(s[l].Connections), C.int(firstOf(l))))
}

func firstOf(l int) int {
	if l == 0 {
		return 1
	}
	return 0
}

// widths of the layers, i32[layers + 1].
func (m kernelMethod) widths() *graph.Array {
	widths := []int32{int32(m.shape[0].In)}
	for _, l := range m.shape {
		widths = append(widths, int32(l.Out))
	}
	return graph.Int32s(widths)
}

// index gives of each layer what kernel.h calls its index.
func (m kernelMethod) index(member Member) []*graph.Array {
	in := []*graph.Array{m.widths()}
	for _, c := range member {
		in = append(in, c.At)
	}
	return graph.CustomCall(sparseIndex, m.indexShapes(), in...)
}

func (m kernelMethod) indexShapes() []graph.Shape {
	var shapes []graph.Shape
	for l := range m.shape {
		shapes = append(shapes, graph.ShapeOf(graph.Int32, m.shape.indexSize(l)))
	}
	return shapes
}

// work: weights, gradients, rounded weights; a block of units and deltas stays in the cache.
func (m kernelMethod) work(sum *plan.Tally, _ int) {
	for _, l := range m.shape {
		sum.Add(4*4, uint64(l.Connections))
		sum.Add(2*4*laneMultiple, uint64(l.In+l.Out))
	}
}

// load gives the weights, and the index as it is.
func (m kernelMethod) load(member Member, index []*graph.Array) (weights, fixed []*graph.Array) {
	for _, c := range member {
		weights = append(weights, c.W)
	}
	return weights, index
}

func (m kernelMethod) store(weights, _ []*graph.Array, _ Member) []*graph.Array { return weights }

func (m kernelMethod) call(weights, index []*graph.Array, b Batches, t *graph.Array, gradients bool) []*graph.Array {
	outs := []graph.Shape{graph.ShapeOf(graph.Float32, 2)}
	in := []*graph.Array{m.widths(), b.Images, b.Labels, t}
	for l, layer := range m.shape {
		if gradients {
			outs = append(outs, graph.ShapeOf(graph.Float32, layer.Connections))
		}
		in = append(in, index[l], weights[l])
	}
	k := sparseKernel
	if m.dtype == graph.BFloat16 {
		k = sparseBF16Kernel
	}
	return graph.CustomCall(k, outs, in...)
}

func (m kernelMethod) step(weights, index []*graph.Array, b Batches, t, rate *graph.Array) ([]*graph.Array, *graph.Array) {
	out := m.call(weights, index, b, t, true)
	var next []*graph.Array
	for l := range m.shape {
		next = append(next, graph.Sub(weights[l], graph.Mul(rate, out[1+l])))
	}
	return next, out[0]
}

func (m kernelMethod) evaluate(weights, index []*graph.Array, b Batches, t *graph.Array) *graph.Array {
	return m.call(weights, index, b, t, false)[0]
}
