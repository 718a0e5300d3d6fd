package nn

import "xlarun/graph"

// WeightNorm is the weights w [..., out] with the norm of each feature of the last axis set to scale [out] (Salimans
// and Kingma, "Weight normalization", 2016). Squared norms are larger by 1e-12.
func WeightNorm(w, scale *graph.Array) *graph.Array {
	wantLast("nn.WeightNorm", "the scale", scale, w.Dim(-1))
	flat := w.Reshape(-1, w.Dim(-1))
	return w.Mul(flat.Square().Sum(0).Add(1e-12).Rsqrt().Mul(scale))
}

// SpectralNorm divides the weights w [..., out] by their largest singular value, as w.Reshape(-1, out), and returns
// the vector [1, out] from which the next call starts (Miyato et al., "Spectral normalization for generative
// adversarial networks", 2018). The value is estimated by power iterations from u [1, out]: one is enough if u comes
// from the step before, a random vector from which to start needs more. Gradients take the singular vectors as
// constants.
func SpectralNorm(w, u *graph.Array, iterations int) (normalized, next *graph.Array) {
	const op = "nn.SpectralNorm"
	if u.Rank() != 2 || u.Dim(0) != 1 || u.Dim(1) != w.Dim(-1) || iterations < 1 {
		graph.Throw(op, "got weights %s, a vector %s and %d iterations, want [1, %d] and at least 1", w.Shape(),
			u.Shape(), iterations, w.Dim(-1))
	}
	m := w.Reshape(-1, w.Dim(-1))
	unit := func(v *graph.Array) *graph.Array { return v.Mul(v.Square().Sum().Add(1e-12).Rsqrt()) }
	var v *graph.Array
	for range iterations {
		v = unit(u.Dot(graph.MatrixTranspose(graph.StopGradient(m))))
		u = unit(v.Dot(graph.StopGradient(m)))
	}
	u, v = graph.StopGradient(u), graph.StopGradient(v)
	sigma := v.Dot(m).Dot(graph.MatrixTranspose(u)).Reshape()
	return w.Div(graph.Select(sigma.Eq(0), 1, sigma)), u
}
