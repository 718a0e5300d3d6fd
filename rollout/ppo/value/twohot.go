package value

import (
	"xlarun/graph"
	"xlarun/graph/nn"
)

func init() { MustRegister("twohot", func() Head { return &TwoHot{Bins: 255, Limit: 20} }) }

// TwoHot is the logits of a distribution over bins that are evenly spaced in the symmetric logarithm of returns,
// symlog(x) = sign(x) log(1 + |x|), and its cross-entropy to the two bins around the target: Hafner et al., "Mastering
// diverse domains through world models" (2023), whose bins these are by default. Gradients then do not depend on the
// size of rewards. Values are read from the mean of symlog, so that of returns that spread over orders of magnitude
// they are below the mean.
//
// Bins reach from -Limit to Limit: of 20, to returns of ±4.85e8, where what is beyond counts as that.
type TwoHot struct {
	Bins  int     `set:"bins" min:"3" max:"65536" help:"bins of the symmetric logarithm of returns"`
	Limit float64 `set:"limit" above:"0" max:"80" help:"where the bins end; 20: returns of 485 million"`
}

// Symlog returns sign(x) log(1 + |x|), of any shape.
func Symlog(x *graph.Array) *graph.Array {
	return graph.Mul(graph.Sign(x), graph.Log1p(graph.Abs(x)))
}

// Symexp returns sign(x) (exp(|x|) - 1), the inverse of Symlog.
func Symexp(x *graph.Array) *graph.Array {
	return graph.Mul(graph.Sign(x), graph.Expm1(graph.Abs(x)))
}

// Outputs returns the number of bins.
func (t *TwoHot) Outputs() int { return t.Bins }

// Start returns no state.
func (*TwoHot) Start() any { return graph.None{} }

// mean returns the mean of the bins under softmax(logits), f32[].
func (t *TwoHot) mean(logits *graph.Array) *graph.Array {
	return graph.Sum(graph.Mul(graph.Softmax(logits, 0), graph.Convert(graph.Linspace(-t.Limit, t.Limit, t.Bins),
		graph.Float32)))
}

// bins returns the weights, f32[Bins], of the two bins around a symmetric logarithm; they add up to 1.
func (t *TwoHot) bins(log *graph.Array) *graph.Array {
	at := graph.Mul(graph.Add(graph.Clamp(-t.Limit, log, t.Limit), t.Limit), float64(t.Bins-1)/(2*t.Limit))
	away := graph.Abs(graph.Sub(graph.Min(at, t.Bins-1), graph.Convert(graph.Iota(t.Bins), graph.Float32)))
	return graph.Max(graph.Sub(1, away), 0)
}

// Read returns Symexp of the mean of the bins.
func (t *TwoHot) Read(_ any, out *graph.Array) *graph.Array {
	return Symexp(t.mean(outputs("value.TwoHot.Read", out, t.Bins)))
}

// Prepare returns the state.
func (*TwoHot) Prepare(state any, _ *graph.Array) any { return state }

// Loss returns the cross-entropy; clip is in symmetric logarithms. If the value is already farther than clip from the
// old one in the direction of the target, the loss has no gradient, as in Plain; its number is the same.
func (t *TwoHot) Loss(_ any, out, old, target, clip *graph.Array) *graph.Array {
	fixed := constants(old, target, clip)
	logits, log := outputs("value.TwoHot.Loss", out, t.Bins), Symlog(fixed[1])
	loss := nn.CrossEntropyOneHot(logits, t.bins(log))
	if fixed[2] == nil {
		return loss
	}
	value := graph.StopGradient(t.mean(logits))
	held, clips := limited(value, Symlog(fixed[0]), fixed[2])
	arrived := graph.Gt(graph.Abs(graph.Sub(held, log)), graph.Abs(graph.Sub(value, log)))
	return graph.Select(graph.And(clips, arrived), graph.StopGradient(loss), loss)
}

// Rescale returns w and b.
func (*TwoHot) Rescale(_, _ any, w, b *graph.Array) (*graph.Array, *graph.Array) { return w, b }
