package distribution

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Independent takes the last axes of a distribution's parameters as one value: LogProb and Entropy are summed over
// them.
type Independent[D Distribution] struct {
	Base D
	Axes int // so many last axes
}

// NewIndependent makes one distribution of the last axes of many.
func NewIndependent[D Distribution](base D, axes int) Independent[D] {
	if axes < 0 {
		graph.Throw("distribution.NewIndependent", "got %d axes, want at least 0", axes)
	}
	return Independent[D]{base, axes}
}

// Sample draws as the base does.
func (d Independent[D]) Sample(key random.Key, dims ...int) *graph.Array {
	return d.Base.Sample(key, dims...)
}

// LogProb is the sum of the base's over the axes.
func (d Independent[D]) LogProb(x *graph.Array) *graph.Array {
	d, x = promotedParts("distribution.Independent", d, x)
	return inFloat32(d, x, func(d Independent[D], x *graph.Array) *graph.Array {
		return overLast(d.Base.LogProb(x), d.Axes)
	})
}

// Entropy is the sum of the base's over the axes.
func (d Independent[D]) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Independent[D], _ *graph.Array) *graph.Array {
		return overLast(d.Base.Entropy(), d.Axes)
	})
}

// ValueRank is the number of axes of one value.
func (d Independent[D]) ValueRank() int { return d.Axes + valueRank(d.Base) }

// overLast sums over so many last axes.
func overLast(x *graph.Array, axes int) *graph.Array {
	if axes > x.Rank() {
		graph.Throw("distribution.Independent", "got %s, want %d axes or more", x.Shape(), axes)
	}
	list := make([]int, axes)
	for i := range list {
		list[i] = x.Rank() - axes + i
	}
	return graph.Sum0(x, list)
}

// valueRank is the number of axes of one value of a distribution.
func valueRank(d any) int {
	if v, ok := d.(interface{ ValueRank() int }); ok {
		return v.ValueRank()
	}
	return 0
}

// MultivariateNormalDiag is the normal distribution over vectors whose elements are independent.
type MultivariateNormalDiag struct {
	Loc   *graph.Array // […, n], mean
	Scale *graph.Array // […, n], standard deviations, positive
}

// NewMultivariateNormalDiag makes a distribution of vectors along the last axis of loc and scale, which broadcast.
func NewMultivariateNormalDiag(loc, scale any) MultivariateNormalDiag {
	const op = "distribution.NewMultivariateNormalDiag"
	p := parameters(op, loc, scale)
	if p[0].Rank() == 0 {
		graph.Throw(op, "got a mean %s, want […, n]", p[0].Shape())
	}
	return MultivariateNormalDiag{p[0], p[1]}
}

func (d MultivariateNormalDiag) elements() Normal { return Normal(d) }

// Sample draws loc + scale * random.Normal.
func (d MultivariateNormalDiag) Sample(key random.Key, dims ...int) *graph.Array {
	return d.elements().Sample(key, dims...)
}

// LogProb is the logarithm of the density of vectors […, n].
func (d MultivariateNormalDiag) LogProb(x *graph.Array) *graph.Array {
	return NewIndependent(d.elements(), 1).LogProb(x)
}

// Entropy is the sum of the elements'.
func (d MultivariateNormalDiag) Entropy() *graph.Array {
	return NewIndependent(d.elements(), 1).Entropy()
}

// KL is the divergence from q.
func (d MultivariateNormalDiag) KL(q MultivariateNormalDiag) *graph.Array {
	return inFloat32([2]Normal{d.elements(), q.elements()}, nil, func(v [2]Normal, _ *graph.Array) *graph.Array {
		return v[0].KL(v[1]).Sum(-1)
	})
}

// Mode is the most likely value.
func (d MultivariateNormalDiag) Mode() *graph.Array { return d.Loc }

// ValueRank is the number of axes of one value.
func (d MultivariateNormalDiag) ValueRank() int { return 1 }

// ValueRank is the number of axes of one value.
func (d MultivariateNormal) ValueRank() int { return 1 }

// ValueRank is the number of axes of one value.
func (d Dirichlet) ValueRank() int { return 1 }

// OneHotCategorical is a Categorical whose values are vectors with a one in the index's place.
type OneHotCategorical struct{ Index Categorical }

// NewOneHotCategorical makes a distribution with probabilities softmax(logits); logits is […, n].
func NewOneHotCategorical(logits *graph.Array) OneHotCategorical {
	return OneHotCategorical{NewCategorical(logits)}
}

// Sample draws vectors of int32: the one-hot form of Categorical's draws.
func (d OneHotCategorical) Sample(key random.Key, dims ...int) *graph.Array {
	return graph.OneHot(d.Index.Sample(key, dims...), d.Index.Logits.Dim(-1), graph.Int32)
}

// LogProb is the sum of the logarithms of the probabilities times x, one-hot vectors […, n].
func (d OneHotCategorical) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.OneHotCategorical", d, x)
	return inFloat32(d, x, func(d OneHotCategorical, x *graph.Array) *graph.Array {
		return graph.Select(x.Eq(0), 0, d.Index.LogProbs().Mul(x)).Sum(-1)
	})
}

// Entropy is minus the sum of p log p.
func (d OneHotCategorical) Entropy() *graph.Array { return d.Index.Entropy() }

// KL is the divergence from q.
func (d OneHotCategorical) KL(q OneHotCategorical) *graph.Array { return d.Index.KL(q.Index) }

// Mode is the most likely vector.
func (d OneHotCategorical) Mode() *graph.Array {
	return graph.OneHot(d.Index.Mode(), d.Index.Logits.Dim(-1), graph.Int32)
}

// ValueRank is the number of axes of one value.
func (d OneHotCategorical) ValueRank() int { return 1 }
