package graphtest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/third_party/oracles"
)

// linalgCase is one call of a linear algebra function of JAX: third_party/oracles/jax_linalg.py says what it holds.
type linalgCase struct {
	Op    string
	Attrs struct {
		Batch, Right, Upper, Transposed, Unit bool
		Kind                                  linalg.NormKind
	}
	Inputs, Outputs, Cotangents, Gradients []oracles.Array
}

func (c linalgCase) function() func(x []*Array) []*Array {
	return map[string]func(x []*Array) []*Array{
		"cholesky": func(x []*Array) []*Array { return []*Array{linalg.Cholesky(x[0])} },
		"triangular_solve": func(x []*Array) []*Array {
			var opts []linalg.TriangularOption
			for _, o := range []struct {
				on  bool
				opt linalg.TriangularOption
			}{{c.Attrs.Right, linalg.RightSide()}, {c.Attrs.Upper, linalg.UpperTriangle()}, {c.Attrs.Transposed,
				linalg.TransposedMatrix()},
				{c.Attrs.Unit, linalg.UnitDiagonal()}} {
				if o.on {
					opts = append(opts, o.opt)
				}
			}
			return []*Array{linalg.TriangularSolve(x[0], x[1], opts...)}
		},
		"solve":   func(x []*Array) []*Array { return []*Array{linalg.Solve(x[0], x[1])} },
		"inv":     func(x []*Array) []*Array { return []*Array{linalg.Inv(x[0])} },
		"det":     func(x []*Array) []*Array { return []*Array{linalg.Det(x[0])} },
		"slogdet": func(x []*Array) []*Array { s, l := linalg.SlogDet(x[0]); return []*Array{s, l} },
		"lu":      func(x []*Array) []*Array { lu, _, _ := linalg.LU(x[0]); return []*Array{lu} },
		"qr":      func(x []*Array) []*Array { q, r := linalg.QR(x[0]); return []*Array{q, r} },
		"eigh":    func(x []*Array) []*Array { w, v := linalg.Eigh(x[0]); return []*Array{w, v} },
		"svd": func(x []*Array) []*Array {
			u, s,
				vt := linalg.SVD(x[0])
			return []*Array{u, s, vt}
		},
		"norm": func(x []*Array) []*Array { return []*Array{linalg.MatrixNorm(x[0], c.Attrs.Kind)} },
	}[c.Op]
}

// Values and gradients of every function are JAX's: to 1e-10 in float64, in float32 as far as both may be off.
func TestLinalgAgainstJAX(t *testing.T) {
	var doc struct{ Cases []linalgCase }
	require.NoError(t, oracles.Read("../testdata/jax_linalg.json.gz", &doc))
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		t.Run(fmt.Sprint(i, " ", c.Op, " ", c.Inputs[0].DType, c.Inputs[0].Shape), func(t *testing.T) {
			f := c.function()
			require.NotNil(t, f)
			if c.Attrs.Batch {
				f = VMap(f)
			}
			in := append(fromOracles(c.Inputs), fromOracles(c.Cotangents)...)
			want := append(fromOracles(c.Outputs), fromOracles(c.Gradients)...)
			n := len(c.Inputs)
			y, pull := Vjp(f, in[:n])
			got := append(y, pull(in[n:])...)
			require.Len(t, got, len(want))
			tol := graphtest.Tolerance{Abs: 1e-10, Largest: 1e-10} // relative to the whole matrix
			if want[0].DType() == Float32 {
				tol = graphtest.Tolerance{Abs: 5e-5, Largest: 5e-5}
			}
			for k := range want {
				graphtest.Same(t, want[k], got[k], tol, "result ", k)
			}
		})
	}
}

// Second derivatives of a smooth function through each factorisation, against differences of first ones.
func TestSecondDerivatives(t *testing.T) {
	weights := func(x *Array) *Array { // no two alike
		return Sin(Add(Convert(Reshape(Iota(x.Size()), x.Dims()...), x.DType()), 1))
	}
	loss := func(outs ...*Array) *Array {
		total := Scalar(0, Float64)
		for _, o := range outs {
			total = Add(total, Sum(Mul(Square(o), weights(o))))
		}
		return total
	}
	for name, f := range map[string]func(*Array) *Array{
		"cholesky": func(x *Array) *Array { return loss(linalg.Cholesky(positive(x))) },
		"qr":       func(x *Array) *Array { q, r := linalg.QR(x); return loss(q, r) },
		"eigh":     func(x *Array) *Array { w, v := linalg.Eigh(apart(x)); return loss(w, v) },
		"eig": func(x *Array) *Array {
			e := linalg.Eig(apart(x))
			return loss(e.Re, e.Im, e.VectorsRe, e.VectorsIm)
		},
		"svd":     func(x *Array) *Array { u, s, vt := linalg.SVD(apart(x)); return loss(u, s, vt) },
		"lu":      func(x *Array) *Array { lu, _, _ := linalg.LU(apart(x)); return loss(lu) },
		"inverse": func(x *Array) *Array { return loss(linalg.Inv(apart(x))) },
		"logdet":  func(x *Array) *Array { return linalg.LogDet(x) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, 9))
			draw := func() *Array { return Case{Lo: -2, Hi: 2}.Input(r, ShapeOf(Float64, 4, 4)) }
			x, p := draw(), draw()
			_, hvp := Jvp(Grad(f), x, p)
			const h = 1e-5
			up, down := Grad(f)(x.Add(p.Mul(h))), Grad(f)(x.Sub(p.Mul(h)))
			graphtest.Same(t, up.Sub(down).Div(2*h), hvp, graphtest.Tolerance{Abs: 1e-5, Largest: 1e-5})
		})
	}
}

// positive makes a positive definite matrix of a square one, apart one whose eigenvalues lie well apart.
func positive(x *Array) *Array {
	return MatMul(x, MatrixTranspose(x)).Add(Eye(x.DType(), x.Dim(0)))
}

func apart(x *Array) *Array {
	return x.Add(Diag(Iota(x.Dim(0)).Convert(x.DType()).Mul(3)))
}

// Systems of a singular matrix.
func TestSingularSystems(t *testing.T) {
	x := Float64s([]float64{1, 2, 0, 0, 2, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 4)
	sign, log := linalg.SlogDet(x)
	for i, y := range []*Array{sign, log, linalg.Det(x)} {
		v := graphtest.Floats(t, y)
		require.Equal(t, []float64{[]float64{0, math.Inf(-1), 0}[i]}, v)
	}
	v := graphtest.Floats(t, linalg.Solve(x, Ones(ShapeOf(Float64, 4))))
	require.True(t, math.IsInf(v[0], 0) || math.IsNaN(v[0]))
}

func TestLinalgErrors(t *testing.T) {
	m := func(dims ...int) *Array { return Ones(ShapeOf(Float32, dims...)) }
	for want, f := range map[string]func(){
		"want a square matrix":           func() { linalg.Cholesky(m(2, 3)) },
		"use VMap for a batch":           func() { linalg.Lstsq(m(2, 2, 2), m(2)) },
		"convert it to float32":          func() { linalg.Eigh(Ones(ShapeOf(BFloat16, 2, 2))) },
		"want one of dims [2] or [2, k]": func() { linalg.Solve(m(2, 2), m(3)) },
		"want one of dims [2] or [k, 2]": func() { linalg.TriangularSolve(m(2, 2), m(2, 3), linalg.RightSide()) },
		`got the kind "max"`:             func() { linalg.MatrixNorm(m(2, 2), "max") },
		"want at least two axes":         func() { Tril(m(3), 0) },
	} {
		err := Try(f)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "linalg_jax_test.go:")
	}
}

// The error of leading axes that do not broadcast names the op that was called.
func TestStackedSystemsNameTheirOp(t *testing.T) {
	a, b := Ones(ShapeOf(Float32, 3, 2, 2)), Ones(ShapeOf(Float32, 4, 2, 1))
	for name, solve := range map[string]func(){
		"Solve":           func() { linalg.Solve(a, b) },
		"TriangularSolve": func() { linalg.TriangularSolve(a, b) },
	} {
		var e *Error
		require.ErrorAs(t, Try(solve), &e)
		require.Equal(t, name, e.Op)
	}
}
