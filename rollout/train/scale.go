package train

import (
	"xlarun/graph"
	"xlarun/graph/precision"
)

// LossScale multiplies a loss before it is differentiated, and divides the gradient again. It is a tree. In float16 it
// keeps small gradients from vanishing.
type LossScale interface {
	// Scale returns the loss, f32[], multiplied by the factor.
	Scale(loss *graph.Array) *graph.Array
	// Unscale returns a tree of gradients, divided by the factor.
	Unscale(gradient any) any
	// Adjust returns the scale of the next step. finite, bool[], says whether this step's gradient was finite.
	Adjust(finite *graph.Array) LossScale
	// Factor returns the factor, f32[].
	Factor() *graph.Array
}

// NoScale leaves losses as they are. It has no leaves.
type NoScale struct{}

// Scale returns the loss.
func (NoScale) Scale(loss *graph.Array) *graph.Array { return loss }

// Unscale returns the gradient.
func (NoScale) Unscale(gradient any) any { return gradient }

// Adjust returns NoScale.
func (s NoScale) Adjust(*graph.Array) LossScale { return s }

// Factor returns 1.
func (NoScale) Factor() *graph.Array { return graph.Scalar(1) }

// Scaled is a precision.LossScale. Its leaves have the same names: Value and Good.
type Scaled struct {
	precision.LossScale `tree:"inline"`
}

// Unscale returns the gradient, divided by the factor.
func (s Scaled) Unscale(gradient any) any { return precision.Unscale(s.LossScale, gradient) }

// Adjust returns the scale of the next step: smaller after a gradient that is not finite, larger after many that are.
func (s Scaled) Adjust(finite *graph.Array) LossScale { return Scaled{s.LossScale.Adjust(finite)} }

// Factor returns the factor.
func (s Scaled) Factor() *graph.Array { return s.Value }
