package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
)

// BatchNorm normalizes features to mean 0 and variance 1 over a batch, then applies a learned scale and bias (Ioffe and
// Szegedy, "Batch normalization", 2015). The batch is all axes of x except the last, and the named axis of VMap or
// ShardMap if Axis is set. The running averages, a BatchNormState, are not parameters: Train takes and returns them,
// and no optimizer changes them.
//
//	y, state := l.Train(state, x) // under graph.VMap(…, graph.AxisName("batch")) for l.Axis "batch"
type BatchNorm struct {
	Scale     *graph.Array `tree:"optional"` // [features]; nil: 1
	Bias      *graph.Array `tree:"optional"` // [features]; nil: 0
	Axis      string       // the named axis that is part of the batch; "": none
	Epsilon   float64      // added to the variance
	Momentum  float64      // the fraction that running averages keep at each step
	Precision precision.Policy
}

// BatchNormState is the running averages of a BatchNorm.
type BatchNormState struct {
	Mean *graph.Array // [features]
	Var  *graph.Array // [features]
}

// NewBatchNorm makes a normalization over n features whose batch is the named axis ("": none) and x's leading axes.
// Options: Epsilon, Momentum, NoScale, NoBias, Precision.
func NewBatchNorm(n int, axis string, opts ...Option) (BatchNorm, BatchNormState) {
	const op = "nn.NewBatchNorm"
	c := readOptions(op, append([]Option{Epsilon(1e-5)}, opts...), "Epsilon", "Momentum", "NoScale", "NoBias",
		"Precision")
	wantSize(op, "features", n)
	l := BatchNorm{Axis: axis, Epsilon: c.epsilon, Momentum: c.momentum, Precision: c.precision}
	l.Scale, l.Bias = c.scaleAndBias(n)
	s := graph.ShapeOf(graph.Float32, n)
	return l, BatchNormState{graph.Zeros(s), graph.Ones(s)}
}

// Train normalizes x […, features] by its batch's mean and variance, and updates the running averages.
func (l BatchNorm) Train(s BatchNormState, x *graph.Array) (*graph.Array, BatchNormState) {
	const op = "nn.BatchNorm"
	wide := checkNorm(op, l.Precision, x, l.Scale, l.Bias)
	wantLast(op, "x", x, s.Mean.Dim(0))
	if l.Axis == "" && x.Rank() == 1 {
		graph.Throw(op, "x is %s and no axis is named: there is no batch to take a mean over", x.Shape())
	}
	flat := wide.Reshape(wide.Size()/max(x.Dim(-1), 1), x.Dim(-1))
	centered, m := center(flat, l.Axis, 0)
	v := centered.Square().Mean(0)
	if l.Axis != "" {
		v = graph.PMean(v, l.Axis)
	}
	centered, m = centered.Reshape(x.Dims()...), m.Squeeze(0)
	keep := func(old, new *graph.Array) *graph.Array {
		return graph.Mul(l.Momentum, old).Add(graph.Mul(1-l.Momentum, graph.StopGradient(new))).Convert(old.DType())
	}
	next := BatchNormState{keep(s.Mean, m), keep(s.Var, v)}
	return finishNorm(l.Precision, x, centered, v, l.Epsilon, l.Scale, l.Bias), next
}

// Apply normalizes x […, features] by the running averages, for inference.
func (l BatchNorm) Apply(s BatchNormState, x *graph.Array) *graph.Array {
	wide := checkNorm("nn.BatchNorm", l.Precision, x, l.Scale, l.Bias)
	wantLast("nn.BatchNorm", "x", x, s.Mean.Dim(0))
	like := func(a *graph.Array) *graph.Array { return a.Convert(wide.DType()) }
	return finishNorm(l.Precision, x, wide.Sub(like(s.Mean)), like(s.Var), l.Epsilon, l.Scale, l.Bias)
}
