package nn

import (
	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
)

// Orthogonal draws a matrix with orthonormal columns, or rows where there are fewer of them, times scale: the columns
// are the last axis, the rows all other axes together (Saxe et al., "Exact solutions to the nonlinear dynamics of
// learning in deep linear neural networks", 2014). It is uniform over such matrices (Mezzadri, "How to generate random
// matrices from the classical compact groups", 2007).
func Orthogonal(scale float64) Initializer {
	return func(key random.Key, shape graph.Shape) *graph.Array {
		if shape.Rank() < 2 {
			graph.Throw("nn.Orthogonal", "got the shape %s, want at least the axes [in, out]", shape)
		}
		if shape.Size() == 0 {
			return graph.Zeros(shape)
		}
		columns := shape.Dims[shape.Rank()-1]
		rows := shape.Size() / columns
		draw := graph.ShapeOf(shape.DType, max(rows, columns), min(rows, columns))
		if graph.ItemSize(shape.DType) < 4 {
			draw.DType = graph.Float32
		}
		q := orthonormal(random.Normal(key, draw))
		if rows < columns {
			q = q.Transpose(1, 0)
		}
		return q.Reshape(shape.Dims...).Mul(scale).Convert(shape.DType)
	}
}

// orthonormal is the factor Q of a = Q·R, a [m, n], m >= n, with the signs that make the diagonal of R positive: that Q
// is unique.
func orthonormal(a *graph.Array) *graph.Array {
	q, r := linalg.QR(a)
	diagonal := r.Mul(graph.Eye(r.DType(), r.Dim(0))).Sum(1)
	return q.Mul(graph.Select(diagonal.Lt(0), -1.0, graph.OnesLike(diagonal)))
}
