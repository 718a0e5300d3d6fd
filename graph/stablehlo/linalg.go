package stablehlo

import (
	"regexp"

	"xlarun/graph"
	"xlarun/graph/linalg"
)

// wantMatrices refuses operands that are no matrices or stacks of them.
func (m *importer) wantMatrices(o *op, x []*graph.Array) []*graph.Array {
	for _, a := range x {
		if a.Rank() < 2 {
			m.refuse(o, "it has %s, want matrices", a.Shape())
		}
	}
	return x
}

// matrices applies a function of single matrices to arrays with leading axes.
func matrices(rank int, f func(x []*graph.Array) []*graph.Array, x []*graph.Array) []*graph.Array {
	if rank == 2 {
		return f(x)
	}
	return graph.VMap(func(x []*graph.Array) []*graph.Array { return matrices(rank-1, f, x) })(x)
}

func cholesky(m *importer, o *op, s *scope) []*graph.Array {
	x := m.wantMatrices(o, m.exactly(o, s, 1))
	lower := o.word("lower") == "true"
	return matrices(x[0].Rank(), func(x []*graph.Array) []*graph.Array {
		l := linalg.Cholesky(triangle(x[0], lower))
		if !lower {
			l = graph.MatrixTranspose(l)
		}
		return []*graph.Array{l}
	}, x)
}

// triangle is the symmetric matrix of which one triangle is read.
func triangle(x *graph.Array, lower bool) *graph.Array {
	if lower {
		return graph.Add(graph.Tril(x, 0), graph.MatrixTranspose(graph.Tril(x, -1)))
	}
	return graph.Add(graph.Triu(x, 0), graph.MatrixTranspose(graph.Triu(x, 1)))
}

func triangularSolve(m *importer, o *op, s *scope) []*graph.Array {
	x := m.wantMatrices(o, m.exactly(o, s, 2))
	return solveTriangle(x, o.word("left_side") != "true", o.word("lower") != "true", o.word("transpose_a") !=
		"NO_TRANSPOSE", o.word("unit_diagonal") == "true")
}

func solveTriangle(x []*graph.Array, right, upper, transposed, unit bool) []*graph.Array {
	var options []linalg.TriangularOption
	for _, c := range []struct {
		set    bool
		option linalg.TriangularOption
	}{{right, linalg.RightSide()}, {upper, linalg.UpperTriangle()}, {transposed, linalg.TransposedMatrix()},
		{unit, linalg.UnitDiagonal()}} {
		if c.set {
			options = append(options, c.option)
		}
	}
	return matrices(x[0].Rank(), func(x []*graph.Array) []*graph.Array {
		return []*graph.Array{linalg.TriangularSolve(x[0], x[1], options...)}
	}, x)
}

// lapack are the functions of LAPACK that JAX calls on CPUs, by name without the letter of the dtype. They return a
// number that is 0 where all went well.
var lapack = map[string]func(m *importer, o *op, x []*graph.Array) []*graph.Array{
	"potrf": func(m *importer, o *op, x []*graph.Array) []*graph.Array {
		if m.scalar(o, "uplo") != 'L' {
			m.refuse(o, "want the lower triangle")
		}
		l := linalg.Cholesky(triangle(x[0], true))
		return []*graph.Array{l, graph.Scalar(0, graph.Int32)}
	},
	"getrf": func(m *importer, o *op, x []*graph.Array) []*graph.Array {
		lu, pivots, _ := linalg.LU(x[0])
		return []*graph.Array{lu, pivots.Add(1), graph.Scalar(0, graph.Int32)}
	},
	"syevd": func(m *importer, o *op, x []*graph.Array) []*graph.Array {
		w, v := linalg.Eigh(triangle(x[0], m.scalar(o, "uplo") == 'L'))
		return []*graph.Array{v, w, graph.Scalar(0, graph.Int32)}
	},
	"gesdd": func(m *importer, o *op, x []*graph.Array) []*graph.Array {
		u, w, v := linalg.SVD(x[0])
		if rows, columns := x[0].Dim(0), x[0].Dim(1); m.scalar(o, "mode") == 'A' && rows != columns {
			m.refuse(o, "the full matrices of an SVD of %d by %d are not known here: export it with "+
				"full_matrices=False", rows, columns)
		}
		if m.scalar(o, "mode") == 'N' { // singular values only: the file gives the vectors a shape all the same
			out, err := resultShapes(o)
			if err != nil || len(out) != 5 {
				m.refuse(o, "it has %d results, want 5", len(out))
			}
			u, v = matrixZeros(out[2]), matrixZeros(out[3])
		}
		return []*graph.Array{x[0], w, u, v, graph.Scalar(0, graph.Int32)}
	},
}

// matrixZeros are zeros of the last two axes of a shape.
func matrixZeros(s graph.Shape) *graph.Array {
	return graph.Zeros(graph.ShapeOf(s.DType, s.Dims[max(0, len(s.Dims)-2):]...))
}

// lapackPattern are functions of float32 and float64.
var lapackPattern = regexp.MustCompile(`^lapack_[sd](\w+)_ffi$`)

// customCall is a call of LAPACK.
func customCall(m *importer, o *op, s *scope) []*graph.Array {
	target := o.target()
	name := lapackPattern.ReplaceAllString(target, "$1")
	x := m.operands(o, s)
	operands := map[string]int{"trsm": 2, "geqrf": 1, "orgqr": 2}[name]
	if lapack[name] != nil {
		operands = 1
	}
	if operands == 0 || len(x) != operands {
		m.refuse(o, "calls of %s are not known here", short(target))
	}
	m.wantMatrices(o, x[:1])
	switch {
	case name == "trsm":
		return solveTriangle(x, m.scalar(o, "side") == 'R', m.scalar(o, "uplo") == 'U', m.scalar(o, "trans_x") != 'N',
			m.scalar(o, "diag") == 'U')
	case name == "geqrf": // its first result has R, from which orgqr makes Q
		return m.factor(x[0])
	case name == "orgqr":
		if q := m.factors[x[0]]; q != nil {
			return []*graph.Array{q}
		}
		m.refuse(o, "Q is known only of jnp.linalg.qr with mode=\"reduced\" and at least as many rows as columns: of "+
			"m rows and more columns, export qr of x[:, :m]")
	}
	return matrices(x[0].Rank(), func(x []*graph.Array) []*graph.Array { return lapack[name](m, o, x) }, x)
}

// factor is LAPACK's geqrf: R, and factors of no use, because orgqr finds Q by R.
func (m *importer) factor(x *graph.Array) []*graph.Array {
	rows, columns := x.Dim(-2), x.Dim(-1)
	out := matrices(x.Rank(), func(x []*graph.Array) []*graph.Array {
		q, r := linalg.QR(x[0])
		if rows > columns {
			r = graph.Concatenate(0, r, graph.Zeros(graph.ShapeOf(x[0].DType(), rows-columns, columns)))
		}
		return []*graph.Array{r, graph.Zeros(graph.ShapeOf(x[0].DType(), min(rows, columns))), q}
	}, []*graph.Array{x})
	m.factors[out[0]] = out[2]
	return out[:2]
}
