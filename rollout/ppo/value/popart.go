package value

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("popart", func() Head {
		return &PopArt{Beta: settings.Num(.1), MinSigma: settings.Num(1e-4), MaxSigma: settings.Num(1e6)}
	})
}

// PopArt reads one output, the value normalized by the mean and standard deviation of returns: van Hasselt et al.,
// "Learning values across many orders of magnitude" (2016). When these change, the last layer is rescaled so that the
// network's values stay as they were. The loss is Plain's loss of normalized values: learning does not depend on the
// size of rewards.
//
// The running first and second moments of returns move towards the moments of a batch by Beta, with the bias of their
// start removed. They are stored as mean and variance: in float32, the difference of two large squares loses the digits
// of a variance.
type PopArt struct {
	Beta     settings.Number `set:"beta" above:"0" max:"1" help:"share of a batch in the moments of returns"`
	MinSigma settings.Number `set:"min-sigma" above:"0" help:"least standard deviation of returns"`
	MaxSigma settings.Number `set:"max-sigma" above:"0" help:"greatest standard deviation of returns"`
}

// PopArtMoments are the moments of the returns so far.
type PopArtMoments struct {
	Mean     *graph.Array // f32[]
	Variance *graph.Array // f32[], not bounded; 1 before any return
	Weight   *graph.Array // f32[], 1 - (1 - beta)^updates: the share of returns in the moments, without their start
}

// maxReturn is the largest return that counts: the squares of such returns, and their sums, are finite.
const maxReturn = 1e15

// Check compares the bounds of sigma.
func (p *PopArt) Check() error {
	if p.MinSigma.Value > p.MaxSigma.Value {
		return settings.Wrong("value.min-sigma", p.MinSigma.Value, "at most max-sigma, %v", p.MaxSigma.Value)
	}
	return nil
}

// Outputs returns 1.
func (*PopArt) Outputs() int { return 1 }

// Start returns mean 0 and variance 1, of no returns.
func (*PopArt) Start() any {
	return PopArtMoments{Mean: graph.Scalar(0), Variance: graph.Scalar(1), Weight: graph.Scalar(0)}
}

// scale returns the mean and the bounded standard deviation of a state.
func (p *PopArt) scale(state any) (mean, sigma *graph.Array) {
	m := graph.StopGradient(state.(PopArtMoments))
	return m.Mean, m.Variance.Sqrt().Clamp(p.MinSigma.Array(), p.MaxSigma.Array())
}

// Read returns mean + sigma * out.
func (p *PopArt) Read(state any, out *graph.Array) *graph.Array {
	mean, sigma := p.scale(state)
	return mean.Add(sigma.Mul(one("value.PopArt.Read", out)))
}

// Prepare moves the moments. Returns that are NaN, infinite or beyond 1e15 are left out. A batch without any other
// returns changes nothing.
func (p *PopArt) Prepare(state any, targets *graph.Array) any {
	m := state.(PopArtMoments)
	if targets.Rank() != 1 || targets.Dim(0) == 0 {
		graph.Throw("value.PopArt.Prepare", "got targets %s, want f32[n] of one or more samples", targets.Shape())
	}
	targets = constants(targets)[0]
	valid := targets.Abs().Lt(maxReturn) // false for NaN
	n := valid.Convert(graph.Float32).Sum()
	average := func(x *graph.Array) *graph.Array { return graph.Select(valid, x, 0.).Sum().Div(n.Max(1)) }

	difference := targets.Sub(m.Mean)
	shift := average(difference) // of the batch's mean from the running mean
	variance := average(difference.Sub(shift).Square())

	weight := m.Weight.Add(p.Beta.Array().Mul(graph.Sub(1, m.Weight)))
	step := p.Beta.Array().Div(weight) // 1 in the first batch
	next := PopArtMoments{
		Mean:     m.Mean.Add(step.Mul(shift)),
		Variance: graph.Sub(1, step).Mul(m.Variance.Add(step.Mul(shift.Square()))).Add(step.Mul(variance)),
		Weight:   weight,
	}
	return graph.SelectTree(n.Gt(0), next, m)
}

// Loss returns the loss of Plain for normalized values; clip is in standard deviations of the returns.
func (p *PopArt) Loss(state any, out, old, target, clip *graph.Array) *graph.Array {
	fixed := constants(old, target, clip)
	mean, sigma := p.scale(state)
	normal := func(x *graph.Array) *graph.Array {
		if x == nil {
			return nil
		}
		return x.Sub(mean).Div(sigma)
	}
	return squaredError(one("value.PopArt.Loss", out), normal(fixed[0]), normal(fixed[1]), fixed[2])
}

// Rescale returns w * sigma / sigma', and (sigma * b + mean - mean') / sigma', where ' marks the state after.
func (p *PopArt) Rescale(before, after any, w, b *graph.Array) (*graph.Array, *graph.Array) {
	mean, sigma := p.scale(before)
	toMean, toSigma := p.scale(after)
	return w.Mul(sigma.Div(toSigma)), sigma.Mul(b).Add(mean.Sub(toMean)).Div(toSigma)
}
