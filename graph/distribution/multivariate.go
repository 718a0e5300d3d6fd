package distribution

import (
	"xlarun/graph"
	"xlarun/graph/random"
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
	return MultivariateNormal{p[0], graph.Cholesky(covariance.Convert(p[0].DType()))}
}

// Sample draws loc + Scale z, z normal: random.MultivariateNormal. The result is [dims…, n].
func (d MultivariateNormal) Sample(key random.Key, dims ...int) *graph.Array {
	z := random.Normal(key, drawShape(d.Loc, dims))
	return d.Loc.Add(z.Dot(graph.MatrixTranspose(graph.Tril(d.Scale, 0))))
}

// white solves Scale y = x for rows x [rows, n].
func (d MultivariateNormal) white(rows *graph.Array) *graph.Array {
	return graph.MatrixTranspose(graph.TriangularSolve(d.Scale, graph.MatrixTranspose(rows)))
}

// logDet is half of the logarithm of the covariance's determinant.
func (d MultivariateNormal) logDet() *graph.Array {
	return graph.Diagonal(d.Scale, 0, 1).Log().Sum()
}

// LogProb is the logarithm of the density of the vectors x […, n].
func (d MultivariateNormal) LogProb(x *graph.Array) *graph.Array {
	const op = "distribution.MultivariateNormal"
	n := d.Loc.Dim(0)
	d, x = promoted(op, d, x)
	if x.Rank() == 0 || x.Dim(-1) != n {
		graph.Throw(op, "got values %s, want […, %d]", x.Shape(), n)
	}
	dims := x.Dims()[:x.Rank()-1]
	z := d.white(x.Sub(d.Loc).Reshape(graph.ShapeOf(graph.Int32, dims...).Size(), n))
	y := graph.Mul(-.5, z.Square().Sum(-1)).Sub(graph.Add(float64(n)*halfLog2Pi, d.logDet()))
	return y.Reshape(dims...)
}

// Entropy is n (1 + log 2 pi)/2 plus half of the logarithm of the covariance's determinant.
func (d MultivariateNormal) Entropy() *graph.Array {
	return graph.Add(float64(d.Loc.Dim(0))*(.5+halfLog2Pi), d.logDet())
}

// KL is the divergence from q. It is a difference of larger numbers: of close distributions few digits are right, or
// none.
func (d MultivariateNormal) KL(q MultivariateNormal) *graph.Array {
	n := float64(d.Loc.Dim(0))
	apart := q.white(d.Loc.Sub(q.Loc).ExpandDims(0))
	ratio := graph.TriangularSolve(q.Scale, graph.Tril(d.Scale, 0))
	squares := ratio.Square().Sum().Add(apart.Square().Sum())
	return graph.Mul(.5, squares.Sub(n)).Add(q.logDet().Sub(d.logDet()))
}

// Mode is the most likely vector.
func (d MultivariateNormal) Mode() *graph.Array { return d.Loc }
