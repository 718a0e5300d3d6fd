package nn

import (
	"math"

	"xlarun/graph"
)

// A loss maps the prediction and the target of one example to a scalar; graph.VMap and graph.Mean give a batch's loss.
// Half precision is computed in float32.

// MSE is the mean squared difference of two arrays of one shape.
func MSE(prediction, target *graph.Array) *graph.Array {
	p, t := wantSame("nn.MSE", prediction, target)
	return p.Sub(t).Square().Mean()
}

// MAE is the mean absolute difference of two arrays of one shape.
func MAE(prediction, target *graph.Array) *graph.Array {
	p, t := wantSame("nn.MAE", prediction, target)
	return graph.Select(p.Eq(t), 0, p.Sub(t)).Abs().Mean() // equal infinities differ by 0
}

// Huber is the mean over all elements of d*d/2 where the difference d is up to delta, delta*(|d| - delta/2) beyond
// (Huber, "Robust estimation of a location parameter", 1964).
func Huber(prediction, target *graph.Array, delta float64) *graph.Array {
	p, t := wantSame("nn.Huber", prediction, target)
	if !(delta > 0) {
		graph.Throw("nn.Huber", "got delta = %v, want more than 0", delta)
	}
	distance := p.Sub(t).Abs()
	square := distance.Min(delta)
	return square.Square().Mul(0.5).Add(distance.Sub(square).Mul(delta)).Mean()
}

// CrossEntropy is -log softmax(logits)[label]: logits [classes] and an integer label give a scalar. Logits [n, classes]
// and labels [n] give losses [n], and so on. A label that is not a class gives NaN.
func CrossEntropy(logits, label *graph.Array) *graph.Array {
	const op = "nn.CrossEntropy"
	if !label.DType().IsInt() || logits.Rank() != label.Rank()+1 {
		graph.Throw(op, "logits are %s, the label is %s; want logits [classes] and one integer, or CrossEntropyOneHot",
			logits.Shape(), label.Shape())
	}
	logits = atLeastFloat32(logits)
	// The maximum is subtracted first, so that large logits do not round the logarithm away.
	most := graph.StopGradient(logits.ReduceMax(-1)).ExpandDims(-1)
	shifted := logits.Sub(graph.Select(most.IsFinite(), most, 0))
	certain := most.Eq(math.Inf(1))
	norm := graph.Select(certain.BroadcastTo(logits.Dims()...), 0, shifted).Exp().Sum(-1).Log()
	norm = graph.Select(certain.Squeeze(-1), math.Inf(1), norm)
	label = graph.IndexArray(op, label)
	// A sum over a one-hot mask instead of a gather: XLA fuses it, also under VMap and in the gradient.
	index := graph.IotaAxis(graph.ShapeOf(label.DType(), logits.Dims()...), logits.Rank()-1)
	chosen := graph.Select(index.Eq(label.ExpandDims(-1)), shifted, 0).Sum(-1)
	class := label.Ge(0).And(label.Lt(logits.Dim(-1)))
	return graph.Select(class, norm.Sub(chosen), math.NaN())
}

// CrossEntropyOneHot is -sum(p * log softmax(logits)) over the last axis: logits and probabilities p [classes] give a
// scalar. Leading axes stay, one loss each. A class of logit -Inf and probability 0 adds nothing.
func CrossEntropyOneHot(logits, p *graph.Array) *graph.Array {
	l, p := wantSame("nn.CrossEntropyOneHot", logits, p)
	if l.Rank() == 0 {
		graph.Throw("nn.CrossEntropyOneHot", "logits are %s, want [classes]", logits.Shape())
	}
	log := graph.LogSoftmax(l, -1)
	excluded := p.Eq(0).And(log.Eq(math.Inf(-1)))
	return p.Mul(graph.Select(excluded, 0, log)).Sum(-1).Neg()
}

// BinaryCrossEntropy is the mean over all elements of -t*log s - (1-t)*log(1-s) with s = sigmoid(logits), for targets t
// from 0 to 1; it does not overflow.
func BinaryCrossEntropy(logits, target *graph.Array) *graph.Array {
	l, t := wantSame("nn.BinaryCrossEntropy", logits, target)
	return Softplus(l).Sub(l.Mul(t)).Mean()
}

// CosineDistance is 1 - a·b/(|a||b|) over the last axis: a and b [n] give a scalar; leading axes stay. Squared norms
// below epsilon count as epsilon, as in optax.cosine_distance (0.2.8).
func CosineDistance(a, b *graph.Array, epsilon float64) *graph.Array {
	x, y := wantSame("nn.CosineDistance", a, b)
	if x.Rank() == 0 {
		graph.Throw("nn.CosineDistance", "got %s, want […, n]", a.Shape())
	}
	unit := func(v *graph.Array) *graph.Array {
		return v.Div(safeNorm(v, epsilon).ExpandDims(-1))
	}
	return graph.Sub(1, unit(x).Mul(unit(y)).Sum(-1))
}

// safeNorm is the length of v along the last axis, at least √epsilon. Where it is √epsilon, its gradient is 0, not NaN.
func safeNorm(v *graph.Array, epsilon float64) *graph.Array {
	square := v.Square().Sum(-1)
	short := square.Le(epsilon)
	return graph.Select(short, math.Sqrt(epsilon), graph.Select(short, 1, square).Sqrt())
}

// wantSame refuses arrays of different dims. It returns both in float32 or float64.
func wantSame(op string, x, y *graph.Array) (*graph.Array, *graph.Array) {
	if !graph.ShapeOf(x.DType(), x.Dims()...).Equal(graph.ShapeOf(x.DType(), y.Dims()...)) {
		graph.Throw(op, "got %s and %s, want equal dims", x.Shape(), y.Shape())
	}
	return atLeastFloat32(x), atLeastFloat32(y)
}
