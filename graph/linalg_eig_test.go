package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/third_party/oracles"
)

func init() { // the program that stands for the op where there is no kernel
	composed = append(composed, Case{Name: "francisEig", Inputs: []Shape{ShapeOf(Float32, 5, 5)}, Lo: -1, Hi: 1,
		Tol: 5e-5, Rough: true, Fn: func(x []*Array) *Array {
			outs := francisEig(x[0], true)
			return Concatenate(0, ExpandDims(outs[0], 0), ExpandDims(outs[1], 0), outs[2], outs[3])
		}})
}

func fromJAX(a oracles.Array) *Array {
	return FromBytes(ShapeOf(dtypes.MapOfNames[a.DType], a.Shape...), a.Data)
}

// eigCase is a matrix with its eigenvalues, eigenvectors and gradient: third_party/oracles/numpy_eig.py says how.
type eigCase struct {
	Name          string
	Error         float64
	Input, Re, Im oracles.Array
	VectorsRe     *oracles.Array `json:"vectors_re"`
	VectorsIm     *oracles.Array `json:"vectors_im"`
	CotangentsRe  *oracles.Array `json:"cotangents_re"`
	CotangentsIm  *oracles.Array `json:"cotangents_im"`
	Gradient      *oracles.Array
}

func TestEigAgainstNumPy(t *testing.T) {
	var doc struct{ Cases []eigCase }
	require.NoError(t, oracles.Read("testdata/numpy_eig.json.gz", &doc))
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		t.Run(fmt.Sprint(i, " ", c.Name, " ", c.Input.DType), func(t *testing.T) {
			x, err := ToTensor(fromJAX(c.Input))
			require.NoError(t, err)
			for _, way := range []string{"op", "program"} {
				if way == "program" && x.Shape.Dims[0] > 21 {
					continue
				}
				out := run1(t, "eig", func(a []*Array) any {
					if way == "program" {
						return francisEig(a[0], true)
					}
					e := Linalg.Eig(a[0])
					return []*Array{e.Re, e.Im, e.VectorsRe, e.VectorsIm}
				}, []*Tensor{x})
				sameEigen(t, c, x, out, way)
			}
		})
	}
}

func sameEigen(t *testing.T, c eigCase, x *Tensor, out []*Tensor, msg string) {
	t.Helper()
	a, n := toDense(x), x.Shape.Dims[0]
	eps, top := Finfo(x.Shape.DType).Eps, 0.
	re, im := c.Re.Floats(), c.Im.Floats()
	for k := range n {
		top = max(top, math.Hypot(re[k], im[k]))
	}
	tol := 20 * eps * c.Error * top
	if c.Error == 0 {
		tol = 2 * math.Cbrt(eps) * max(top, 1)
	}
	left := rangeInts(0, n)
	for k := range n {
		value := []float64{out[0].F(k), out[1].F(k)}
		if c.Error > 0 {
			assert.InDelta(t, re[k], value[0], tol, "%s: real part %d", msg, k)
			assert.InDelta(t, im[k], value[1], tol, "%s: imaginary part %d", msg, k)
		} else { // the order of a cluster is that of its rounding errors
			place := slices.IndexFunc(left, func(j int) bool {
				return math.Hypot(re[j]-value[0], im[j]-value[1]) <= tol
			})
			if assert.GreaterOrEqual(t, place, 0, "%s: no %v among %v %v", msg, value, re, im) {
				left = slices.Delete(left, place, place+1)
			}
		}
		vr, vi := toDense(out[2]).column(k), toDense(out[3]).column(k)
		assert.InDelta(t, 1, math.Sqrt(inner(vr, vr)+inner(vi, vi)), 10*eps, "%s: norm %d", msg, k)
		for i := range n { // x v = v w
			row := a.v[i*n : (i+1)*n]
			size := max(math.Sqrt(inner(row, row)), top)
			assert.InDelta(t, value[0]*vr[i]-value[1]*vi[i], inner(row, vr), 100*eps*size, "%s: vector %d", msg, k)
			assert.InDelta(t, value[0]*vi[i]+value[1]*vr[i], inner(row, vi), 100*eps*size, "%s: vector %d", msg, k)
		}
	}
	if c.Error == 0 {
		return
	}
	for part, want := range []*oracles.Array{c.VectorsRe, c.VectorsIm} {
		for i, e := range want.Floats() {
			assert.InDelta(t, e, out[2+part].F(i), 200*eps*c.Error, "%s: element %d of result %d", msg, i, 2+part)
		}
	}
}

// The gradient of a weighted sum of eigenvalues is JAX's.
func TestEigGradientAgainstJAX(t *testing.T) {
	var doc struct{ Cases []eigCase }
	require.NoError(t, oracles.Read("testdata/numpy_eig.json.gz", &doc))
	checked := 0
	for i, c := range doc.Cases {
		if c.Gradient == nil {
			continue
		}
		checked++
		t.Run(fmt.Sprint(i, " ", c.Name, " ", c.Input.DType), func(t *testing.T) {
			x := fromJAX(c.Input)
			for _, f := range []func(x *Array) (re, im *Array){Linalg.EigVals, func(x *Array) (re, im *Array) {
				e := Linalg.Eig(x)
				return e.Re, e.Im
			}} {
				got, err := Floats(Grad(func(x *Array) *Array {
					re, im := f(x)
					weigh := func(x *Array, by *oracles.Array) *Array {
						return Sum(Mul(Convert(x, Float64), Float64s(by.Floats(), by.Shape...)))
					}
					return Add(weigh(re, c.CotangentsRe), weigh(im, c.CotangentsIm))
				})(x))
				require.NoError(t, err)
				want, top := c.Gradient.Floats(), 0.
				for _, e := range want {
					top = max(top, math.Abs(e))
				}
				for k, e := range want {
					assert.InDelta(t, e, got[k], 200*Finfo(x.DType()).Eps*c.Error*top, "element %d", k)
				}
			}
		})
	}
	assert.Greater(t, checked, 40)
}

// The kernel and the reference have equal constants.
func TestEigConstantsAreTheKernels(t *testing.T) {
	text, err := os.ReadFile("../xlabridge/kernels/eig.c")
	require.NoError(t, err)
	got := map[string]float64{}
	for _, m := range regexp.MustCompile(`\b(EIG_[A-Z_]+) = ([-0-9.xp]+)`).FindAllStringSubmatch(string(text), -1) {
		got[m[1]], err = strconv.ParseFloat(m[2], 64)
		assert.NoError(t, err, m[1])
	}
	assert.Equal(t, map[string]float64{"EIG_MOST_TURNS": eigMostTurns, "EIG_MOST_ROUNDS": eigMostRounds,
		"EIG_MOST_BALANCE": eigMostBalance, "EIG_PHASE_SHARE": eigPhaseShare, "EIG_GRID_SHARE": eigGridShare,
		"EIG_MOST_ELEMENT": eigMostElement, "EIG_LEAST_GAP": eigLeastGap}, got)
}

// Matrices under leading axes are taken one by one.
func TestEigOfManyMatrices(t *testing.T) {
	x := randomDense(rand.New(rand.NewPCG(1, 2)), Float64, 6, 9, 1)
	many := Reshape(x.Array(), 2, 3, 3, 3)
	all, re, im := Linalg.Eig(many), (*Array)(nil), (*Array)(nil)
	re, im = Linalg.EigVals(many)
	for i := range 2 {
		for j := range 3 {
			part := func(x *Array) *Array { return Index(Index(x, i), j) }
			one := Linalg.Eig(part(many))
			for _, pair := range [][2]*Array{{one.Re, part(all.Re)}, {one.Im, part(all.Im)}, {one.Re, part(re)},
				{one.Im, part(im)}, {one.VectorsRe, part(all.VectorsRe)}, {one.VectorsIm, part(all.VectorsIm)}} {
				want := floatsOf(t, pair[0])
				got := floatsOf(t, pair[1])
				assert.Equal(t, want, got)
			}
		}
	}
}

// Empty, tiny, huge and bad matrices.
func TestEigEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	values := func(x *Array) []float64 {
		numbers := floatsOf(t, x)
		return numbers
	}
	for _, dims := range [][]int{{0, 0}, {2, 0, 0}} {
		e := Linalg.Eig(Zeros(ShapeOf(Float32, dims...)))
		assert.Equal(t, dims[:len(dims)-1], e.Re.Dims())
		assert.Equal(t, dims[:len(dims)-1], e.Im.Dims())
		assert.Equal(t, dims, e.VectorsRe.Dims())
		assert.Equal(t, dims, e.VectorsIm.Dims())
	}
	e := Linalg.Eig(Int32s([]int32{0, -1, 1, 0}, 2, 2))
	assert.Equal(t, Float32, e.Re.DType(), "integers become float32")
	assert.Equal(t, []float64{1, -1}, values(e.Im), "the positive one of a pair is first")
	for i, c := range []struct {
		description string
		x           []float64
		n           int
		re, im      []float64
	}{
		{"1: one element", []float64{-3}, 1, []float64{-3}, []float64{0}},
		{"2: NaN alone", []float64{nan}, 1, []float64{nan}, []float64{nan}},
		{"3: infinity alone", []float64{inf}, 1, []float64{nan}, []float64{nan}},
		{"4: a NaN", []float64{1, 2, nan, 4}, 2, []float64{nan, nan}, []float64{nan, nan}},
		{"5: an infinity", []float64{1, 2, 3, -inf}, 2, []float64{nan, nan}, []float64{nan, nan}},
		{"6: a triangle has its diagonal", []float64{3, 0, 0, 7, 1, 0, -5, 4, 2}, 3, []float64{1, 2, 3},
			[]float64{0, 0, 0}},
		{"7: large and small numbers", []float64{0, 1e290, 1, 0}, 2, []float64{-1e145, 1e145}, []float64{0, 0}},
		{"8: small numbers", []float64{0, -0x1p-1000, 0x1p-1000, 0}, 2, []float64{0, 0}, []float64{0x1p-1000,
			-0x1p-1000}},
		{"9: pairs of one real part stay together", []float64{0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0, -2, 0, 0, 2, 0}, 4,
			[]float64{0, 0, 0, 0}, []float64{1, -1, 2, -2}},
	} {
		for _, f := range []func(x *Array) []*Array{
			func(x *Array) []*Array { re, im := Linalg.EigVals(x); return []*Array{re, im} },
			func(x *Array) []*Array { return francisEig(x, false) },
		} {
			got := f(Float64s(c.x, c.n, c.n))
			for part, want := range [][]float64{c.re, c.im} {
				for k, w := range want {
					if v := values(got[part])[k]; math.IsNaN(w) {
						assert.True(t, math.IsNaN(v), "case %d %s: %v", i+1, c.description, v)
					} else {
						assert.InDelta(t, w, v, 1e-15*math.Abs(w), "case %d %s", i+1, c.description)
					}
				}
			}
		}
		for _, v := range Linalg.Eig(Float64s(c.x, c.n, c.n)).parts() {
			assert.Equal(t, math.IsNaN(c.re[0]), slices.ContainsFunc(values(v), math.IsNaN), "case %d %s", i+1,
				c.description)
		}
	}
}

// The imaginary part of a negative number alone is 0 and not -0, as of any real eigenvalue.
func TestEigOfOneElementHasNoNegativeZero(t *testing.T) {
	for _, x := range []float64{-3, 3, -math.MaxFloat64, -math.SmallestNonzeroFloat64, 0} {
		a := Float64s([]float64{x}, 1, 1)
		program, op := francisEig(a, true), Linalg.Eig(a).parts()
		for i, want := range []float64{x, 0, 1, 0} {
			for _, got := range []*Array{program[i], op[i]} {
				numbers := floatsOf(t, got)
				assert.Equal(t, []uint64{math.Float64bits(want)}, []uint64{math.Float64bits(numbers[0])},
					"result %d of %v: %v", i, x, numbers)
			}
		}
	}
}

func (e Eigen) parts() []*Array { return []*Array{e.Re, e.Im, e.VectorsRe, e.VectorsIm} }

func TestEigRefusals(t *testing.T) {
	for i, c := range []struct {
		want string
		f    func()
	}{
		{"Eig: got f32[2,3], want a square matrix", func() { Linalg.Eig(Ones(ShapeOf(Float32, 2, 3))) }},
		{"EigVals: got f32[3], want a matrix", func() { Linalg.EigVals(Ones(ShapeOf(Float32, 3))) }},
		{"Eig: got bf16[2,2], whose precision is too low", func() { Linalg.Eig(Ones(ShapeOf(BFloat16, 2, 2))) }},
		{"Eig: got a nil *Array", func() { Linalg.Eig(nil) }},
	} {
		assert.ErrorContains(t, Try(c.f), c.want, "case %d", i+1)
	}
}
