package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Bijector is an invertible function of single numbers.
type Bijector interface {
	Forward(x *graph.Array) *graph.Array
	Inverse(y *graph.Array) *graph.Array
	// LogSlope is the logarithm of the magnitude of Forward's derivative at x.
	LogSlope(x *graph.Array) *graph.Array
}

// Affine is scale*x + shift.
type Affine struct {
	Shift *graph.Array
	Scale *graph.Array // not 0; Shift's shape
}

// NewAffine makes scale*x + shift, of numbers or arrays that broadcast.
func NewAffine(shift, scale any) Affine {
	p := parameters("distribution.NewAffine", shift, scale)
	return Affine{p[0], p[1]}
}

// Forward is scale*x + shift.
func (b Affine) Forward(x *graph.Array) *graph.Array { return b.Scale.Mul(x).Add(b.Shift) }

// Inverse is (y - shift)/scale.
func (b Affine) Inverse(y *graph.Array) *graph.Array { return y.Sub(b.Shift).Div(b.Scale) }

// LogSlope is log |scale|.
func (b Affine) LogSlope(x *graph.Array) *graph.Array {
	return b.Scale.Convert(x.DType()).Abs().Log().Add(graph.ZerosLike(x)) // before the logarithm is rounded
}

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// Forward is tanh(x).
func (Tanh) Forward(x *graph.Array) *graph.Array { return x.Tanh() }

// Inverse is atanh(y).
func (Tanh) Inverse(y *graph.Array) *graph.Array { return graph.Atanh(y) }

// LogSlope is log(1 - tanh(x)²).
func (Tanh) LogSlope(x *graph.Array) *graph.Array { return logSlope(x) }

// Sigmoid is 1/(1 + exp(-x)).
type Sigmoid struct{}

// Forward is the sigmoid of x.
func (Sigmoid) Forward(x *graph.Array) *graph.Array { return graph.Logistic(x) }

// Inverse is log(y/(1-y)).
func (Sigmoid) Inverse(y *graph.Array) *graph.Array { return y.Log().Sub(graph.Log1p(y.Neg())) }

// LogSlope is the logarithm of sigmoid(x) (1 - sigmoid(x)).
func (Sigmoid) LogSlope(x *graph.Array) *graph.Array {
	size := graph.Select(x.Ge(0), x, x.Neg()) // it is even
	return size.Add(graph.Log1p(size.Neg().Exp()).Mul(2)).Neg()
}

// Exp is the exponential.
type Exp struct{}

// Forward is exp(x).
func (Exp) Forward(x *graph.Array) *graph.Array { return x.Exp() }

// Inverse is log(y).
func (Exp) Inverse(y *graph.Array) *graph.Array { return y.Log() }

// LogSlope is x.
func (Exp) LogSlope(x *graph.Array) *graph.Array { return x }

// Steps is several bijectors one after the other, the first one first. (distrax.Chain has the last one first.)
type Steps []Bijector

// Forward applies all.
func (s Steps) Forward(x *graph.Array) *graph.Array {
	for _, b := range s {
		x = b.Forward(x)
	}
	return x
}

// Inverse undoes all, the last one first.
func (s Steps) Inverse(y *graph.Array) *graph.Array {
	for i := len(s) - 1; i >= 0; i-- {
		y = s[i].Inverse(y)
	}
	return y
}

// LogSlope is the sum of all.
func (s Steps) LogSlope(x *graph.Array) *graph.Array {
	sum := graph.ZerosLike(x)
	for _, b := range s {
		sum, x = sum.Add(b.LogSlope(x)), b.Forward(x)
	}
	return sum
}

// Inverted exchanges a bijector's directions.
type Inverted struct{ Of Bijector }

// Forward is the bijector's inverse.
func (b Inverted) Forward(x *graph.Array) *graph.Array { return b.Of.Inverse(x) }

// Inverse is the bijector.
func (b Inverted) Inverse(y *graph.Array) *graph.Array { return b.Of.Forward(y) }

// LogSlope is minus the bijector's at its inverse.
func (b Inverted) LogSlope(x *graph.Array) *graph.Array { return b.Of.LogSlope(b.Of.Inverse(x)).Neg() }

// Transformed is a distribution of By.Forward of a draw. Its entropy has no closed form; see Divergence.
type Transformed[D Drawable, B Bijector] struct {
	Base D
	By   B
}

// NewTransformed makes the distribution of a function of the base's draws. Of vectors the function is of each
// element.
func NewTransformed[D Drawable, B Bijector](base D, by B) Transformed[D, B] {
	return Transformed[D, B]{base, by}
}

// Sample draws By.Forward of the base's draw.
func (d Transformed[D, B]) Sample(key random.Key, dims ...int) *graph.Array {
	return d.By.Forward(d.Base.Sample(key, dims...))
}

// SampleLogProb draws values and the logarithms of their densities, without the rounding errors of an inverse.
func (d Transformed[D, B]) SampleLogProb(key random.Key, dims ...int) (y, logProb *graph.Array) {
	x := d.Base.Sample(key, dims...)
	return d.By.Forward(x), inFloat32(d, x, func(d Transformed[D, B], x *graph.Array) *graph.Array {
		return d.Base.LogProb(x).Sub(overLast(d.By.LogSlope(x), valueRank(d.Base)))
	})
}

// LogProb is the logarithm of the density: -Inf where the inverse does not exist or is impossible, such as at 0 of Exp,
// where the inverse is -Inf; NaN where y is NaN. It is -Inf there also if the density has a finite limit: a logistic
// distribution through Sigmoid has the density 1 between 0 and 1, and LogProb is -Inf at 0 and at 1.
func (d Transformed[D, B]) LogProb(y *graph.Array) *graph.Array {
	d, y = promotedParts("distribution.Transformed", d, y)
	return inFloat32(d, y, func(d Transformed[D, B], y *graph.Array) *graph.Array {
		x, logSlope := inverse(d.By, y)
		base := d.Base.LogProb(x)
		logProb := base.Sub(overLast(logSlope, valueRank(d.Base)))
		outside := overLast(x.IsNaN().And(y.IsNaN().Not()).Convert(logProb.DType()), valueRank(d.Base)).Gt(0)
		return graph.Select(outside.Or(base.Eq(math.Inf(-1))), math.Inf(-1), logProb)
	})
}

// inverse is Inverse of y and LogSlope there. That of an Inverted is at y, not at x, which may have been rounded.
func inverse(by Bijector, y *graph.Array) (x, logSlope *graph.Array) {
	switch b := by.(type) {
	case Inverted:
		return b.Of.Forward(y), b.Of.LogSlope(y).Neg()
	case Steps:
		x, logSlope = y, graph.ZerosLike(y)
		for i := len(b) - 1; i >= 0; i-- {
			var last *graph.Array
			x, last = inverse(b[i], x)
			logSlope = logSlope.Add(last)
		}
		return x, logSlope
	}
	x = by.Inverse(y)
	return x, by.LogSlope(x)
}

// ValueRank is the number of axes of one value.
func (d Transformed[D, B]) ValueRank() int { return valueRank(d.Base) }
