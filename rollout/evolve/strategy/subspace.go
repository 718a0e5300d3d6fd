package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// subspaceSearch is shared by GuidedES and ASEBO: antithetic pairs mean ± σ·y, whose noise y is stretched in the
// subspace of earlier gradients, and steps of Adam.
type subspaceSearch struct {
	antithetic
	normal[SubspaceState]
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Sigma        settings.Number `set:"sigma" above:"0" help:"length of a member's noise, about: over all parameters, not of each"`
	Subspace     int             `set:"subspace" min:"1" max:"64" help:"dimensions of the subspace"`
	Shaped
}

func defaultSubspaceSearch() subspaceSearch {
	return subspaceSearch{LearningRate: settings.Num(.02), Sigma: settings.Num(1), Subspace: 1,
		Shaped: Shaped{Shaping: shapeRanks}}
}

// SubspaceState is the state of GuidedES and ASEBO.
type SubspaceState struct {
	Mean       *graph.Array // f32[n]
	Adam       Adam
	Gradients  *graph.Array // f32[gradients, n]: of the last generations, the newest last; 0 before there are so many
	Alpha      *graph.Array // f32[]: share of the noise that all directions have, from 0 to 1
	Generation *graph.Array // i32[]: generations so far
}

func (s SubspaceState) mean() *graph.Array { return s.Mean }

// start returns the first state, with so many gradients.
func (e *subspaceSearch) start(mean *graph.Array, gradients int, alpha *graph.Array) SubspaceState {
	return SubspaceState{mean, newAdam(mean), graph.Zeros(graph.ShapeOf(graph.Float32, gradients, mean.Dim(0))), alpha,
		graph.Scalar(0, graph.Int32)}
}

// stretch is the symmetric root of a covariance: plain² in all directions, and along² in those of a basis, f32[k, n].
type stretch struct{ plain, along, basis *graph.Array }

// of returns the root times z, f32[n].
func (r stretch) of(z *graph.Array) *graph.Array {
	return r.plain.Mul(z).Add(r.along.Sub(r.plain).Mul(r.basis.Dot(z).Dot(r.basis)))
}

// inverse is the inverse of the root.
func (r stretch) inverse() stretch {
	return stretch{graph.Div(1, r.plain), graph.Div(1, r.along), r.basis}
}

// member returns mean + σ·y on side 0, mean - σ·y on side 1.
func (e *subspaceSearch) member(s SubspaceState, root stretch, noise, side *graph.Array) *graph.Array {
	return s.Mean.Add(e.Sigma.Array().Mul(e.sign(side)).Mul(root.of(noise)))
}

// traits are those of a strategy with this root of the covariance. An immigrant is the noise of a genome.
func (e *subspaceSearch) traits(root func(s SubspaceState) stretch) (t Traits[SubspaceState, *graph.Array,
	*graph.Array]) {
	t.GroupSize = 2
	t.Immigrant = func(s SubspaceState, genome *graph.Array) *graph.Array {
		return likely(root(s).inverse().of(genome.Sub(s.Mean).Div(e.Sigma.Array())))
	}
	return t
}

// gradient estimates the gradient of the shaped fitness. self is the strategy that embeds e.
func (e *subspaceSearch) gradient(self Strategy[SubspaceState, *graph.Array, *graph.Array], s SubspaceState,
	root stretch, v Evaluation, noise Draws[*graph.Array]) *graph.Array {
	plus, minus := e.sides(shape(e.Shaped, self, s, v.Fitness, noise))
	gradient := root.of(noise.Sum(plus.Sub(minus))).Div(graph.Mul(2, e.Sigma.Array()))
	return gradient.Clamp(-maxValue, maxValue)
}

// ascend makes one step of Adam along a direction, and keeps the gradient.
func (e *subspaceSearch) ascend(s SubspaceState, gradient, direction *graph.Array) SubspaceState {
	adam, update := s.Adam.step(direction, e.LearningRate.Array())
	last := graph.Iota(s.Gradients.Dim(0)).Eq(s.Gradients.Dim(0) - 1).ExpandDims(1)
	gradients := graph.Select(last, gradient.ExpandDims(0), graph.Roll(s.Gradients, -1, 0))
	return SubspaceState{s.Mean.Add(update), adam, gradients, s.Alpha, s.Generation.Add(1)}
}

// orthonormal returns an orthonormal basis of the rows' span, f32[rows, n], by Gram and Schmidt's method, twice for
// each row. Rows that lie in the span of those before, up to rounding, are 0.
func orthonormal(rows *graph.Array) *graph.Array {
	const dependent = 1e-4
	norm := func(v *graph.Array) *graph.Array { return v.Square().Sum().Sqrt() }
	unit := func(v *graph.Array) *graph.Array {
		size := v.Abs().ReduceMax() // squares of large numbers overflow
		v = v.Div(graph.Select(size.Gt(0), size, 1))
		size = norm(v)
		return v.Div(graph.Select(size.Gt(0), size, 1))
	}
	var basis []*graph.Array
	for i := range rows.Dim(0) {
		v := unit(rows.Index(i))
		for range 2 {
			for _, u := range basis {
				v = v.Sub(v.Dot(u).Mul(u))
			}
		}
		basis = append(basis, graph.Select(norm(v).Gt(float32(dependent)), unit(v), graph.ZerosLike(v)))
	}
	return graph.Stack(basis, 0)
}

// subspaceLeast is the least variance of a direction, so that all have some.
const subspaceLeast = 1e-6

// length returns |v|, f32[].
func length(v *graph.Array) *graph.Array {
	unit := magnitude(v)
	return unit.Mul(v.Div(unit).Square().Sum().Sqrt())
}
