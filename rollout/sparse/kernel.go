package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/xlabridge/kernels"
)

// laneMultiple is the number of lanes to whose multiples batches are padded.
const laneMultiple = 32

// kernelMethod runs a member's step in C (xlabridge/kernels/sparse.c), which computes the connections alone. In
// bfloat16, the factors of products (weights, units, deltas) are rounded; sums, logits and gradients stay float32. That
// takes about twice the instructions of float32. Smaller units do not make up for it, because the first-level cache
// holds a piece anyway: bfloat16 is for its results, not for speed.
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

// index returns the index of each layer, as kernels/sparse.h defines it.
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

// work counts weights, gradients and rounded weights, and a block of units and deltas.
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

// cost counts a product and a sum for each connection and example: forward, for the weight's gradient and, except in
// the first layer, for the input's gradient. It counts the images, and reads and writes of places, weights and
// gradients: once for each block of lanes and direction, and once for the update. Units and deltas stay in the cache.
func (m kernelMethod) cost(lanes int) (c graph.Cost) {
	blocks := float64(lanes / laneMultiple)
	for l, layer := range m.shape {
		n := float64(layer.Connections)
		passes := 3.
		if l == 0 {
			passes = 2
		}
		c.FLOPs += n * (2*passes*float64(lanes) + 2)
		c.Bytes += n * (blocks*(8+8+8) + 12)
	}
	c.Bytes += float64(lanes * m.shape[0].In)
	return c
}
