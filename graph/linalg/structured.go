package linalg

import "xlarun/graph"

// Toeplitz is the matrix whose diagonals are constant, with the first column c and the first row r (default: c's
// conjugate), of which the first element counts not: vectors [m] and [n] give [m, n]; a scalar is a vector of one.
func Toeplitz(c *graph.Array, r ...*graph.Array) *graph.Array {
	const name = "Toeplitz"
	row := graph.Conj(c)
	if len(r) > 0 {
		row = r[0]
	}
	if len(r) > 1 || c.Rank() > 1 || row.Rank() > 1 {
		graph.Throw(name, "got a column %s and a row %s, want one or two vectors", c.Shape(), row.Shape())
	}
	d := graph.Promote(c.DType(), row.DType())
	c, row = graph.Flatten1D(c.Convert(d)), graph.Flatten1D(row.Convert(d))
	m, n := c.Size(), row.Size()
	if m == 0 || n == 0 {
		return graph.Zeros(graph.ShapeOf(d, m, n))
	}
	// along the edge, from below to the right
	line := graph.Concatenate(0, graph.Reverse(c, 0), graph.SliceAxis(row, 0, 1, n))
	s := graph.ShapeOf(graph.Int32, m, n)
	return graph.Take(line, graph.IotaAxis(s, 1).Sub(graph.IotaAxis(s, 0)).Add(m-1), 0)
}

// BlockDiag is the matrix that has the given matrices along its diagonal and zeros elsewhere. Scalars and vectors
// are matrices of one row.
func BlockDiag(blocks ...*graph.Array) *graph.Array {
	if len(blocks) == 0 {
		graph.Throw("BlockDiag", "got no matrices")
	}
	d, width := blocks[0].DType(), 0
	rows := make([]*graph.Array, len(blocks))
	for i, b := range blocks {
		for b.Rank() < 2 {
			b = b.ExpandDims(0)
		}
		if b.Rank() > 2 {
			graph.Throw("BlockDiag", "got %s as number %d, want a matrix", b.Shape(), i)
		}
		rows[i], d, width = b, graph.Promote(d, b.DType()), width+b.Dim(1)
	}
	before := 0
	for i, b := range rows {
		rows[i] = graph.Pad(b.Convert(d), 0, []int{0, before}, []int{0, width - before - b.Dim(1)})
		before += b.Dim(1)
	}
	return graph.Concatenate(0, rows...)
}
