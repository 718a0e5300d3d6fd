package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("guidedes", &GuidedES{defaultSubspaceSearch(), settings.Num(.5)})
}

// GuidedES is the guided evolution strategy of Maheswaranathan et al., "Guided evolutionary strategies: augmenting
// random search with surrogate gradients" (2019), with the formulas of evosax 0.3.2: antithetic pairs mean ± y of
// covariance σ²·(α/n + (1-α)/k·U·Uᵀ), where U is a basis of the subspace of k surrogate gradients. The surrogates are
// the gradients that the last generations estimated, as in Meier et al., "Improving gradient estimation in evolutionary
// strategies with past descent directions" (2019). evosax leaves them to the caller.
type GuidedES struct {
	subspaceSearch
	Alpha settings.Number `set:"alpha" above:"0" max:"1" help:"share of the noise that all directions have"`
}

// Traits say that it has pairs and takes immigrants.
func (e *GuidedES) Traits() Traits[SubspaceState, *graph.Array, *graph.Array] {
	return e.traits(e.root)
}

// Init starts at the genome, without gradients.
func (e *GuidedES) Init(genome *graph.Array, _ int) SubspaceState {
	return e.start(genome, e.Subspace, e.Alpha.Array())
}

func (e *GuidedES) root(s SubspaceState) stretch {
	n, k := float32(s.Mean.Dim(0)), float32(e.Subspace)
	all, more := s.Alpha.Div(n), graph.Sub(1, s.Alpha).Div(k)
	return stretch{all.Sqrt(), all.Add(more).Sqrt(), orthonormal(s.Gradients)}
}

// Member returns mean + σ·y on side 0, mean - σ·y on side 1.
func (e *GuidedES) Member(s SubspaceState, noise, side *graph.Array) *graph.Array {
	return e.member(s, e.root(s), noise, side)
}

// Tell makes one step of Adam along Σ (shaped fitness₊ - shaped fitness₋)·y / (2·σ).
func (e *GuidedES) Tell(s SubspaceState, v Evaluation, noise Draws[*graph.Array]) SubspaceState {
	gradient := e.gradient(e, s, e.root(s), v, noise)
	return e.ascend(s, gradient, gradient)
}
