package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
)

// Batches are steps of training data, or chunks of test data, with the examples along the last axis: it is the lanes.
type Batches struct {
	Images *graph.Array `tree:"optional"` // u8[steps, inputs, lanes]: 0 to 255 stand for 0 to 1
	Labels *graph.Array `tree:"optional"` // i32[steps, lanes]: below 0 for lanes that do not count
}

// method is one way to compute a member's step.
//
// index computes what depends on a member's topology alone. It is kept until the topology changes. load returns what
// the steps of a round work on, given a member and its index: weights, which steps change, and fixed arrays. store
// returns the weights as a member has them, f32[n] by layer.
type method interface {
	index(m Member) []*graph.Array
	indexShapes() []graph.Shape
	load(m Member, index []*graph.Array) (weights, fixed []*graph.Array)
	// step takes one step of SGD on batch t (i32[]): weights -= rate * (gradient of the summed cross-entropy). It
	// returns the stats of before the step, f32[2]: summed cross-entropy, right answers.
	step(weights, fixed []*graph.Array, b Batches, t, rate *graph.Array) (next []*graph.Array, stats *graph.Array)
	// evaluate returns the stats of batch t.
	evaluate(weights, fixed []*graph.Array, b Batches, t *graph.Array) *graph.Array
	store(weights, fixed []*graph.Array, m Member) []*graph.Array
	// work adds the bytes that one member takes on a device while it learns from a batch of so many lanes.
	work(sum *plan.Tally, lanes int)
}

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

// work: matrix, mask, gradient, all three twice where the compiler copies; units, deltas and what lies between.
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

// batch is batch t: images, 0 to 1, [inputs, lanes], and labels.
func batch(b Batches, t *graph.Array, d graph.DType) (x, y *graph.Array) {
	x = graph.DynamicIndex(b.Images, t, 0).Convert(graph.Float32).Mul(1. / 255)
	return x.Convert(d), graph.DynamicIndex(b.Labels, t, 0)
}

// forward runs the images x, [inputs, lanes], and gives the stats.
func (m maskedMethod) forward(weights []*graph.Array, x, y *graph.Array) *graph.Array {
	for l, w := range weights {
		x = w.Convert(m.dtype).Dot(x)
		if l+1 < len(weights) {
			x = graph.Relu(x)
		}
	}
	return judge(x, y)
}

// judge sums up the cross-entropy and the right answers of logits [classes, lanes] and labels y, [lanes]: f32[2].
func judge(x, y *graph.Array) *graph.Array {
	logits := x.Convert(graph.Float32)
	classes := graph.IotaAxis(graph.ShapeOf(graph.Int32, logits.Dims()...), 0)
	own := graph.Select(classes.Eq(y), graph.LogSoftmax(logits, 0), graph.ZerosLike(logits))
	right := logits.ArgMax(0).Eq(y).Convert(graph.Float32)
	return graph.Stack([]*graph.Array{own.Sum().Neg(), right.Sum()}, 0)
}
