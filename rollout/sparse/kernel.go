package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/xlabridge/kernels"
)

// laneMultiple is what the number of examples in a batch is padded to.
const laneMultiple = 32

// kernelMethod runs a member's step in C (xlabridge/kernels/sparse.c): only the connections are computed. In bfloat16,
// what is multiplied (weights, what units hold, deltas) is rounded, while sums, logits and gradients stay float32. That
// takes about twice the instructions of float32, which units that hold half as many bytes do not win back on a
// processor whose first-level cache holds a piece either way: it is for results in bfloat16, not for speed.
type kernelMethod struct {
	shape Shape
	dtype graph.DType
}

var (
	sparseIndex  = &graph.Kernel{Target: "xlarun_sparse_index", Eval: evalIndex}
	sparseKernel = &graph.Kernel{Target: "xlarun_sparse", Eval: func(in, out []*graph.Tensor) {
		evalKernel(in, out, same)
	}}
	sparseBF16Kernel = &graph.Kernel{Target: "xlarun_sparse_bf16", Eval: func(in, out []*graph.Tensor) {
		evalKernel(in, out, toBF16)
	}}
)

// indexSize returns the length of the index of layer l.
func (s Shape) indexSize(l int) int {
	return kernels.SparseIndexSize(s[l].In, s[l].Out, s[l].Connections, l == 0)
}

// widths returns the widths of the layers, i32[layers + 1].
func (m kernelMethod) widths() *graph.Array {
	widths := []int32{int32(m.shape[0].In)}
	for _, l := range m.shape {
		widths = append(widths, int32(l.Out))
	}
	return graph.Int32s(widths)
}

// index returns the index of each layer, as sparse.h defines it.
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

// load returns the weights, and the index as it is.
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

func (m kernelMethod) step(weights, index []*graph.Array, b Batches, t,
	rate *graph.Array) ([]*graph.Array, *graph.Array) {
	out := m.call(weights, index, b, t, true)
	var next []*graph.Array
	for l := range m.shape {
		next = append(next, weights[l].Sub(rate.Mul(out[1+l])))
	}
	return next, out[0]
}

func (m kernelMethod) evaluate(weights, index []*graph.Array, b Batches, t *graph.Array) *graph.Array {
	return m.call(weights, index, b, t, false)[0]
}
