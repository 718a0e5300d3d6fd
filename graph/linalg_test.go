package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/oracles"
)

// linalgCase is one call of a linear algebra function of JAX: third_party/oracles/jax_linalg.py says what it holds.
type linalgCase struct {
	Op    string
	Attrs struct {
		Batch, Right, Upper, Transposed, Unit bool
		Kind                                  NormKind
	}
	Inputs, Outputs, Cotangents, Gradients []oracles.Array
}

func (c linalgCase) function() func(x []*Array) []*Array {
	return map[string]func(x []*Array) []*Array{
		"cholesky": func(x []*Array) []*Array { return []*Array{Cholesky(x[0])} },
		"triangular_solve": func(x []*Array) []*Array {
			var opts []TriangularOption
			for _, o := range []struct {
				on  bool
				opt TriangularOption
			}{{c.Attrs.Right, RightSide()}, {c.Attrs.Upper, UpperTriangle()}, {c.Attrs.Transposed, TransposedMatrix()},
				{c.Attrs.Unit, UnitDiagonal()}} {
				if o.on {
					opts = append(opts, o.opt)
				}
			}
			return []*Array{TriangularSolve(x[0], x[1], opts...)}
		},
		"solve":   func(x []*Array) []*Array { return []*Array{Solve(x[0], x[1])} },
		"inv":     func(x []*Array) []*Array { return []*Array{Inverse(x[0])} },
		"det":     func(x []*Array) []*Array { return []*Array{Det(x[0])} },
		"slogdet": func(x []*Array) []*Array { s, l := SlogDet(x[0]); return []*Array{s, l} },
		"lu":      func(x []*Array) []*Array { lu, _, _ := LU(x[0]); return []*Array{lu} },
		"qr":      func(x []*Array) []*Array { q, r := QR(x[0]); return []*Array{q, r} },
		"eigh":    func(x []*Array) []*Array { w, v := Eigh(x[0]); return []*Array{w, v} },
		"svd":     func(x []*Array) []*Array { u, s, vt := SVD(x[0]); return []*Array{u, s, vt} },
		"norm":    func(x []*Array) []*Array { return []*Array{MatrixNorm(x[0], c.Attrs.Kind)} },
	}[c.Op]
}

// Values and gradients of every function are JAX's: to 1e-10 in float64, in float32 as far as both may be off.
func TestLinalgAgainstJAX(t *testing.T) {
	var doc struct{ Cases []linalgCase }
	require.NoError(t, oracles.Read("testdata/jax_linalg.json.gz", &doc))
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		t.Run(fmt.Sprint(i, " ", c.Op, " ", c.Inputs[0].DType, c.Inputs[0].Shape), func(t *testing.T) {
			f := c.function()
			require.NotNil(t, f)
			if c.Attrs.Batch {
				f = VMap(f)
			}
			var in, want []*Tensor
			read := func(arrays []oracles.Array) (out []*Tensor) {
				for _, a := range arrays {
					x, err := ToTensor(fromJAX(a))
					require.NoError(t, err)
					out = append(out, x)
				}
				return out
			}
			in = append(read(c.Inputs), read(c.Cotangents)...)
			want = append(read(c.Outputs), read(c.Gradients)...)
			n := len(c.Inputs)
			got := run1(t, c.Op, func(x []*Array) any {
				y, pull := Vjp(f, x[:n])
				return append(y, pull(x[n:])...)
			}, in)
			require.Len(t, got, len(want))
			tol := 1e-10
			if want[0].Shape.DType == Float32 {
				tol = 5e-5
			}
			for k := range want {
				sameMatrix(t, want[k], got[k], tol, fmt.Sprint("result ", k))
			}
		})
	}
}

// sameMatrix compares within tol of the largest element: errors of a factorisation are relative to the whole matrix.
func sameMatrix(t *testing.T, want, got *Tensor, tol float64, msg string) {
	t.Helper()
	require.Equal(t, want.Shape.String(), got.Shape.String(), msg)
	top := 1.0
	for i := range want.V {
		top = math.Max(top, math.Abs(want.F(i)))
	}
	for i := range want.V {
		require.InDelta(t, want.F(i), got.F(i), tol*top, "%s, element %d", msg, i)
	}
}

// randomDense draws a matrix with elements of the given size.
func randomDense(r *rand.Rand, d DType, rows, cols int, scale float64) *Tensor {
	x := newTensor(ShapeOf(d, rows, cols))
	for i := range x.V {
		x.SetF(i, scale*r.NormFloat64())
	}
	return x
}

func toDense(x *Tensor) dense { return dense{x.Shape.Dims[0], x.Shape.Dims[1], x.Floats()} }

func multiply(a, b dense) dense {
	out := newDense(a.rows, b.cols)
	for i := range a.rows {
		for j := range b.cols {
			for k := range a.cols {
				out.v[i*b.cols+j] += a.at(i, k) * b.at(k, j)
			}
		}
	}
	return out
}

func nearDense(t *testing.T, want, got dense, tol float64, msg string) {
	t.Helper()
	require.Equal(t, []int{want.rows, want.cols}, []int{got.rows, got.cols}, msg)
	for i := range want.v {
		require.InDelta(t, want.v[i], got.v[i], tol, "%s: element %d", msg, i)
	}
}

func isOrthonormal(t *testing.T, columns dense, tol float64) {
	t.Helper()
	nearDense(t, identity(columns.cols), multiply(columns.transposed(), columns), tol, "orthonormal columns")
}

// scales are sizes of elements: plain, and those whose squares overflow or vanish in float32.
var scales = []float64{1, 1e-25, 1e25}

// The programs that stand for a factorisation on XLA, here op by op on the interpreter: the factors have the shape and
// the properties that define them, and give the matrix back. So do those of the plain Go references.
func TestFactorisations(t *testing.T) {
	shapes := [][2]int{{1, 1}, {2, 2}, {3, 3}, {8, 8}, {9, 9}, {5, 2}, {2, 5}, {1, 3}, {6, 5}}
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range []DType{Float32, Float64} {
		tol := 40 * Finfo(d).Eps
		for _, scale := range scales {
			for _, s := range shapes {
				x := randomDense(r, d, s[0], s[1], scale)
				name := fmt.Sprint(dtypeName(d), s, scale)
				back := func(t *testing.T, got dense) {
					t.Helper()
					nearDense(t, toDense(x), got, tol*scale*math.Sqrt(float64(s[0]*s[1])), "the matrix")
				}
				t.Run("qr "+name, func(t *testing.T) {
					for _, f := range []func(*Array) (q, r *Array){QR, householder} {
						out := run1(t, "qr", func(a []*Array) any {
							q, r := f(a[0])
							return []*Array{q, r}
						}, []*Tensor{x})
						q, r := toDense(out[0]), toDense(out[1])
						isOrthonormal(t, q, tol)
						back(t, multiply(q, r))
						require.Equal(t, r, toDense(out[1]).upper())
					}
				})
				t.Run("svd "+name, func(t *testing.T) {
					for _, f := range []func(*Array) (u, s, vt *Array){SVD, jacobiSVD} {
						out := run1(t, "svd", func(a []*Array) any {
							u, s, vt := f(a[0])
							return []*Array{u, s, vt}
						}, []*Tensor{x})
						u, vt := toDense(out[0]), toDense(out[2])
						isOrthonormal(t, u, tol)
						isOrthonormal(t, vt.transposed(), tol)
						require.IsNonIncreasing(t, out[1].Floats())
						require.GreaterOrEqual(t, out[1].F(len(out[1].V)-1), 0.)
						for j, v := range out[1].Floats() {
							u.scaleColumn(j, v)
						}
						back(t, multiply(u, vt))
					}
				})
				if s[0] != s[1] {
					continue
				}
				t.Run("lu "+name, func(t *testing.T) {
					blocks := func(a *Array) (lu, pivots, permutation *Array) { return luBlocks(a, 3, luPanel) }
					for _, f := range []func(*Array) (lu, pivots, permutation *Array){LU, blocks} {
						out := run1(t, "lu", func(a []*Array) any {
							lu, p, q := f(a[0])
							return []*Array{lu, p, q}
						}, []*Tensor{x})
						lu := toDense(out[0])
						l := lu.clone().lower()
						rows := newDense(s[0], s[1])
						for i := range s[0] {
							l.set(i, i, 1)
							copy(rows.v[int(out[2].I(i))*s[1]:], multiply(dense{1, s[0], l.v[i*s[0] : (i+1)*s[0]]},
								lu.upper()).v)
						}
						back(t, rows)
					}
				})
				t.Run("eigh "+name, func(t *testing.T) {
					for i := range s[0] {
						for j := range i {
							x.V[i*s[0]+j] = x.V[j*s[0]+i]
						}
					}
					for _, f := range []func(*Array) (w, v *Array){Eigh, jacobiEigh, takenEigh} {
						out := run1(t, "eigh", func(a []*Array) any {
							w, v := f(a[0])
							return []*Array{w, v}
						}, []*Tensor{x})
						v := toDense(out[1])
						isOrthonormal(t, v, tol)
						require.IsNonDecreasing(t, out[0].Floats())
						scaled := v.clone()
						for j, w := range out[0].Floats() {
							scaled.scaleColumn(j, w)
						}
						back(t, multiply(scaled, v.transposed()))
					}
				})
			}
		}
	}
}

func (m dense) upper() dense { return m.transposed().lower().transposed() }

// takenEigh is Eigh as a GPU gets it.
func takenEigh(a *Array) (w, v *Array) { return jacobiEighBy(takenPairs, a) }

// Rows that are turned by their numbers have the same results as slices, to the bit.
func TestPairings(t *testing.T) {
	for n := 2; n <= 9; n++ {
		x := randomDense(rand.New(rand.NewPCG(7, uint64(n))), Float32, n, n, 1)
		decompose := func(by pairing) []*Tensor {
			return run1(t, "eigh", func(a []*Array) any {
				w, v := jacobiEighBy(by, Add(a[0], MatrixTranspose(a[0])))
				return []*Array{w, v}
			}, []*Tensor{x})
		}
		want, got := decompose(slicedPairs), decompose(takenPairs)
		require.Equal(t, want[0].V, got[0].V, "%d", n)
		require.Equal(t, want[1].V, got[1].V, "%d", n)
	}
}

// Blocks of LU are as no blocks.
func TestLUBlocks(t *testing.T) {
	x := randomDense(rand.New(rand.NewPCG(5, 6)), Float64, 15, 15, 1)
	out := run1(t, "lu", func(a []*Array) any {
		lu, p, q := luBlocks(a[0], 6, luPanel)
		return []*Array{lu, p, q}
	}, []*Tensor{x})
	lu, pivots, permutation := luReference(toDense(x))
	nearDense(t, lu, toDense(out[0]), 1e-11, "lu")
	require.Equal(t, pivots, out[1].Floats())
	require.Equal(t, permutation, out[2].Floats())
}

// Matrices at the edge: what a factorisation says of them, in the interpreter and by the programs for XLA.
func TestDegenerateMatrices(t *testing.T) {
	one := func(t *testing.T, f func(*Array) []*Array, rows ...[]float64) [][]float64 {
		t.Helper()
		var out [][]float64
		require.NoError(t, Try(func() {
			for _, y := range f(Float64s(slices.Concat(rows...), len(rows), len(rows[0]))) {
				v, err := Floats(y)
				require.NoError(t, err)
				out = append(out, v)
			}
		}))
		return out
	}
	nan := math.NaN()
	t.Run("cholesky of a matrix that is not positive definite", func(t *testing.T) {
		out := one(t, func(a *Array) []*Array { return []*Array{Cholesky(a)} }, []float64{1, 2}, []float64{2, 1})
		require.Equal(t, fmt.Sprint([]float64{nan, 0, nan, nan}), fmt.Sprint(out[0]))
	})
	t.Run("eigh with equal eigenvalues", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array){Eigh, jacobiEigh, takenEigh} {
			out := one(t, func(a *Array) []*Array {
				w, v := f(a)
				return []*Array{w, v}
			}, []float64{2, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 2})
			require.Equal(t, []float64{1, 2, 2}, out[0])
			isOrthonormal(t, dense{3, 3, out[1]}, 1e-15)
		}
	})
	t.Run("eigh of zero and of NaN", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array){Eigh, jacobiEigh, takenEigh} {
			out := one(t, func(a *Array) []*Array {
				w, v := f(a)
				return []*Array{w, v}
			}, []float64{0, 0}, []float64{0, 0})
			require.Equal(t, [][]float64{{0, 0}, {1, 0, 0, 1}}, out)
			out = one(t, func(a *Array) []*Array {
				w, v := f(a)
				return []*Array{w, v}
			}, []float64{1, nan}, []float64{nan, 0})
			require.Equal(t, fmt.Sprint([]float64{nan, nan}), fmt.Sprint(out[0]))
			require.Equal(t, fmt.Sprint([]float64{nan, nan, nan, nan}), fmt.Sprint(out[1]))
		}
	})
	t.Run("svd of what is not finite", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array, *Array){SVD, jacobiSVD} {
			for _, rows := range [][][]float64{{{nan}}, {{math.Inf(-1)}}, {{1, math.Inf(1)}}, {{1}, {nan}},
				{{1, 0}, {0, math.Inf(1)}}, {{1, 2, 3}, {4, math.Inf(-1), 5}}, {{1, 2}, {3, 4}, {nan, 5}}} {
				for _, v := range one(t, func(a *Array) []*Array {
					u, s, vt := f(a)
					return []*Array{u, s, vt}
				}, rows...) {
					for _, x := range v {
						require.True(t, math.IsNaN(x), "%v gives %v", rows, v)
					}
				}
			}
		}
	})
	t.Run("svd of rank one", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array, *Array){SVD, jacobiSVD} {
			out := one(t, func(a *Array) []*Array {
				u, s, vt := f(a)
				return []*Array{u, s, vt}
			}, []float64{1, 2, 3}, []float64{2, 4, 6}, []float64{-1, -2, -3}, []float64{0, 0, 0})
			isOrthonormal(t, dense{4, 3, out[0]}, 1e-13)
			isOrthonormal(t, dense{3, 3, out[2]}.transposed(), 1e-13)
			require.InDelta(t, math.Sqrt(6*14), out[1][0], 1e-13)
			require.InDelta(t, 0, out[1][1], 1e-13)
		}
	})
	t.Run("svd keeps small singular values", func(t *testing.T) { // by way of x^T x the last one would be lost
		for _, f := range []func(*Array) (*Array, *Array, *Array){SVD, jacobiSVD} {
			out := one(t, func(a *Array) []*Array {
				_, s, _ := f(a)
				return []*Array{s}
			}, []float64{1, 1}, []float64{1, 1 + 1e-11})
			require.InDelta(t, 5e-12, out[0][1], 1e-16)
		}
	})
	t.Run("qr leaves a column of zeros alone", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array){QR, householder} {
			out := one(t, func(a *Array) []*Array {
				q, r := f(a)
				return []*Array{q, r}
			}, []float64{0, 1}, []float64{0, 2})
			isOrthonormal(t, dense{2, 2, out[0]}, 1e-15)
			require.Equal(t, []float64{0, 1, 0, 2}, out[1])
		}
	})
	t.Run("singular systems", func(t *testing.T) {
		out := one(t, func(a *Array) []*Array {
			sign, log := SlogDet(a)
			return []*Array{sign, log, Det(a), Solve(a, Ones(ShapeOf(Float64, 4)))}
		}, []float64{1, 2, 0, 0}, []float64{2, 4, 0, 0}, []float64{0, 0, 1, 0}, []float64{0, 0, 0, 1})
		require.Equal(t, []float64{0}, out[0])
		require.Equal(t, []float64{math.Inf(-1)}, out[1])
		require.Equal(t, []float64{0}, out[2])
		require.True(t, math.IsInf(out[3][0], 0) || math.IsNaN(out[3][0]))
	})
}

// Second derivatives of a smooth function through each factorisation, against differences of first ones.
func TestSecondDerivatives(t *testing.T) {
	weights := func(x *Array) *Array { // no two alike
		return Sin(Add(Convert(Reshape(Iota(x.Size()), x.Dims()...), x.DType()), 1))
	}
	loss := func(outs ...*Array) *Array {
		total := scalar64(0)
		for _, o := range outs {
			total = Add(total, Sum(Mul(Square(o), weights(o))))
		}
		return total
	}
	for name, f := range map[string]func(*Array) *Array{
		"cholesky": func(x *Array) *Array { return loss(Cholesky(positive(x))) },
		"qr":       func(x *Array) *Array { q, r := QR(x); return loss(q, r) },
		"eigh":     func(x *Array) *Array { w, v := Eigh(apart(x)); return loss(w, v) },
		"eig":      func(x *Array) *Array { return loss(Eig(apart(x)).parts()...) },
		"svd":      func(x *Array) *Array { u, s, vt := SVD(apart(x)); return loss(u, s, vt) },
		"lu":       func(x *Array) *Array { lu, _, _ := LU(apart(x)); return loss(lu) },
		"inverse":  func(x *Array) *Array { return loss(Inverse(apart(x))) },
		"logdet":   func(x *Array) *Array { return LogDet(x) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, 9))
			x, p := randomDense(r, Float64, 4, 4, 1), randomDense(r, Float64, 4, 4, 1)
			hvp := run1(t, "hvp", func(a []*Array) any {
				_, d := Jvp(Grad(f), a[0], a[1])
				return d
			}, []*Tensor{x, p})[0]
			const h = 1e-5
			moved := func(h float64) *Tensor {
				y := newTensor(x.Shape)
				for i := range y.V {
					y.SetF(i, x.F(i)+h*p.F(i))
				}
				return run1(t, "grad", func(a []*Array) any { return Grad(f)(a[0]) }, []*Tensor{y})[0]
			}
			up, down := moved(h), moved(-h)
			want := newTensor(x.Shape)
			for i := range want.V {
				want.SetF(i, (up.F(i)-down.F(i))/(2*h))
			}
			sameMatrix(t, want, hvp, 1e-5, "Hessian-vector product")
		})
	}
}

// A matrix that all lanes share is factored and used once: lanes become further right-hand sides.
func TestSharedMatrix(t *testing.T) {
	a := Abstract(ShapeOf(Float32, 3, 3))
	b := Abstract(ShapeOf(Float32, 5, 3))
	for name, f := range map[string]func(a, b *Array) *Array{
		"solve":            Solve,
		"triangular_solve": func(a, b *Array) *Array { return TriangularSolve(a, b) },
	} {
		p, err := Trace2(name, func(a, b *Array) *Array { return VMap2(f, InAxes(Unmapped, 0))(a, b) }, a, b)
		require.NoError(t, err)
		found := false
		for _, n := range p.Graph.Nodes {
			if n.Op.Name == name {
				found = true
				require.Equal(t, "f32[3,3]", n.Inputs[0].shape.String())
				require.Equal(t, "f32[3,5]", n.Outs[0].shape.String())
			}
		}
		require.True(t, found, p.Graph.String())
	}
}

func TestLinalgErrors(t *testing.T) {
	m := func(dims ...int) *Array { return Ones(ShapeOf(Float32, dims...)) }
	for want, f := range map[string]func(){
		"want a square matrix":           func() { Cholesky(m(2, 3)) },
		"use VMap for a batch":           func() { Lstsq(m(2, 2, 2), m(2)) },
		"convert it to float32":          func() { Eigh(Ones(ShapeOf(BFloat16, 2, 2))) },
		"want one of dims [2] or [2, k]": func() { Solve(m(2, 2), m(3)) },
		"want one of dims [2] or [k, 2]": func() { TriangularSolve(m(2, 2), m(2, 3), RightSide()) },
		`got the kind "max"`:             func() { MatrixNorm(m(2, 2), "max") },
		"want at least two axes":         func() { Tril(m(3), 0) },
	} {
		err := Try(f)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "linalg_test.go:")
	}
}

// The error of leading axes that do not broadcast names the op that was called.
func TestStackedSystemsNameTheirOp(t *testing.T) {
	a, b := Ones(ShapeOf(Float32, 3, 2, 2)), Ones(ShapeOf(Float32, 4, 2, 1))
	for name, solve := range map[string]func(){
		"Solve":           func() { Solve(a, b) },
		"TriangularSolve": func() { TriangularSolve(a, b) },
	} {
		var e *Error
		require.ErrorAs(t, Try(solve), &e)
		require.Equal(t, name, e.Op)
	}
}
