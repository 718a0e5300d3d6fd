package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// interpretLowered runs a program as a target gets it, with the reference interpreter.
func interpretLowered(t *testing.T, target graph.Target, p *graph.Program, in ...*graph.Tensor) []*graph.Tensor {
	t.Helper()
	l, err := Lower(p, target)
	require.NoError(t, err)
	out, err := graph.Interpret(l.Graph, in, nil)
	require.NoError(t, err)
	return out
}

// A product with a stack of a few numbers is a sum on accelerators, without the stack, and has the same results. Longer
// stacks, stacks of longer parts and other dtypes stay.
func TestStackedProducts(t *testing.T) {
	stacked := func(parts, size int, d graph.DType) *graph.Program {
		in := []any{graph.Abstract(graph.ShapeOf(d, parts, 3, size)), graph.Abstract(graph.ShapeOf(d, 3, parts*size,
			5))}
		p, err := graph.TraceArgs("observe", in, graph.TraceOptions{}, func(args []any) any {
			x, w := args[0].(*graph.Array), args[1].(*graph.Array)
			var all []*graph.Array
			for i := range parts {
				all = append(all, graph.Index(x, i).Mul(2))
			}
			return graph.VMap2(func(x, w *graph.Array) *graph.Array {
				return x.Dot(w)
			})(graph.Concatenate(1, all...), w)
		})
		require.NoError(t, err)
		return p
	}
	for _, c := range []struct {
		what        string
		parts, size int
		dtype       graph.DType
		dots        int // that are left
	}{
		{"an observation", 4, 1, graph.Float32, 0},
		{"the most", mostSummed, 1, graph.Float32, 0},
		{"too many", mostSummed + 1, 1, graph.Float32, 1},
		{"longer parts", 2, 3, graph.Float32, 1},
		{"bfloat16", 4, 1, graph.BFloat16, 1},
	} {
		p := stacked(c.parts, c.size, c.dtype)
		for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
			require.Equal(t, c.dots, opsOf(t, target, p)["dot_general"], "%s", c.what)
		}
		require.Equal(t, 1, opsOf(t, graph.TargetCPU, p)["dot_general"], "CPUs")
		var in []*graph.Tensor
		for i, a := range p.Inputs {
			x := newTensor(a)
			for k := range x.V {
				x.SetF(k, float64((k*7+i)%11)-5)
			}
			in = append(in, x)
		}
		require.Equal(t, interpretLowered(t, graph.TargetCPU, p, in...)[0].V,
			interpretLowered(t, graph.TargetCUDA, p, in...)[0].V,
			"%s", c.what)
	}
}

// A scan's large constant that is a slice of a larger array is sliced in each iteration on accelerators, with the same
// results. Small ones, and those of CPUs, are sliced in front of the loop.
func TestSlicesInLoops(t *testing.T) {
	program := func(columns int) *graph.Program {
		p, err := graph.TraceArgs("tile", []any{graph.Abstract(graph.ShapeOf(graph.Float32, 3, 16, columns)),
			graph.Abstract(graph.ShapeOf(graph.Int32))},
			graph.TraceOptions{}, func(args []any) any {
				row := graph.DynamicIndex(args[0].(*graph.Array), args[1].(*graph.Array), 0)
				end, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
					return c.Mul(.5).Add(graph.Sum(row, 1)), graph.None{}
				}, graph.Zeros(graph.ShapeOf(graph.Float32, 16)), graph.None{}, graph.Length(3))
				return end
			})
		require.NoError(t, err)
		return p
	}
	large, small := program(leastSliced/4/16), program(leastSliced/4/16-1)
	slicedInLoop := func(target graph.Target, p *graph.Program) bool {
		l, err := Lower(p, target)
		require.NoError(t, err)
		for _, n := range l.Graph.Nodes {
			if n.Op.Name == "while" && n.Bodies[1].Uses("dynamic_slice") {
				return true
			}
		}
		return false
	}
	for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
		require.True(t, slicedInLoop(target, large), "%s", target)
		require.False(t, slicedInLoop(target, small), "%s", target)
	}
	require.False(t, slicedInLoop(graph.TargetCPU, large), "CPUs")
	x, at := newTensor(large.Inputs[0]), newTensor(large.Inputs[1])
	for k := range x.V {
		x.SetF(k, float64(k%13)-6)
	}
	for _, place := range []float64{-1, 0, 2, 9} { // clamped to the array
		at.SetF(0, place)
		require.Equal(t, interpretLowered(t, graph.TargetCPU, large, x, at)[0].V,
			interpretLowered(t, graph.TargetCUDA, large, x, at)[0].V, "at %g", place)
	}
}

// The products of many members in a loop are sums on a GPU, and those with few results are a product for each on a TPU,
// with the same results, whichever operand is the vector. They stay outside of loops, of few members, of many terms, of
// two matrices, of other dtypes, and on CPUs.
func TestWrittenOutProducts(t *testing.T) {
	program := func(members, inputs, outputs int, d graph.DType, unroll int,
		layer func(w, x *graph.Array) *graph.Array) *graph.Program {
		in := []any{graph.Abstract(graph.ShapeOf(d, members, inputs, outputs)),
			graph.Abstract(graph.ShapeOf(d, members, inputs))}
		p, err := graph.TraceArgs("layer", in, graph.TraceOptions{}, func(args []any) any {
			layers := graph.VMap(func(p [2]*graph.Array) *graph.Array { return layer(p[0], p[1]) })
			w, x := args[0].(*graph.Array), args[1].(*graph.Array)
			if unroll == 0 {
				return layers([2]*graph.Array{w, x})
			}
			_, all := graph.Scan(func(x *graph.Array, _ graph.None) (*graph.Array, *graph.Array) {
				y := layers([2]*graph.Array{w, x})
				if y.Rank() == 2 && outputs > 1 { // as the head of a network
					y = y.Add(graph.Sum(w, 1))
					y = graph.Select(graph.IndexAxis(y, 1, 0).Gt(graph.IndexAxis(y, 1, 1)), 3.,
						graph.IndexAxis(y, 1, 1))
				}
				return x.Mul(2), y
			}, x, graph.None{}, graph.Length(6), graph.Unroll(unroll))
			return all
		})
		require.NoError(t, err)
		return p
	}
	vectorFirst := func(w, x *graph.Array) *graph.Array { return x.Dot(w) }
	matrixFirst := func(w, x *graph.Array) *graph.Array { return graph.Transpose(w, 1, 0).Dot(x) }
	for _, c := range []struct {
		what                     string
		members, inputs, outputs int
		dtype                    graph.DType
		unroll                   int // steps of an iteration; 0: there is no loop
		layer                    func(w, x *graph.Array) *graph.Array
		dots, rows               int // that are left on a GPU, and on a TPU
	}{
		{"a layer", leastMembers, 7, 9, graph.Float32, 1, vectorFirst, 0, 1},
		{"a layer with its matrix first", leastMembers, 7, 9, graph.Float32, 1, matrixFirst, 0, 1},
		{"few outputs", leastMembers, 7, fewOutputs, graph.Float32, 1, vectorFirst, 0, fewOutputs},
		// On a TPU a matrix that is transposed inside the loop is not cut.
		{"few outputs with the matrix first", leastMembers, 7, 2, graph.Float32, 1, matrixFirst, 0, 1},
		{"one input and one output", leastMembers, 1, 1, graph.Float32, 1, vectorFirst, 0, 1},
		{"the most terms", leastMembers, mostWritten, 2, graph.Float32, 1, vectorFirst, 0, 2},
		{"two steps in an iteration", leastMembers, 7, 2, graph.Float32, 2, vectorFirst, 0, 4},
		{"a layer, two steps in an iteration", leastMembers, 7, 9, graph.Float32, 2, vectorFirst, 0, 2},
		{"too many terms", leastMembers, mostWritten + 1, 2, graph.Float32, 1, vectorFirst, 1, 1},
		{"too few members", leastMembers - 1, 7, 9, graph.Float32, 1, vectorFirst, 1, 1},
		{"outside of a loop", leastMembers, 7, 9, graph.Float32, 0, vectorFirst, 1, 1},
		{"no terms", leastMembers, 0, 2, graph.Float32, 1, vectorFirst, 1, 1},
		{"bfloat16", leastMembers, 7, 9, graph.BFloat16, 1, vectorFirst, 1, 1},
		{"two matrices", leastMembers, 7, 9, graph.Float32, 1, func(w, _ *graph.Array) *graph.Array {
			return graph.Transpose(w, 1, 0).Dot(w)
		}, 1, 1},
	} {
		p := program(c.members, c.inputs, c.outputs, c.dtype, c.unroll, c.layer)
		require.Equal(t, c.dots, opsOf(t, graph.TargetCUDA, p)["dot_general"], c.what)
		require.Equal(t, c.rows, opsOf(t, graph.TargetTPU, p)["dot_general"], c.what)
		require.Equal(t, max(1, c.unroll), opsOf(t, graph.TargetCPU, p)["dot_general"], c.what)
		var in []*graph.Tensor
		for i, a := range p.Inputs {
			x := newTensor(a)
			for k := range x.V {
				x.SetF(k, float64((k*7+i)%11)-4.5) // not 0: a sum of one term keeps the sign of a 0
			}
			in = append(in, x)
		}
		want := interpretLowered(t, graph.TargetCPU, p, in...)[0].V
		for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
			require.Equal(t, want, interpretLowered(t, target, p, in...)[0].V, "%s on %s", c.what, target)
		}
	}
}
