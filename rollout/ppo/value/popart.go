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

// PopArt is one output, the value less the mean of returns and over their standard deviation, which move with the
// returns while the values that the network gives are preserved: van Hasselt et al., "Learning values across many
// orders of magnitude" (2016). Its loss is Plain's of what is normalised, so that learning does not depend on the size
// of rewards.
//
// The running first and second moments of the returns move towards those of a batch by Beta, and the share that they
// still have of their start is taken off. What is kept is the same written as mean and variance, since float32 loses
// the digits of a variance in the difference of two large squares.
type PopArt struct {
	Beta     settings.Number `set:"beta" above:"0" max:"1" help:"share of a batch in the moments of returns"`
	MinSigma settings.Number `set:"min-sigma" above:"0" help:"least standard deviation of returns"`
	MaxSigma settings.Number `set:"max-sigma" above:"0" help:"greatest standard deviation of returns"`
}

// PopArtMoments are the moments of the returns so far.
type PopArtMoments struct {
	Mean     *graph.Array // f32[]
	Variance *graph.Array // f32[], not bounded; 1 before any return
	// f32[], 1 - (1 - beta)^updates: the share of the moments that returns have, where the rest is the start's
	Weight *graph.Array
}

// farthest is how far from 0 a return may be to count: the squares of such returns, and their sums, are finite.
const farthest = 1e15

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
	return m.Mean, graph.Clamp(p.MinSigma.Array(), graph.Sqrt(m.Variance), p.MaxSigma.Array())
}

// Read returns mean + sigma * out.
func (p *PopArt) Read(state any, out *graph.Array) *graph.Array {
	mean, sigma := p.scale(state)
	return graph.Add(mean, graph.Mul(sigma, one("value.PopArt.Read", out)))
}

// Prepare moves the moments. Returns that are NaN, infinite or beyond 1e15 are left out; a batch without others changes
// nothing.
func (p *PopArt) Prepare(state any, targets *graph.Array) any {
	m := state.(PopArtMoments)
	if targets.Rank() != 1 || targets.Dim(0) == 0 {
		graph.Throw("value.PopArt.Prepare", "got targets %s, want f32[n] of one or more samples", targets.Shape())
	}
	targets = constants(targets)[0]
	counts := graph.Lt(graph.Abs(targets), farthest) // which NaN is not
	n := graph.Sum(graph.Convert(counts, graph.Float32))
	average := func(x *graph.Array) *graph.Array {
		return graph.Div(graph.Sum(graph.Select(counts, x, 0.)), graph.Max(n, 1))
	}

	apart := graph.Sub(targets, m.Mean)
	shift := average(apart) // of the batch's mean from the running one
	variance := average(graph.Square(graph.Sub(apart, shift)))

	weight := graph.Add(m.Weight, graph.Mul(p.Beta.Array(), graph.Sub(1, m.Weight)))
	step := graph.Div(p.Beta.Array(), weight) // 1 in the first batch
	rest := graph.Sub(1, step)
	moved := PopArtMoments{
		Mean: graph.Add(m.Mean, graph.Mul(step, shift)),
		Variance: graph.Add(graph.Mul(rest, graph.Add(m.Variance, graph.Mul(step, graph.Square(shift)))),
			graph.Mul(step, variance)),
		Weight: weight,
	}
	some := graph.Gt(n, 0)
	return graph.MapTree2(func(new, old *graph.Array) *graph.Array { return graph.Select(some, new, old) }, moved, m)
}

// Loss returns the loss of Plain for normalised values; clip is in standard deviations of the returns.
func (p *PopArt) Loss(state any, out, old, target, clip *graph.Array) *graph.Array {
	fixed := constants(old, target, clip)
	mean, sigma := p.scale(state)
	normal := func(x *graph.Array) *graph.Array {
		if x == nil {
			return nil
		}
		return graph.Div(graph.Sub(x, mean), sigma)
	}
	return squares(one("value.PopArt.Loss", out), normal(fixed[0]), normal(fixed[1]), fixed[2])
}

// Rescale returns w * sigma / sigma', and (sigma * b + mean - mean') / sigma', where ' marks the state after.
func (p *PopArt) Rescale(before, after any, w, b *graph.Array) (*graph.Array, *graph.Array) {
	mean, sigma := p.scale(before)
	toMean, toSigma := p.scale(after)
	scaled := graph.Mul(w, graph.Div(sigma, toSigma))
	return scaled, graph.Div(graph.Add(graph.Mul(sigma, b), graph.Sub(mean, toMean)), toSigma)
}
