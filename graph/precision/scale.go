package precision

import "xlarun/graph"

// LossScale multiplies a loss before differentiation and divides the gradients by the same factor, so that small
// gradients do not vanish in float16. It is a tree: a carry of Scan, an argument and a result of compiled functions.
type LossScale struct {
	Value *graph.Array // float32 scalar: the factor
	Good  *graph.Array // int32 scalar: steps with finite gradients since the factor changed, in [0, Period)

	// Period is the number of good steps after which the factor grows; 0: it never changes.
	Period int
	// Factor multiplies the scale when it grows and divides it when gradients overflow.
	Factor float64
	// Min is the smallest scale.
	Min float64
}

// Static is a fixed loss scale; Static(1) is none.
func Static(value float64) LossScale { return newScale(value) }

// DynamicOption changes how a dynamic loss scale behaves.
type DynamicOption func(*LossScale)

// Initial sets the first scale, default 32768.
func Initial(v float64) DynamicOption { return func(s *LossScale) { s.Value = graph.Scalar(v) } }

// GrowEvery sets the number of consecutive finite steps after which the scale grows, default 2000.
func GrowEvery(steps int) DynamicOption { return func(s *LossScale) { s.Period = steps } }

// GrowBy sets the factor of the scale's growth and shrinking, default 2.
func GrowBy(factor float64) DynamicOption { return func(s *LossScale) { s.Factor = factor } }

// AtLeast sets the smallest scale, default 1.
func AtLeast(v float64) DynamicOption { return func(s *LossScale) { s.Min = v } }

// Dynamic is a loss scale that shrinks when gradients overflow and grows after a period without overflow.
func Dynamic(opts ...DynamicOption) LossScale {
	s := newScale(1 << 15)
	s.Period = 2000
	for _, o := range opts {
		o(&s)
	}
	return s
}

func newScale(v float64) LossScale {
	return LossScale{Value: graph.Scalar(v), Good: graph.Scalar(0, graph.Int32), Factor: 2, Min: 1}
}

// Scale multiplies a loss by the scale.
func (s LossScale) Scale(loss *graph.Array) *graph.Array {
	return loss.Mul(s.Value.Convert(loss.DType()))
}

// Unscale divides the float leaves of gradients by the scale, in float32 at least; they keep their dtypes.
func Unscale[T any](s LossScale, grads T) T {
	inverse := graph.Div(1, s.Value)
	return mapFloats(grads, func(g *graph.Array) *graph.Array {
		return g.Mul(inverse).Convert(g.DType())
	})
}

// Adjust is the scale for the next step. finite (a bool scalar) is whether the last step's gradients were finite. The
// scale grows after Period finite steps in a row, unless it would overflow, and shrinks after a step that is not
// finite.
func (s LossScale) Adjust(finite *graph.Array) LossScale {
	if finite.DType() != graph.Bool || finite.Rank() != 0 {
		graph.Throw("precision.Adjust", "got %s, want a bool scalar, as AllFinite gives", finite.Shape())
	}
	if s.Period == 0 {
		return s
	}
	if s.Period < 0 || s.Factor <= 1 {
		graph.Throw("precision.Adjust",
			"the scale grows by %g every %d steps; want a factor above 1 and 1 step or more", s.Factor, s.Period)
	}
	more := s.Value.Mul(s.Factor)
	grown := graph.Select(s.Good.Eq(s.Period-1).And(more.IsFinite()), more, s.Value)
	next := s
	next.Value = graph.Select(finite, grown, graph.Max(s.Min, s.Value.Div(s.Factor)))
	next.Good = graph.Select(finite, s.Good.Add(1).Rem(s.Period), 0)
	return next
}

// AllFinite reports whether all float leaves of a tree are free of infinities and NaNs: a bool scalar.
func AllFinite(tree any) *graph.Array {
	var all *graph.Array
	for _, a := range graph.Leaves(tree) {
		if !a.DType().IsFloat() {
			continue
		}
		ok := a.IsFinite().All()
		if all == nil {
			all = ok
		} else {
			all = all.And(ok)
		}
	}
	if all == nil {
		return graph.Scalar(true)
	}
	return all
}
