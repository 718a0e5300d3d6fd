package xlabridge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/internal/long"
)

// tableOp is an op of the table with its samples, their ordinary inputs, and all samples as one function.
type tableOp struct {
	name  string
	cases []graph.Case
	in    [][]*array
	all   func(in [][]*array) []*array
}

// Every sample of every op gives on XLA what it gives on the reference interpreter, of ordinary and of extreme numbers.
// All samples of 22 ops are one program, which takes less time to compile than a program for each.
func TestTableAgainstXLA(t *testing.T) {
	t.Parallel()
	client := always(open(t, Options{}))
	for names := range slices.Chunk(slices.Sorted(maps.Keys(graph.Table)), 22) {
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			var ops []tableOp
			for _, name := range names {
				cases := graph.Table[name].Cases()
				switch name { // the longest programs
				case "svd", "qr": // of TestLinalgOnXLA, too
					cases = long.Sample(cases, func(graph.Case) string { return "" })
				case "eig", "search_sorted", "threefry_draw", "triangular_solve":
					cases = long.Sample(cases, func(c graph.Case) string {
						return fmt.Sprint(c.Inputs[0].DType, len(c.Inputs[0].Dims))
					})
				}
				r := rand.New(rand.NewPCG(1, 2))
				in := make([][]*graph.Array, len(cases))
				for i, c := range cases {
					for _, s := range c.Inputs {
						in[i] = append(in[i], c.Input(r, s))
					}
				}
				ops = append(ops, tableOp{name, cases, in, func(in [][]*graph.Array) (out []*graph.Array) {
					for i, c := range cases {
						out = append(out, c.Fn(in[i]))
					}
					return out
				}})
			}
			compiled := Jit(client, func(in [][][]*graph.Array) (out [][]*graph.Array) {
				for i, op := range ops {
					out = append(out, op.all(in[i]))
				}
				return out
			})
			var in [][][]*graph.Array
			for _, op := range ops {
				in = append(in, op.in)
			}
			got, err := compiled(in)
			require.NoError(t, err)
			for k, op := range ops {
				want, err := Jit(&Reference{}, op.all)(op.in)
				require.NoError(t, err)
				for i, c := range op.cases {
					closeArrays(t, want[i], got[k][i], c.Tol, fmt.Sprintf("%s, case %d %s", op.name, i, c.Name))
				}
			}
			checkExtremes(t, ops, compiled)
		})
	}
}

// sample is a call of a function that shares a program with others.
type sample struct {
	name string
	f    func(in []*array) []*array
	in   []*array
}

// together runs samples as one program, which takes less time to compile than a program for each.
func together(t *testing.T, b Backend, calls []sample) (results [][]*array) {
	t.Helper()
	in := make([][]*array, len(calls))
	for i, c := range calls {
		in[i] = c.in
	}
	results, err := Jit(b, func(in [][]*array) (out [][]*array) {
		for i, c := range calls {
			out = append(out, c.f(in[i]))
		}
		return out
	})(in)
	require.NoError(t, err)
	return results
}

// sameTogether compares samples, some a program, with the reference.
func sameTogether(t *testing.T, b Backend, calls []sample, some int, tolerance map[graph.DType]float64) {
	t.Helper()
	for calls := range slices.Chunk(calls, some) {
		want, got := together(t, &Reference{}, calls), together(t, b, calls)
		for i, c := range calls {
			for k := range want[i] {
				closeArrays(t, want[i][k], got[i][k], tolerance[c.in[0].DType()], fmt.Sprint(c.name, ", result ", k))
			}
		}
	}
}

// closeArrays compares two concrete arrays; tol 0 means 2e-6.
func closeArrays(t *testing.T, want, got *graph.Array, tol float64, msg string) {
	t.Helper()
	if tol == 0 {
		tol = 2e-6
	}
	switch want.DType() {
	case graph.BFloat16:
		tol = 1e-2
	case graph.Float16:
		tol = 2e-3
	}
	require.Equal(t, want.Shape().String(), got.Shape().String(), msg)
	w := graphtest.Floats(t, want)
	g := graphtest.Floats(t, got)
	for i := range w {
		if !alike(w[i], g[i], tol) {
			require.Failf(t, msg, "element %d is %v, want %v", i, g[i], w[i])
		}
	}
}
