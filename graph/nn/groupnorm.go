package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
)

// GroupNorm normalizes groups of features to mean 0 and variance 1, over the group and all axes before the last, then
// applies a learned scale and bias (Wu and He, "Group normalization", 2018). One feature a group is instance
// normalization.
type GroupNorm struct {
	Scale     *graph.Array `tree:"optional"` // [features]; nil: 1
	Bias      *graph.Array `tree:"optional"` // [features]; nil: 0
	Groups    int          // equal parts of the features
	Epsilon   float64      // added to the variance
	Precision precision.Policy
}

// NewGroupNorm makes a normalization of n features in groups. Options: Epsilon, NoScale, NoBias, Precision.
func NewGroupNorm(n, groups int, opts ...Option) GroupNorm {
	const op = "nn.NewGroupNorm"
	c := readOptions(op, opts, "Epsilon", "NoScale", "NoBias", "Precision")
	wantSize(op, "features", n)
	if groups < 1 || n%groups != 0 {
		graph.Throw(op, "got %d groups, want a number that divides %d features", groups, n)
	}
	l := GroupNorm{Groups: groups, Epsilon: c.epsilon, Precision: c.precision}
	l.Scale, l.Bias = c.scaleAndBias(n)
	return l
}

// Apply normalizes x [spatial…, features].
func (l GroupNorm) Apply(x *graph.Array) *graph.Array {
	const op = "nn.GroupNorm"
	wide := checkNorm(op, l.Precision, x, l.Scale, l.Bias)
	if l.Groups < 1 || x.Dim(-1)%l.Groups != 0 {
		graph.Throw(op, "x is %s, want a number of features that divides into %d groups", x.Shape(), l.Groups)
	}
	size := x.Dim(-1) / l.Groups
	parts := wide.Reshape(wide.Size()/max(x.Dim(-1), 1), l.Groups, size)
	back := func(m *graph.Array) *graph.Array { return m.ExpandDims(0).ExpandDims(-1) }
	centered, _ := center(parts, "", 0, 2)
	variance := back(centered.Square().Mean(0, 2)).BroadcastTo(1, l.Groups, size)
	return finishNorm(l.Precision, x, centered.Reshape(x.Dims()...), variance.Reshape(x.Dim(-1)),
		l.Epsilon, l.Scale, l.Bias)
}
