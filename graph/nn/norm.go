package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
)

// LayerNorm normalizes features to mean 0 and variance 1, then applies a learned scale and bias (Ba et al., "Layer
// normalization", 2016). Mean and variance are computed in float32 or float64.
type LayerNorm struct {
	Scale     *graph.Array `tree:"optional"` // [features]; nil: 1
	Bias      *graph.Array `tree:"optional"` // [features]; nil: 0
	Epsilon   float64      // added to the variance
	Precision precision.Policy
}

// NewLayerNorm makes a normalization over n features. Options: Epsilon, NoScale, NoBias, Precision.
func NewLayerNorm(n int, opts ...Option) LayerNorm {
	const op = "nn.NewLayerNorm"
	c := readOptions(op, opts, "Epsilon", "NoScale", "NoBias", "Precision")
	wantSize(op, "features", n)
	l := LayerNorm{Epsilon: c.epsilon, Precision: c.precision}
	l.Scale, l.Bias = c.scaleAndBias(n)
	return l
}

// Apply normalizes x [features]; axes before the last one stay, and each row is normalized separately.
func (l LayerNorm) Apply(x *graph.Array) *graph.Array {
	wide := checkNorm("nn.LayerNorm", l.Precision, x, l.Scale, l.Bias)
	centered, _ := center(wide, "", -1)
	variance := centered.Square().Mean(-1).ExpandDims(-1)
	return finishNorm(l.Precision, x, centered, variance, l.Epsilon, l.Scale, l.Bias)
}

// RMSNorm scales features to mean square 1, then applies a learned scale (Zhang and Sennrich, "Root mean square layer
// normalization", 2019).
type RMSNorm struct {
	Scale     *graph.Array `tree:"optional"` // [features]; nil: 1
	Epsilon   float64      // added to the mean square
	Precision precision.Policy
}

// NewRMSNorm makes a normalization over n features. Options: Epsilon, NoScale, Precision.
func NewRMSNorm(n int, opts ...Option) RMSNorm {
	const op = "nn.NewRMSNorm"
	c := readOptions(op, opts, "Epsilon", "NoScale", "Precision")
	wantSize(op, "features", n)
	l := RMSNorm{Epsilon: c.epsilon, Precision: c.precision}
	l.Scale, _ = c.scaleAndBias(n)
	return l
}

// Apply normalizes x [features]; axes before the last one stay, and each row is normalized separately.
func (l RMSNorm) Apply(x *graph.Array) *graph.Array {
	wide := checkNorm("nn.RMSNorm", l.Precision, x, l.Scale, nil)
	square := wide.Square().Mean(-1).ExpandDims(-1)
	return finishNorm(l.Precision, x, wide, square, l.Epsilon, l.Scale, nil)
}

// center returns x less its mean over axes and a named one ("": none), and the mean, in which the axes have size 1.
// Elements count from the first one: of equal ones nothing is left, and a large common part costs no digits. Less a
// plain mean more would be left, because compilers multiply sums by the rounded 1/n.
func center(x *graph.Array, named string, axes ...int) (centered, mean *graph.Array) {
	average := func(x *graph.Array) *graph.Array {
		x = graph.Reduction{Axes: axes, KeepDims: true}.Mean(x)
		if named != "" {
			x = graph.PMean(x, named)
		}
		return x
	}
	if x.Size() == 0 {
		return x, average(x)
	}
	first := graph.StopGradient(x) // the result does not depend on it
	for _, axis := range axes {
		first = graph.SliceAxis(first, axis, 0, 1)
	}
	if named != "" {
		first = graph.PMax(first, named)
	}
	f := graph.Finfo(x.DType()) // less a huge number, finite ones could overflow
	first = graph.Select(first.Abs().Le(f.Max*f.Eps), first, 0)
	apart := x.Sub(first)
	shift := average(apart)
	return apart.Sub(shift), first.Add(shift)
}

// checkNorm checks sizes and converts x to the type in which its moments are computed.
func checkNorm(op string, p precision.Policy, x, scale, bias *graph.Array) *graph.Array {
	if x.Rank() == 0 {
		graph.Throw(op, "x is %s, want […, features]", x.Shape())
	}
	for _, a := range []*graph.Array{scale, bias} {
		if a != nil {
			wantLast(op, "x", x, a.Dim(0))
		}
	}
	return atLeastFloat32(toCompute(p, x))
}

func finishNorm(p precision.Policy, x, centered, variance *graph.Array, epsilon float64, scale,
	bias *graph.Array) *graph.Array {
	factor := variance.Add(epsilon).Rsqrt()
	if scale != nil {
		factor = factor.Mul(scale)
	}
	y := centered.Mul(factor)
	if bias != nil {
		y = y.Add(bias)
	}
	if p != (precision.Policy{}) {
		return toOutput(p, y)
	}
	d := floatType(x)
	for _, a := range []*graph.Array{scale, bias} {
		if a != nil && a.DType() != d {
			d = y.DType()
		}
	}
	return y.Convert(d)
}
