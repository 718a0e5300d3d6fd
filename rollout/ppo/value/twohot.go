package value

import (
	"xlarun/graph"
	"xlarun/graph/nn"
)

func init() { MustRegister("twohot", func() Head { return &TwoHot{Bins: 255, Limit: 20} }) }

// TwoHot reads logits of a distribution over bins. The bins are evenly spaced in the symmetric logarithm of returns,
// symlog(x) = sign(x) log(1 + |x|). The loss is the cross-entropy with the two bins around the target: Hafner et al.,
// "Mastering diverse domains through world models" (2023), which also has the default bins. Gradients do not depend on
// the size of rewards. The value is read from the mean of symlog: it is below the mean of returns that spread over
// orders of magnitude.
//
// Bins reach from -Limit to Limit. A limit of 20 is a return of 4.85e8. Larger returns count as the limit.
type TwoHot struct {
	Bins  int     `set:"bins" min:"3" max:"65536" help:"bins of the symmetric logarithm of returns"`
	Limit float64 `set:"limit" above:"0" max:"80" help:"where the bins end; 20: returns of 485 million"`
}

// symlog returns sign(x) log(1 + |x|), of any shape.
func symlog(x *graph.Array) *graph.Array { return x.Sign().Mul(graph.Log1p(x.Abs())) }

// symexp returns sign(x) (exp(|x|) - 1), the inverse of symlog.
func symexp(x *graph.Array) *graph.Array { return x.Sign().Mul(graph.Expm1(x.Abs())) }

// Outputs returns the number of bins.
func (t *TwoHot) Outputs() int { return t.Bins }

// Start returns no state.
func (*TwoHot) Start() any { return graph.None{} }

// mean returns the mean of the bins under softmax(logits), f32[].
func (t *TwoHot) mean(logits *graph.Array) *graph.Array {
	bins := graph.Linspace(-t.Limit, t.Limit, t.Bins).Convert(graph.Float32)
	return graph.Softmax(logits, 0).Mul(bins).Sum()
}

// bins returns the weights, f32[Bins], of the two bins around a symmetric logarithm; they add up to 1.
func (t *TwoHot) bins(log *graph.Array) *graph.Array {
	index := log.Clamp(-t.Limit, t.Limit).Add(t.Limit).Mul(float64(t.Bins-1) / (2 * t.Limit))
	distance := index.Min(t.Bins - 1).Sub(graph.Iota(t.Bins).Convert(graph.Float32)).Abs()
	return graph.Sub(1, distance).Max(0)
}

// Read returns symexp of the mean of the bins.
func (t *TwoHot) Read(_ any, out *graph.Array) *graph.Array {
	return symexp(t.mean(outputs("value.TwoHot.Read", out, t.Bins)))
}

// Prepare returns the state.
func (*TwoHot) Prepare(state any, _ *graph.Array) any { return state }

// Loss returns the cross-entropy. clip is in symmetric logarithms. If the value is already farther than clip from the
// old value in the direction of the target, the loss has no gradient, as in Plain. Its number stays the same.
func (t *TwoHot) Loss(_ any, out, old, target, clip *graph.Array) *graph.Array {
	fixed := constants(old, target, clip)
	logits, log := outputs("value.TwoHot.Loss", out, t.Bins), symlog(fixed[1])
	loss := nn.CrossEntropyOneHot(logits, t.bins(log))
	if fixed[2] == nil {
		return loss
	}
	value := graph.StopGradient(t.mean(logits))
	clipped, clips := clipValue(value, symlog(fixed[0]), fixed[2])
	beyond := clipped.Sub(log).Abs().Gt(value.Sub(log).Abs())
	return graph.Select(clips.And(beyond), graph.StopGradient(loss), loss)
}

// Rescale returns w and b.
func (*TwoHot) Rescale(_, _ any, w, b *graph.Array) (*graph.Array, *graph.Array) { return w, b }
