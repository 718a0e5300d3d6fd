package distribution

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Drawable is what mixtures and transformed distributions are made of, and are: a Distribution without an entropy,
// which has no closed form for them.
type Drawable interface {
	Sample(key random.Key, dims ...int) *graph.Array
	LogProb(x *graph.Array) *graph.Array
}

// Mixture draws from one of several distributions of a kind, which it draws by its probability. Its entropy and
// divergences have no closed form; Divergence estimates them.
type Mixture[D Drawable] struct {
	Index      Categorical // […, k]
	Components D           // parameters […, k], and what one value takes
}

// NewMixture makes a mixture of components with probabilities softmax(logits), […, k]. The components are along the
// last axis of their parameters, before the axes of one value.
func NewMixture[D Drawable](logits *graph.Array, components D) Mixture[D] {
	return Mixture[D]{NewCategorical(logits), components}
}

// Sample draws the number of a component and a value of each component, with keys of their own, as distrax does.
func (d Mixture[D]) Sample(key random.Key, dims ...int) *graph.Array {
	forValue, forIndex := random.Split2(key)
	index := d.Index.Sample(forIndex, dims...)
	x := d.Components.Sample(forValue, dims...)
	rank := valueRank(d.Components)
	chosen := graph.OneHot(index, d.Index.Logits.Dim(-1), graph.Bool)
	for range rank {
		chosen = chosen.ExpandDims(-1)
	}
	return graph.Select(chosen.BroadcastTo(x.Dims()...), x, 0).Sum(x.Rank() - rank - 1)
}

// LogProb is the logarithm of the weighted sum of the components' probabilities or densities. Largest error: 3 ULP in
// float64, 2 in float32, 1 in 16-bit floats.
func (d Mixture[D]) LogProb(x *graph.Array) *graph.Array {
	at := x.Rank() - valueRank(d.Components)
	if at < 0 {
		graph.Throw("distribution.Mixture", "got a value %s, want %d axes or more", x.Shape(), valueRank(d.Components))
	}
	d, x = promotedParts("distribution.Mixture", d, x)
	return inFloat32(d, x, func(d Mixture[D], x *graph.Array) *graph.Array {
		return graph.LogSumExp(d.Index.LogProbs().Add(d.Components.LogProb(x.ExpandDims(at))), -1)
	})
}

// ValueRank is the number of axes of one value.
func (d Mixture[D]) ValueRank() int { return valueRank(d.Components) }
