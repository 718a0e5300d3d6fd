package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
)

// maskedMethod computes with dense matrices. A mask on the gradient keeps missing connections at 0. Products are
// computed in dtype, everything else in float32.
type maskedMethod struct {
	shape Shape
	dtype graph.DType
}

func (m maskedMethod) index(Member) []*graph.Array { return nil }
func (m maskedMethod) indexShapes() []graph.Shape  { return nil }

// load returns the matrix of each layer, f32[Out, In], and its mask, of the same shape.
func (m maskedMethod) load(member Member, _ []*graph.Array) (weights, masks []*graph.Array) {
	for l, c := range member {
		layer := m.shape[l]
		empty := graph.Zeros(graph.ShapeOf(graph.Float32, layer.In*layer.Out))
		weights = append(weights, layer.dense(graph.ScatterSet(empty, c.At, c.W)))
		masks = append(masks, layer.dense(graph.ScatterSet(empty, c.At, graph.OnesLike(c.W))))
	}
	return weights, masks
}

func (m maskedMethod) store(weights, _ []*graph.Array, member Member) []*graph.Array {
	var out []*graph.Array
	for l, layer := range m.shape {
		out = append(out, graph.Take(layer.places(weights[l]), member[l].At, 0))
	}
	return out
}

// work counts matrix, mask and gradient, twice because the compiler may copy them; units and deltas.
func (m maskedMethod) work(sum *plan.Tally, lanes int) {
	for _, l := range m.shape {
		sum.Add(6*4, uint64(l.In), uint64(l.Out))
		sum.Add(4*4, uint64(l.In+l.Out), uint64(lanes))
	}
}

func (m maskedMethod) step(weights, masks []*graph.Array, b Batches, t,
	rate *graph.Array) ([]*graph.Array, *graph.Array) {
	x, y := batch(b, t, m.dtype)
	_, stats, grads := graph.ValueAndGradAux(func(w []*graph.Array, _ graph.None) (*graph.Array, *graph.Array) {
		stats := m.forward(w, x, y)
		return stats.Index(0), stats
	})(weights, graph.None{})
	var next []*graph.Array
	for l := range weights {
		next = append(next, weights[l].Sub(rate.Mul(grads[l]).Mul(masks[l])))
	}
	return next, stats
}

func (m maskedMethod) evaluate(weights, _ []*graph.Array, b Batches, t *graph.Array) *graph.Array {
	x, y := batch(b, t, m.dtype)
	return m.forward(weights, x, y)
}

// forward returns the stats of images x, [inputs, lanes], with labels y, [lanes].
func (m maskedMethod) forward(weights []*graph.Array, x, y *graph.Array) *graph.Array {
	for l, w := range weights {
		x = w.Convert(m.dtype).Dot(x)
		if l+1 < len(weights) {
			x = graph.Relu(x)
		}
	}
	return judge(x, y)
}
