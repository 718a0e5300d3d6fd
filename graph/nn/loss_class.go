package nn

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/special"
)

// KLDivergence is the sum of t (log t - p) over the last axis, for the logarithms p of predicted probabilities and
// the probabilities t [classes]; leading axes stay, one loss each. The derivative by a probability of 0 leaves out that
// of t log t, which is -Inf.
func KLDivergence(logPrediction, target *graph.Array) *graph.Array {
	p, t := wantSame("nn.KLDivergence", logPrediction, target)
	return special.XLogY(t, t).Sub(t.Mul(p)).Sum(-1)
}

// Focal is the mean over all elements of the binary cross entropy times (1 - s)^gamma, s the probability given to
// the target: easy examples count less (Lin et al., "Focal loss for dense object detection", 2017). Targets are from
// 0 to 1. Their losses are weighted by alpha, those of 1 - target by 1 - alpha; a negative alpha weighs nothing.
func Focal(logits, target *graph.Array, alpha, gamma float64) *graph.Array {
	l, t := wantSame("nn.Focal", logits, target)
	loss := Softplus(l).Sub(l.Mul(t))
	rest := graph.Sub(1, t)
	// The logarithm of (1-t) s + t (1-s), without overflow.
	yes, no := LogSigmoid(l), LogSigmoid(l.Neg())
	most := graph.Select(rest.Eq(0), no, graph.Select(t.Eq(0), yes, yes.Max(no))) // the larger of those that count
	most = graph.StopGradient(most)
	part := func(weight, log *graph.Array) *graph.Array {
		return weight.Mul(log.Sub(most).Min(80).Exp()) // finite where the weight is 0, and its derivative is not
	}
	missed := part(rest, yes).Add(part(t, no)).Log().Add(most)
	loss = loss.Mul(missed.Mul(gamma).Exp())
	if alpha >= 0 {
		loss = loss.Mul(graph.Mul(alpha, t).Add(graph.Mul(1-alpha, rest)))
	}
	return loss.Mean()
}

// Hinge is the mean over all elements of max(0, 1 - prediction*target), targets -1 or 1.
func Hinge(prediction, target *graph.Array) *graph.Array {
	p, t := wantSame("nn.Hinge", prediction, target)
	return graph.Sub(1, p.Mul(t)).Max(0).Mean()
}

// LogCosh is the mean over all elements of log(cosh(prediction - target)).
func LogCosh(prediction, target *graph.Array) *graph.Array {
	p, t := wantSame("nn.LogCosh", prediction, target)
	d := p.Sub(t)
	return graph.LogAddExp(d, d.Neg()).Sub(math.Ln2).Mean()
}

// SmoothLabels is (1 - alpha) p + alpha / classes: probabilities p [..., classes] that are less sure.
func SmoothLabels(p *graph.Array, alpha float64) *graph.Array {
	return p.Mul(1 - alpha).Add(alpha / float64(p.Dim(-1)))
}
