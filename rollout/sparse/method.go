package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
)

// Batches are steps of training data, or chunks of test data. The examples are on the last axis.
type Batches struct {
	Images *graph.Array `tree:"optional"` // u8[steps, inputs, lanes]: 0 to 255, for 0 to 1
	Labels *graph.Array `tree:"optional"` // i32[steps, lanes]: negative for lanes that do not count
}

// method is one way to compute a member's step.
type method interface {
	// index computes what depends on a member's topology alone. It is kept until the topology changes.
	index(m Member) []*graph.Array
	indexShapes() []graph.Shape
	// load returns the arrays of a round of steps: weights, which steps change, and fixed arrays.
	load(m Member, index []*graph.Array) (weights, fixed []*graph.Array)
	// step takes one step of SGD on batch t (i32[]): weights -= rate * (gradient of the summed cross-entropy). It
	// also returns the stats before the step; see judge.
	step(weights, fixed []*graph.Array, b Batches, t, rate *graph.Array) (next []*graph.Array, stats *graph.Array)
	// evaluate returns the stats of batch t.
	evaluate(weights, fixed []*graph.Array, b Batches, t *graph.Array) *graph.Array
	// store returns the weights as a member has them, f32[n] by layer.
	store(weights, fixed []*graph.Array, m Member) []*graph.Array
	// work adds the bytes of one member on a device while it learns from a batch of so many lanes.
	work(sum *plan.Tally, lanes int)
}

// batch returns batch t: images from 0 to 1, [inputs, lanes], and labels, [lanes].
func batch(b Batches, t *graph.Array, d graph.DType) (x, y *graph.Array) {
	x = graph.DynamicIndex(b.Images, t, 0).Convert(graph.Float32).Mul(1. / 255)
	return x.Convert(d), graph.DynamicIndex(b.Labels, t, 0)
}

// judge returns the stats of logits x, [classes, lanes], and labels y, [lanes], f32[2]: the summed cross-entropy and
// the number of correct answers.
func judge(x, y *graph.Array) *graph.Array {
	logits := x.Convert(graph.Float32)
	classes := graph.IotaAxis(graph.ShapeOf(graph.Int32, logits.Dims()...), 0)
	logProb := graph.Select(classes.Eq(y), graph.LogSoftmax(logits, 0), graph.ZerosLike(logits))
	correct := logits.ArgMax(0).Eq(y).Convert(graph.Float32)
	return graph.Stack([]*graph.Array{logProb.Sum().Neg(), correct.Sum()}, 0)
}
