package strategy

import "xlarun/graph"

func init() {
	MustRegister("asebo", &ASEBO{defaultSubspaceSearch()})
}

// ASEBO is "From complexity to simplicity: adaptive ES-active subspaces for blackbox optimization" of Choromanski et
// al. (2019) with the formulas and defaults of evosax 0.3.2: antithetic pairs mean ± y of covariance σ²·(α/n +
// (1-α)/k·U·Uᵀ). U is a basis of the differences of the last k+1 gradients. α is how much of the last gradient lay
// outside of that subspace, against what lay within. evosax takes an eigendecomposition of n² numbers for the noise.
// Here it takes the k vectors.
type ASEBO struct{ subspaceSearch }

// Traits say that it has pairs and takes immigrants.
func (e *ASEBO) Traits() Traits[SubspaceState, *graph.Array, *graph.Array] { return e.traits(e.root) }

// Init starts at the genome, without gradients.
func (e *ASEBO) Init(genome *graph.Array, _ int) SubspaceState {
	return e.start(genome, e.Subspace+1, graph.Scalar(1))
}

// ready says whether there were enough gradients: bool[].
func (e *ASEBO) ready(s SubspaceState) *graph.Array { return s.Generation.Gt(e.Subspace) }

func (e *ASEBO) root(s SubspaceState) stretch {
	k := s.Gradients.Dim(0) - 1
	basis := orthonormal(graph.SliceAxis(s.Gradients, 0, 1, k+1).Sub(graph.SliceAxis(s.Gradients, 0, 0, k)))
	basis = graph.Select(e.ready(s), basis, graph.ZerosLike(basis))
	dims := basis.Abs().ReduceMax(1).Gt(0).Convert(graph.Float32).Sum().Max(1)
	all := s.Alpha.Div(float32(s.Mean.Dim(0))).Add(float32(subspaceLeast))
	return stretch{all.Sqrt(), all.Add(graph.Sub(1, s.Alpha).Div(dims)).Sqrt(), basis}
}

// Member returns mean + σ·y on side 0, mean - σ·y on side 1.
func (e *ASEBO) Member(s SubspaceState, noise, side *graph.Array) *graph.Array {
	return e.member(s, e.root(s), noise, side)
}

// Tell makes one step of Adam along Σ (shaped fitness₊ - shaped fitness₋)·y / (2·σ), at length n, and moves α.
func (e *ASEBO) Tell(s SubspaceState, v Evaluation, noise Draws[*graph.Array]) SubspaceState {
	root := e.root(s)
	gradient := e.gradient(e, s, root, v, noise)
	within := root.basis.Dot(gradient).Dot(root.basis)
	unit := length(gradient).Div(float32(s.Mean.Dim(0))).Add(float32(1e-8))
	next := e.ascend(s, gradient, gradient.Div(unit))
	alpha := length(gradient.Sub(within)).Div(length(within).Add(float32(1e-8))).Clamp(0, 1)
	next.Alpha = graph.Select(e.ready(s), alpha, 1)
	return next
}
