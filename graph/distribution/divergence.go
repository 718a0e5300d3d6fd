package distribution

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Divergence estimates the Kullback-Leibler divergence from q by n draws from p: the mean difference of their LogProb.
// The last bijectors that two Transformed or SquashedNormal have in common are left out, since they do not change a
// divergence. The density of p is that at a draw before it is rounded (SampleLogProb). A draw that rounds to where q
// is impossible, such as 1 of Tanh where q has another bijector, makes the estimate infinite. A Mixture of transformed
// ones counts as a transformed Mixture, up to the last bijector with arrays of its own.
func Divergence(key random.Key, p, q Drawable, n int) *graph.Array {
	dims := graph.EvalShape(func() *graph.Array { return meanDifference(random.New(0), p, q, n) }).Dims()
	p, q = uncommon(p, q)
	return meanDifference(key, p, q, n).BroadcastTo(dims...) // an Affine that is left out may have more axes
}

func meanDifference(key random.Key, p, q Drawable, n int) *graph.Array {
	if s, ok := p.(interface {
		SampleLogProb(key random.Key, dims ...int) (x, logProb *graph.Array)
	}); ok {
		x, logProb := s.SampleLogProb(key, n)
		return logProb.Sub(q.LogProb(x)).Mean(0)
	}
	x := p.Sample(key, n)
	return p.LogProb(x).Sub(q.LogProb(x)).Mean(0)
}

// uncommon is two distributions without the last bijectors that are the same in both.
func uncommon(p, q Drawable) (Drawable, Drawable) {
	a, byA := bijectors(p)
	b, byB := bijectors(q)
	same := 0
	for same < min(len(byA), len(byB)) && sameBijector(byA[len(byA)-1-same], byB[len(byB)-1-same]) {
		same++
	}
	if same == 0 {
		if _, mixed := p.(interface{ mixed() }); mixed && len(byA) > 0 {
			p = NewTransformed(a, byA) // it has SampleLogProb
		}
		return p, q
	}
	rest := func(base Drawable, by Steps) Drawable {
		if by = by[:len(by)-same]; len(by) == 0 {
			return base
		}
		return NewTransformed(base, by)
	}
	return rest(a, byA), rest(b, byB)
}

// transformed is a Transformed with whatever base and bijector.
type transformed interface{ parts() (Drawable, Bijector) }

func (d Transformed[D, B]) parts() (Drawable, Bijector) { return d.Base, d.By }

func (d SquashedNormal) parts() (Drawable, Bijector) { return d.Base, Tanh{} }

// parts are the mixture of what the components transform, and the last bijectors, without arrays, that do it.
func (d Mixture[D]) parts() (Drawable, Bijector) {
	base, by := bijectors(d.Components)
	n := len(by)
	for n > 0 && len(graph.Leaves(by[n-1])) == 0 {
		n--
	}
	if n > 0 {
		base = NewTransformed(base, by[:n])
	}
	return Mixture[Drawable]{d.Index, base}, by[n:]
}

func (d Mixture[D]) mixed() {}

// bijectors is what is transformed, and by what, one after the other.
func bijectors(d Drawable) (base Drawable, by Steps) {
	t, ok := d.(transformed)
	if !ok {
		return d, nil
	}
	inner, last := t.parts()
	if steps, ok := last.(Steps); ok && len(steps) == 0 {
		return d, nil
	}
	base, by = bijectors(inner)
	return base, slices.Concat(by, flatSteps(last))
}

// flatSteps is a bijector as Steps without Steps in it.
func flatSteps(b Bijector) Steps {
	steps, ok := b.(Steps)
	if !ok {
		return Steps{b}
	}
	var flat Steps
	for _, b := range steps {
		flat = append(flat, flatSteps(b)...)
	}
	return flat
}

// sameBijector holds for bijectors of this package of one type, an Affine only with the same arrays.
func sameBijector(a, b Bijector) bool {
	switch a := a.(type) {
	case Tanh, Sigmoid, Exp, Affine:
		return a == b
	case Inverted:
		other, ok := b.(Inverted)
		return ok && sameBijector(a.Of, other.Of)
	}
	return false
}
