package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

func sortedOps() []*Op {
	var ops []*Op
	for _, o := range Table {
		ops = append(ops, o)
	}
	sort.Slice(ops, func(i, j int) bool { return ops[i].Name < ops[j].Name })
	return ops
}

// The op table has no holes.
func TestTableIsTotal(t *testing.T) {
	for _, o := range sortedOps() {
		require.NotNil(t, o.Shape, "%s: Shape", o.Name)
		require.NotNil(t, o.Batch, "%s: Batch", o.Name)
		require.True(t, o.Emit != nil || o.Lower != nil, "%s: Emit, or Lower", o.Name)
		require.NotNil(t, o.Cost, "%s: Cost", o.Name)
		require.NotNil(t, o.Cases, "%s: Cases", o.Name)
		require.NotEmpty(t, o.Cases(), "%s: Cases", o.Name)
		require.True(t, (o.Eval != nil) != (o.Run != nil), "%s: Eval or Run", o.Name)
		if o.Run != nil && !slices.Contains(runOnce, o.Name) {
			require.NotNil(t, o.Loop, "%s: Loop, or it runs its bodies once", o.Name)
		}
		require.Equal(t, o.Write != nil, o.WriteSeconds != nil, "%s: Write and WriteSeconds", o.Name)
		require.False(t, o.JVP != nil && o.Derivative != nil, "%s: JVP or Derivative", o.Name)
		require.True(t, (o.JVP != nil || o.Derivative != nil) != (o.NotDifferentiable != ""),
			"%s: JVP or a reason, not both", o.Name)
		require.Equal(t, o.Unknown != nil, o.Split != nil, "%s: Unknown and Split", o.Name)
		require.True(t, (o.Transpose != nil) != (o.NotLinear != "" || o.NotDifferentiable != ""),
			"%s: Transpose or a reason", o.Name)
	}
}

// runOnce are the ops that run a body of theirs once and so are no loops.
var runOnce = []string{"checkpoint", "custom_jvp", "custom_lin", "custom_vjp", "function", "switch", "with_kernel"}

func randomTensor(r *rand.Rand, s Shape, lo, hi float64) *Tensor {
	return Case{Lo: lo, Hi: hi}.tensor(r, s)
}

func traceCase(t *testing.T, c Case, shapes []Shape) *Program {
	t.Helper()
	args := make([]*Array, len(shapes))
	for i, s := range shapes {
		args[i] = Abstract(s)
	}
	p, err := Trace("case", c.Fn, args)
	require.NoError(t, err)
	require.NoError(t, p.Graph.Verify())
	return p
}

func runProgram(t *testing.T, p *Program, in []*Tensor) []*Tensor {
	t.Helper()
	for _, c := range p.Captured {
		x, err := ToTensor(c)
		require.NoError(t, err)
		in = append(in[:len(in):len(in)], x)
	}
	out, err := Interpret(p.Graph, in, nil)
	require.NoError(t, err)
	return out
}

// near compares within tol, relative and absolute; NaN equals NaN, and an infinity only itself.
func near(t *testing.T, want, got *Tensor, tol float64, msg ...any) {
	t.Helper()
	require.Equal(t, want.Shape.String(), got.Shape.String(), msg...)
	for i := range want.V {
		if !isFloat(want.Shape.DType) {
			require.Equal(t, want.V[i], got.V[i], append([]any{fmt.Sprintf("element %d", i)}, msg...)...)
			continue
		}
		x, y := want.F(i), got.F(i)
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		require.False(t, math.IsInf(x, 0), append([]any{fmt.Sprintf("element %d is %v, want %v", i, y, x)}, msg...)...)
		require.InDelta(t, x, y, tol*(1+math.Abs(x)), append([]any{fmt.Sprintf("element %d", i)}, msg...)...)
	}
}

// forEachCase runs f for every sample of every op.
func forEachCase(t *testing.T, f func(t *testing.T, c Case, r *rand.Rand)) {
	for _, o := range sortedOps() {
		for i, c := range o.Cases() {
			t.Run(o.Name+"/"+fmt.Sprint(i, " ", c.Name), func(t *testing.T) {
				if c.Tol == 0 {
					c.Tol = 1e-6
				}
				f(t, c, rand.New(rand.NewPCG(uint64(i), 7)))
			})
		}
	}
}

// VMap of a case is the case run lane by lane, for 3 lanes, 1 and none, mapped along different axes, with every choice
// of which inputs are mapped.
func TestVMapIsLoop(t *testing.T) {
	forEachCase(t, func(t *testing.T, c Case, r *rand.Rand) {
		single := traceCase(t, c, c.Inputs)
		masks := 1<<len(c.Inputs) - 1
		for mask := 1; mask <= masks; mask++ {
			for _, lanes := range []int{3, 1, 0} {
				checkVMap(t, c, r, single, mask, lanes, 0, Case.tensor)
				if lanes == 3 {
					checkVMap(t, c, r, single, mask, lanes, -1, Case.tensor)
					checkVMap(t, c, r, single, mask, lanes, 0, Case.tensor, BatchLast())
					checkVMap(t, c, r, single, mask, lanes, -1, Case.tensor, BatchLast())
				}
			}
		}
	})
}

// The same holds for NaN, infinities, negative zero, denormals and the ends of the dtypes.
func TestVMapIsLoopForExtremes(t *testing.T) {
	forEachCase(t, func(t *testing.T, c Case, r *rand.Rand) {
		single := traceCase(t, c, c.Inputs)
		for kind := range Extremes {
			if slices.ContainsFunc(single.Graph.Nodes, func(n *Node) bool { return n.Op.Name == "while" }) && kind > 0 {
				continue // what the loop waits for may never come
			}
			e := ExtremeInputs{Name: t.Name(), Kind: kind}
			for argument := 0; argument == 0 || !e.Complete(); {
				checkVMap(t, c, r, single, 1<<len(c.Inputs)-1, 3, 0, func(c Case, _ *rand.Rand, s Shape) *Tensor {
					x, err := ToTensor(e.Input(c, argument%len(c.Inputs), s))
					require.NoError(t, err)
					argument++
					return x
				})
			}
		}
	})
}

func checkVMap(t *testing.T, c Case, r *rand.Rand, single *Program, mask, lanes, axis int,
	input func(Case, *rand.Rand, Shape) *Tensor, opts ...VMapOption) {
	t.Helper()
	shapes := make([]Shape, len(c.Inputs))
	args := make([]*Array, len(c.Inputs))
	in := make([]*Tensor, len(c.Inputs))
	for i, s := range c.Inputs {
		shapes[i] = s
		if mask>>i&1 == 1 {
			at := 0
			if axis == -1 {
				at = s.Rank()
			}
			shapes[i] = s.insert(at, lanes)
		}
		args[i] = Abstract(shapes[i])
		in[i] = input(c, r, shapes[i])
	}
	p, err := TraceArgs("vmap", []any{args}, TraceOptions{}, func(a []any) any {
		xs := a[0].([]*Array)
		axes := make([]int, len(xs))
		for i := range axes {
			axes[i] = Unmapped
			if mask>>i&1 == 1 {
				axes[i] = axis
			}
		}
		anys := make([]any, len(xs))
		for i, x := range xs {
			anys[i] = x
		}
		return as[*Array](vmapCall(anys, append(opts, InAxes(axes...), OutAxis(-1)), func(a []any) any {
			xs := make([]*Array, len(a))
			for i := range a {
				xs[i] = a[i].(*Array)
			}
			return c.Fn(xs)
		}))
	})
	require.NoError(t, err, "mask %b lanes %d", mask, lanes)
	require.NoError(t, p.Graph.Verify())
	got := runProgram(t, p, in)[0]
	want := newTensor(single.Outputs[0].insert(single.Outputs[0].Rank(), lanes))
	require.Equal(t, want.Shape.String(), got.Shape.String())
	for lane := range lanes {
		row := make([]*Tensor, len(in))
		for i, x := range in {
			row[i] = x
			if mask>>i&1 == 1 {
				at := 0
				if axis == -1 {
					at = x.Shape.Rank() - 1
				}
				st := strides(x.Shape.Dims)
				row[i] = moveTensor(x.Shape.remove(at), x, func(idx []int) int {
					full := make([]int, 0, len(idx)+1)
					full = append(append(append(full, idx[:at]...), lane), idx[at:]...)
					return dot(full, st)
				})
			}
		}
		out := runProgram(t, single, row)[0]
		for j, v := range out.V {
			want.V[j*lanes+lane] = v
		}
	}
	near(t, want, got, c.Tol, fmt.Sprintf("mask %b lanes %d axis %d\n%s", mask, lanes, axis, p.Graph))
}

// Every argument of every op gets every value of a kind.
func TestExtremeInputs(t *testing.T) {
	for _, o := range sortedOps() {
		for kind, label := range Extremes {
			e := ExtremeInputs{Name: o.Name, Kind: kind}
			placed := map[extremeArgument]map[uint64]bool{}
			for round := 0; round == 0 || !e.Complete(); round++ {
				require.Less(t, round, 1000)
				for _, c := range o.Cases() {
					for i, s := range c.Inputs {
						x, err := ToTensor(e.Input(c, i, s))
						require.NoError(t, err)
						if len(x.V) == 0 || s.DType == Bool {
							continue
						}
						a := extremeArgument{i, s.DType}
						if placed[a] == nil {
							placed[a] = map[uint64]bool{}
						}
						for _, v := range x.V {
							placed[a][v] = true
						}
					}
				}
			}
			for a, values := range placed {
				for _, v := range extremeValues(a.dtype, kind) {
					if isFloat(a.dtype) && math.IsNaN(math.Float64frombits(v)) {
						continue // of many bit patterns
					}
					require.True(t, values[v], "%s, %s: argument %d of %s never is %x", o.Name, label, a.argument,
						a.dtype, v)
				}
			}
		}
	}
}

// What functions and derivatives are at the ends of their domains: what JAX says, where no other is written.
func TestSpecialValues(t *testing.T) {
	inf, nan, f := math.Inf(1), math.NaN(), func(x ...float64) *Array { return Convert(Of(x), Float32) }
	down := func(x, y *Array) *Array { return FloorDiv(x, y) }
	slope := func(f func(x *Array) *Array, x ...float64) func() *Array {
		return func() *Array { return Grad(func(x *Array) *Array { return Sum(f(x)) })(Convert(Of(x), Float32)) }
	}
	extremum := func(of func(*Array, int, ...CumulativeOption) *Array, opts ...CumulativeOption) func(x *Array) *Array {
		return func(x *Array) *Array { return of(x, 0, opts...) }
	}
	power := func(y float64) func(x *Array) *Array {
		return func(x *Array) *Array { return Pow(x, FullLike(x, y)) }
	}
	for i, c := range []struct {
		description string
		f           func() *Array
		want        []float64
	}{
		{"1: lgamma of the infinities, the poles and NaN", func() *Array {
			return Lgamma(f(-inf, inf, -1, 0, nan))
		}, []float64{inf, inf, inf, inf, nan}},
		{"2: floor division by 0", func() *Array {
			return down(f(1, -1, 0, inf, nan), f(0, 0, 0, 0, 0))
		}, []float64{inf, -inf, nan, inf, nan}},
		{"3: floor division by -0", func() *Array {
			return down(f(1, -1, 0), Neg(f(0, 0, 0)))
		}, []float64{-inf, inf, nan}},
		{"4: floor division by and of infinities", func() *Array {
			return down(f(1, -1, 5, -5, 0, inf, inf), f(inf, inf, -inf, -inf, -inf, 5, inf))
		}, []float64{0, -1, -1, 0, 0, nan, nan}},
		{"5: the slope of floor division by 0", slope(func(x *Array) *Array {
			return down(x, ZerosLike(x))
		}, 1, -1), []float64{0, 0}},
		{"6: mod", func() *Array {
			return Mod(f(1, -1, 1, -1, 5, 0, 1, inf), f(inf, inf, -inf, -inf, -inf, -inf, 0, 5))
		}, []float64{1, inf, -inf, -1, -inf, 0, nan, nan}},
		{"7: the slope of a running maximum after a NaN", slope(extremum(CumMax), 1, nan, 3), []float64{1, 0, 0}},
		{"8: of a minimum", slope(extremum(CumMin), 1, nan, 3), []float64{1, 0, 0}},
		{"9: from the end", slope(extremum(CumMax, Reversed()), 1, nan, 3), []float64{0, 0, 1}},
		{"10: a NaN first", slope(extremum(CumMax), nan, 1, nan, 3), []float64{0, 0, 0, 0}},
		{"11: pow at y = 0; at x = 0 it is 0, where JAX has NaN", slope(power(0), inf, -inf, 0, 1, 2), []float64{
			0, 0, 0, 0, 0}},
		{"12: pow at y = 1", slope(power(1), inf, -inf, 0, nan), []float64{1, 1, 1, 1}},
		{"13: the derivative of pow's slope by y at y = 0 is 1/x", func() *Array {
			return Grad(func(y *Array) *Array {
				return Sum(Grad(func(x *Array) *Array { return Sum(Pow(x, y)) })(f(2, .5)))
			})(f(0, 0))
		}, []float64{.5, 2}},
	} {
		got := floatsOf(t, c.f())
		require.Len(t, got, len(c.want))
		for k, want := range c.want {
			require.True(t, want == got[k] || math.IsNaN(want) && math.IsNaN(got[k]), "case %d %s: got %v, want %v", i+
				1, c.description, got, c.want)
		}
	}
}
