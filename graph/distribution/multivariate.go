package distribution

import (
	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
	"xlarun/graph/special"
)

// MultivariateNormal is the normal distribution over vectors. It is one distribution; VMap maps over many.
type MultivariateNormal struct {
	Loc   *graph.Array // [n], mean
	Scale *graph.Array // [n, n], lower triangular with a positive diagonal: the covariance is Scale * its transpose
}

// NewMultivariateNormal makes a distribution of mean loc [n] and covariance [n, n], positive definite, float32 or
// float64.
func NewMultivariateNormal(loc, covariance *graph.Array) MultivariateNormal {
	const op = "distribution.NewMultivariateNormal"
	p := parameters(op, loc)
	if p[0].Rank() != 1 || covariance == nil || covariance.Rank() != 2 || covariance.Dim(0) != p[0].Dim(0) ||
		covariance.Dim(1) != p[0].Dim(0) {
		graph.Throw(op, "got a mean %s and a covariance %v, want [n] and [n, n]: use graph.VMap for many", p[0].Shape(),
			covariance)
	}
	return MultivariateNormal{p[0], linalg.Cholesky(covariance.Convert(p[0].DType()))}
}

// Sample draws loc + Scale z, z normal: random.MultivariateNormal. The result is [dims…, n].
func (d MultivariateNormal) Sample(key random.Key, dims ...int) *graph.Array {
	z := random.Normal(key, drawShape(d.Loc, dims))
	return d.Loc.Add(z.Dot(graph.MatrixTranspose(graph.Tril(d.Scale, 0))))
}

// white solves Scale y = x for rows x [rows, n].
func (d MultivariateNormal) white(rows *graph.Array) *graph.Array {
	return graph.MatrixTranspose(linalg.TriangularSolve(d.Scale, graph.MatrixTranspose(rows)))
}

// logDet is half of the logarithm of the covariance's determinant.
func (d MultivariateNormal) logDet() *graph.Array {
	return diagonal(d.Scale).Log().Sum()
}

// LogProb is the logarithm of the density of the vectors x […, n]. Largest error: 2 ULP in float64, 2 in float32, 1 in
// 16-bit floats.
func (d MultivariateNormal) LogProb(x *graph.Array) *graph.Array {
	const op = "distribution.MultivariateNormal"
	n := d.Loc.Dim(0)
	d, x = promoted(op, d, x)
	if x.Rank() == 0 || x.Dim(-1) != n {
		graph.Throw(op, "got values %s, want […, %d]", x.Shape(), n)
	}
	dims := x.Dims()[:x.Rank()-1]
	return inFloat32(d, x, func(d MultivariateNormal, x *graph.Array) *graph.Array {
		z := d.white(x.Sub(d.Loc).Reshape(graph.ShapeOf(graph.Int32, dims...).Size(), n))
		y := graph.Mul(-.5, z.Square().Sum(-1)).Sub(graph.Add(float64(n)*halfLog2Pi, d.logDet()))
		return y.Reshape(dims...)
	})
}

// Entropy is n (1 + log 2 pi)/2 plus half of the logarithm of the covariance's determinant. Largest error: 5 ULP in
// float64, 5 in float32, 1 in 16-bit floats.
func (d MultivariateNormal) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d MultivariateNormal, _ *graph.Array) *graph.Array {
		return graph.Add(float64(d.Loc.Dim(0))*(.5+halfLog2Pi), d.logDet())
	})
}

// KL is the divergence from q. Largest error: 2 ULP in float64, 2 in float32, 1 in 16-bit floats.
func (d MultivariateNormal) KL(q MultivariateNormal) *graph.Array {
	return inFloat32([2]MultivariateNormal{d, q}, nil, func(v [2]MultivariateNormal, _ *graph.Array) *graph.Array {
		d, q := v[0], v[1]
		apart := q.white(d.Loc.Sub(q.Loc).ExpandDims(0))
		across := linalg.TriangularSolve(q.Scale, graph.Tril(d.Scale, 0))
		// The diagonal of a quotient of triangular matrices is that of the diagonals. So the terms are positive, as
		// those of Normal.KL: nothing cancels where the distributions are close.
		ratio := diagonal(d.Scale).Div(diagonal(q.Scale))
		across = graph.Tril(across, -1)
		squares := ratio.Sub(1).Square().Sum().Add(across.Square().Sum()).Add(apart.Square().Sum())
		return special.KLDiv(1, ratio).Sum().Add(squares.Mul(.5))
	})
}

func diagonal(x *graph.Array) *graph.Array { return graph.Diagonal(x, 0, 1) }

// Mode is the most likely vector.
func (d MultivariateNormal) Mode() *graph.Array { return d.Loc }
