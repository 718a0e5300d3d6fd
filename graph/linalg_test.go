package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

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
					for _, f := range []func(*Array) (q, r *Array){Linalg.QR, householder} {
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
					for _, f := range []func(*Array) (u, s, vt *Array){Linalg.SVD, jacobiSVD} {
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
					for _, f := range []func(*Array) (lu, pivots, permutation *Array){Linalg.LU, blocks} {
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
					for _, f := range []func(*Array) (w, v *Array){Linalg.Eigh, jacobiEigh, takenEigh} {
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
				v := floatsOf(t, y)
				out = append(out, v)
			}
		}))
		return out
	}
	nan := math.NaN()
	t.Run("cholesky of a matrix that is not positive definite", func(t *testing.T) {
		out := one(t, func(a *Array) []*Array { return []*Array{Linalg.Cholesky(a)} }, []float64{1, 2}, []float64{2, 1})
		require.Equal(t, fmt.Sprint([]float64{nan, 0, nan, nan}), fmt.Sprint(out[0]))
	})
	t.Run("eigh with equal eigenvalues", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array){Linalg.Eigh, jacobiEigh, takenEigh} {
			out := one(t, func(a *Array) []*Array {
				w, v := f(a)
				return []*Array{w, v}
			}, []float64{2, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 2})
			require.Equal(t, []float64{1, 2, 2}, out[0])
			isOrthonormal(t, dense{3, 3, out[1]}, 1e-15)
		}
	})
	t.Run("eigh of zero and of NaN", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array){Linalg.Eigh, jacobiEigh, takenEigh} {
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
		for _, f := range []func(*Array) (*Array, *Array, *Array){Linalg.SVD, jacobiSVD} {
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
		for _, f := range []func(*Array) (*Array, *Array, *Array){Linalg.SVD, jacobiSVD} {
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
		for _, f := range []func(*Array) (*Array, *Array, *Array){Linalg.SVD, jacobiSVD} {
			out := one(t, func(a *Array) []*Array {
				_, s, _ := f(a)
				return []*Array{s}
			}, []float64{1, 1}, []float64{1, 1 + 1e-11})
			require.InDelta(t, 5e-12, out[0][1], 1e-16)
		}
	})
	t.Run("qr leaves a column of zeros alone", func(t *testing.T) {
		for _, f := range []func(*Array) (*Array, *Array){Linalg.QR, householder} {
			out := one(t, func(a *Array) []*Array {
				q, r := f(a)
				return []*Array{q, r}
			}, []float64{0, 1}, []float64{0, 2})
			isOrthonormal(t, dense{2, 2, out[0]}, 1e-15)
			require.Equal(t, []float64{0, 1, 0, 2}, out[1])
		}
	})
}

// A matrix that all lanes share is factored and used once: lanes become further right-hand sides.
func TestSharedMatrix(t *testing.T) {
	a := Abstract(ShapeOf(Float32, 3, 3))
	b := Abstract(ShapeOf(Float32, 5, 3))
	for name, f := range map[string]func(a, b *Array) *Array{
		"solve":            Linalg.Solve,
		"triangular_solve": func(a, b *Array) *Array { return Linalg.TriangularSolve(a, b) },
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
