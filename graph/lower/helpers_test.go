package lower

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
)

// Sizes from which, or up to which, rules of ops apply.
const (
	leastMembers      = 32
	fewOutputs        = 6
	mostWritten       = 64
	mostSummed        = 8
	leastSliced       = 1 << 20
	mostUnrolledSteps = 16
)

func newTensor(s graph.Shape) *graph.Tensor {
	return &graph.Tensor{Shape: s, V: make([]uint64, s.Size())}
}

func tensorOf(t *testing.T, a *graph.Array) *graph.Tensor {
	t.Helper()
	x, err := graph.ToTensor(a)
	require.NoError(t, err)
	return x
}

// randomInput is an input for a case of an op.
func randomInput(t *testing.T, r *rand.Rand, s graph.Shape, c graph.Case) *graph.Tensor {
	return tensorOf(t, c.Input(r, s))
}

// near compares two arrays; see graphtest.Near.
func near(t *testing.T, want, got *graph.Tensor, tol float64, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	require.Equal(t, want.Shape.String(), got.Shape.String(), what)
	graphtest.Near(t, want.Floats(), got.Floats(), tol, what)
}

// runProgram interprets a program before it is lowered.
func runProgram(t *testing.T, p *graph.Program, in []*graph.Tensor) []*graph.Tensor {
	t.Helper()
	for _, c := range p.Captured {
		in = append(in[:len(in):len(in)], tensorOf(t, c))
	}
	out, err := graph.Interpret(p.Graph, in, nil)
	require.NoError(t, err)
	return out
}

// forEachCase runs f for every sample of every op.
func forEachCase(t *testing.T, f func(t *testing.T, c graph.Case, r *rand.Rand)) {
	for _, name := range slices.Sorted(maps.Keys(graph.Table)) {
		o := graph.Table[name]
		if o.Cases == nil {
			continue
		}
		for i, c := range o.Cases() {
			t.Run(name+"/"+fmt.Sprint(i, " ", c.Name), func(t *testing.T) {
				if c.Tol == 0 {
					c.Tol = 1e-6
				}
				f(t, c, rand.New(rand.NewPCG(uint64(i), 7)))
			})
		}
	}
}
