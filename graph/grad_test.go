package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// floatInputs lists the float inputs of a case, by position.
func floatInputs(c Case) []int {
	var out []int
	for i, s := range c.Inputs {
		if isFloat(s.DType) {
			out = append(out, i)
		}
	}
	return out
}

// double turns a case's float32 inputs into float64 ones, for finite differences.
func double(c Case) Case {
	in := make([]Shape, len(c.Inputs))
	for i, s := range c.Inputs {
		in[i] = s
		if s.DType == Float32 {
			in[i] = s.with(Float64)
		}
	}
	c.Inputs = in
	return c
}

func run1(t *testing.T, name string, f func([]*Array) any, in []*Tensor) []*Tensor {
	t.Helper()
	args := make([]*Array, len(in))
	for i, x := range in {
		args[i] = Abstract(x.Shape)
	}
	p, err := TraceArgs(name, []any{args}, TraceOptions{}, func(a []any) any { return f(a[0].([]*Array)) })
	require.NoError(t, err)
	require.NoError(t, p.Graph.Verify())
	return runProgram(t, p, in)
}

// derivative describes how a case is wrapped before it is differentiated.
type wrapping struct {
	name string
	wrap func(f func([]*Array) *Array, lanes int) func([]*Array) *Array
	lead bool // inputs get a leading axis
}

var wrappings = []wrapping{
	{"plain", func(f func([]*Array) *Array, _ int) func([]*Array) *Array { return f }, false},
	{"vmap", func(f func([]*Array) *Array, _ int) func([]*Array) *Array {
		return VMap(f)
	}, true},
	{"scan", func(f func([]*Array) *Array, n int) func([]*Array) *Array {
		return func(x []*Array) *Array {
			_, ys := Scan(func(c *Array, x []*Array) (*Array, *Array) {
				y := f(x)
				return Add(c, Mean(Convert(y, c.DType()))), Mul(y, Convert(Add(c, 1), y.DType()))
			}, scalar64(0), x)
			return ys
		}
	}, true},
	{"checkpoint", func(f func([]*Array) *Array, _ int) func([]*Array) *Array { return Checkpoint(f) }, false},
}

func scalar64(v float64) *Array { return Scalar(v, Float64) }

// Forward mode agrees with central differences, and reverse mode with forward mode (<ct, J t> = <J^T ct, t>), for
// every op that has a derivative: plain, under vmap, inside a scan, checkpointed.
func TestDerivatives(t *testing.T) {
	forEachCase(t, func(t *testing.T, c Case, r *rand.Rand) {
		if c.Rough || len(floatInputs(c)) == 0 {
			t.Skip("not differentiable on its domain")
		}
		c = double(c)
		for _, w := range wrappings {
			checkDerivative(t, c, w, r)
		}
	})
}

func checkDerivative(t *testing.T, c Case, w wrapping, r *rand.Rand) {
	t.Helper()
	const lanes = 3
	in := make([]*Tensor, len(c.Inputs))
	tan := make([]*Tensor, len(c.Inputs))
	for i, s := range c.Inputs {
		if w.lead {
			s = s.insert(0, lanes)
		}
		in[i] = c.tensor(r, s)
		tan[i] = randomTensor(r, s, -1, 1)
		if !isFloat(s.DType) {
			tan[i] = in[i]
		}
	}
	if slices.ContainsFunc(c.Inputs, func(s Shape) bool { return isFloat(s.DType) && s.DType.Size() < 4 }) {
		return // too coarse for finite differences; JAX's vectors have the derivatives
	}
	f := w.wrap(c.Fn, lanes)
	n := len(in)
	out := run1(t, "jvp", func(x []*Array) any {
		y, d := Jvp(f, x[:n], x[n:])
		return []*Array{y, d}
	}, append(append([]*Tensor{}, in...), tan...))
	y, dy := out[0], out[1]
	if !isFloat(y.Shape.DType) {
		return
	}
	tol := 1e-5
	if y.Shape.DType == Float32 {
		tol = 2e-3
	}
	shift := func(h float64) *Tensor {
		return run1(t, "f", func(x []*Array) any { return f(x) }, moved(in, tan, h))[0]
	}
	h := 1e-5
	if tol > 1e-4 {
		h = 1e-3
	}
	up, down := shift(h), shift(-h)
	for k := range dy.V {
		want := (up.F(k) - down.F(k)) / (2 * h)
		require.InDelta(t, want, dy.F(k), tol*(1+math.Abs(want))*10, "%s: tangent %d of %s", w.name, k, y.Shape)
	}
	// <ct, J t> = <J^T ct, t>
	ct := randomTensor(r, y.Shape, -1, 1)
	back := run1(t, "vjp", func(x []*Array) any {
		_, pull := Vjp(f, x[:n])
		return pull(x[n])
	}, append(append([]*Tensor{}, in...), ct))
	left, right, scale := 0.0, 0.0, 1.0
	for k := range dy.V {
		left += ct.F(k) * dy.F(k)
		scale += math.Abs(ct.F(k) * dy.F(k))
	}
	for i, g := range back {
		if !isFloat(in[i].Shape.DType) {
			continue
		}
		require.Equal(t, in[i].Shape.String(), g.Shape.String())
		for k := range g.V {
			right += g.F(k) * tan[i].F(k)
		}
	}
	require.InDelta(t, left, right, tol*scale, "%s: <ct, J t> and <J^T ct, t>", w.name)
	if w.name == "plain" && y.Shape.DType == Float64 {
		checkSecond(t, f, in, tan, ct)
	}
}

// moved are the inputs a step along the tangents.
func moved(in, tan []*Tensor, step float64) []*Tensor {
	out := slices.Clone(in)
	for i, x := range in {
		if isFloat(x.Shape.DType) {
			out[i] = newTensor(x.Shape)
			for k := range x.V {
				out[i].SetF(k, x.F(k)+step*tan[i].F(k))
			}
		}
	}
	return out
}

// checkSecond compares second derivatives along tan: forward over reverse with central differences of the reverse
// pass, and reverse over reverse with forward over reverse, which are equal because second derivatives commute.
func checkSecond(t *testing.T, f func([]*Array) *Array, in, tan []*Tensor, ct *Tensor) {
	t.Helper()
	n := len(in)
	back := func(x []*Array, c *Array) []*Array {
		_, pull := Vjp(f, x)
		return pull(c)
	}
	const h = 1e-5
	ends := map[float64][]*Tensor{}
	for _, d := range []float64{h, -h} {
		ends[d] = run1(t, "back", func(x []*Array) any { return back(x[:n], x[n]) }, append(moved(in, tan, d), ct))
	}
	both := run1(t, "second", func(x []*Array) any {
		x, v, c := x[:n], x[n:2*n], x[2*n]
		_, forward := Jvp(func(x []*Array) []*Array { return back(x, c) }, x, v)
		reverse := Grad(func(x []*Array) *Array {
			sum := scalar64(0)
			for i, g := range back(x, c) {
				if isFloat(g.DType()) {
					sum = Add(sum, Convert(Sum(Mul(g, v[i])), Float64))
				}
			}
			return sum
		})(x)
		return append(forward, reverse...)
	}, append(append(append([]*Tensor{}, in...), tan...), ct))
	for i, x := range in {
		if x.Shape.DType != Float64 {
			continue
		}
		for k := range x.V {
			want := (ends[h][i].F(k) - ends[-h][i].F(k)) / (2 * h)
			require.InDelta(t, want, both[i].F(k), 2e-4*(1+math.Abs(want)), "forward over reverse, input %d element %d",
				i, k)
			require.InDelta(t, both[i].F(k), both[n+i].F(k), 1e-8*(1+math.Abs(want)),
				"reverse over reverse, input %d element %d", i, k)
		}
	}
}

// Compositions against closed forms: each nests several transforms.
func TestComposition(t *testing.T) {
	x := Float64s([]float64{.3, -.7, 1.1})
	val := func(t *testing.T, f func(*Array) *Array) []float64 {
		t.Helper()
		p, err := Trace("composition", f, x)
		require.NoError(t, err)
		require.NoError(t, p.Graph.Verify())
		out, err := p.Interpret([]*Array{x}, nil)
		require.NoError(t, err)
		v := floatsOf(t, out[0])
		return v
	}
	xs := []float64{.3, -.7, 1.1}
	expect := func(t *testing.T, f func(float64) float64, got []float64) {
		t.Helper()
		require.Len(t, got, len(xs))
		for i, x := range xs {
			require.InDelta(t, f(x), got[i], 1e-9)
		}
	}
	cube := func(v *Array) *Array { return Mul(v, Mul(v, v)) }
	sinScan := func(v *Array) *Array { // sin(sin(sin(v)))
		c, _ := Scan(func(c *Array, _ None) (*Array, None) { return Sin(c), None{} }, v, None{}, Length(3))
		return c
	}
	dSin3 := func(x float64) float64 {
		a, b := math.Sin(x), math.Sin(math.Sin(x))
		return math.Cos(b) * math.Cos(a) * math.Cos(x)
	}
	t.Run("vmap(grad)", func(t *testing.T) {
		expect(t, func(x float64) float64 { return 3 * x * x }, val(t, VMap(Grad(cube))))
	})
	t.Run("vmap(grad(grad))", func(t *testing.T) {
		expect(t, func(x float64) float64 { return 6 * x }, val(t, VMap(Grad(Grad(cube)))))
	})
	t.Run("vmap(grad(scan))", func(t *testing.T) { expect(t, dSin3, val(t, VMap(Grad(sinScan)))) })
	t.Run("grad(vmap(scan))", func(t *testing.T) {
		expect(t, dSin3, val(t, Grad(func(v *Array) *Array { return Sum(VMap(sinScan)(v)) })))
	})
	t.Run("grad(grad(scan))", func(t *testing.T) {
		h := 1e-5
		got := val(t, VMap(Grad(Grad(sinScan))))
		for i, x := range xs {
			require.InDelta(t, (dSin3(x+h)-dSin3(x-h))/(2*h), got[i], 1e-6)
		}
	})
	t.Run("hessian-vector product", func(t *testing.T) { // f = sum x^3: H v = 6 x v
		got := val(t, func(v *Array) *Array {
			_, hv := Jvp(Grad(func(v *Array) *Array { return Sum(cube(v)) }), v, OnesLike(v))
			return hv
		})
		expect(t, func(x float64) float64 { return 6 * x }, got)
	})
	t.Run("scan whose body holds a cond and a gradient", func(t *testing.T) {
		f := func(v *Array) *Array {
			c, _ := Scan(func(c *Array, _ None) (*Array, None) {
				d := Grad(cube)(c) // 3 c^2
				return Cond(Gt(c, 0), func() *Array {
					return Sub(c, Mul(d, .01))
				}, func() *Array { return Mul(c, 2) }), None{}
			}, v, None{}, Length(2))
			return c
		}
		want := func(x float64) float64 {
			for range 2 {
				if x > 0 {
					x -= .03 * x * x
				} else {
					x *= 2
				}
			}
			return x
		}
		h := 1e-6
		expectD := func(x float64) float64 { return (want(x+h) - want(x-h)) / (2 * h) }
		got := val(t, VMap(Grad(f)))
		for i, x := range xs {
			require.InDelta(t, expectD(x), got[i], 1e-6)
		}
	})
	t.Run("captured by a closure", func(t *testing.T) { // d/dx of sum over steps of x*i: the body takes x from outside
		got := val(t, Grad(func(v *Array) *Array {
			c, _ := Scan(func(c, i *Array) (*Array, None) {
				return Add(c, Mul(Sum(Square(v)), i)), None{}
			}, scalar64(0), Float64s([]float64{1, 2, 3}))
			return c
		}))
		expect(t, func(x float64) float64 { return 12 * x }, got)
	})
	t.Run("inner gradient sees an outer variable", func(t *testing.T) { // d/dy of d/dx (x^2 y) at x = y is 2x
		got := val(t, VMap(Grad(func(y *Array) *Array {
			return Grad(func(x *Array) *Array { return Mul(Square(x), y) })(StopGradient(y))
		})))
		expect(t, func(x float64) float64 { return 2 * x }, got)
	})
	t.Run("jacobians", func(t *testing.T) {
		f := func(v *Array) *Array { return Mul(Sum(v), v) } // J = sum(x) I + x 1^T
		s := xs[0] + xs[1] + xs[2]
		for _, j := range []func(func(*Array) *Array) func(*Array) *Array{JacFwd, JacRev} {
			got := val(t, j(f))
			for i := range 3 {
				for k := range 3 {
					want := xs[i]
					if i == k {
						want += s
					}
					require.InDelta(t, want, got[3*i+k], 1e-12)
				}
			}
		}
		h := val(t, Hessian(func(v *Array) *Array { return Prod(v) }))
		require.InDelta(t, xs[2], h[1], 1e-12)
		require.InDelta(t, 0, h[0], 1e-12)
	})
	t.Run("linearize", func(t *testing.T) {
		got := val(t, func(v *Array) *Array {
			_, lin := Linearize(sinScan, v)
			return lin(OnesLike(v))
		})
		expect(t, dSin3, got)
	})
	t.Run("custom vjp under vmap and scan", func(t *testing.T) {
		spike := CustomVjp(func(v *Array) *Array { return Convert(Gt(v, 0), v.DType()) },
			func(v *Array) (*Array, *Array) { return Convert(Gt(v, 0), v.DType()), v },
			func(v, ct *Array) *Array { return Mul(ct, Div(1, Square(Add(1, Abs(v))))) })
		surrogate := func(x float64) float64 { return 1 / math.Pow(1+math.Abs(x), 2) }
		expect(t, surrogate, val(t, VMap(Grad(spike))))
		expect(t, surrogate, val(t, Grad(func(v *Array) *Array {
			_, ys := Scan(func(c, x *Array) (*Array, *Array) { return c, spike(x) }, scalar64(0), v)
			return Sum(ys)
		})))
	})
}

// Refusals name the user's line, what is wrong and what to do.
func TestDerivativeErrors(t *testing.T) {
	x := Of(2.)
	for name, c := range map[string]struct {
		f    func(*Array) *Array
		want string
	}{
		"reverse through while": {Grad(func(v *Array) *Array {
			return While(func(c *Array) *Array { return Lt(c, 9) }, func(c *Array) *Array { return Mul(c, c) }, v)
		}), "use Scan"},
		"vector loss": {Grad(func(v *Array) *Array { return BroadcastTo(v, 3) }), "want a float scalar"},
		"forward through custom_vjp": {func(v *Array) *Array {
			_, d := Jvp(CustomVjp(sin1, func(v *Array) (*Array, None) {
				return Sin(v), None{}
			}, func(_ None, ct *Array) *Array { return ct }), v, v)
			return d
		}, "forward mode"},
		"custom_vjp that captures": {func(v *Array) *Array {
			return CustomVjp(func(w *Array) *Array {
				return Mul(v, w)
			}, func(w *Array) (*Array, None) { return w, None{} }, func(_ None, ct *Array) *Array { return ct })(v)
		}, "pass it as an argument"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Trace("refused", c.f, x)
			if err == nil {
				_, err = p.Interpret([]*Array{x}, nil)
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "grad_test.go:", fmt.Sprint(err))
		})
	}
}
