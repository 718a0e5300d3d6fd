package xlabridge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Every sample of every op gives on XLA what it gives on the reference interpreter. All samples of one op are one
// program, so that the table costs one compilation an op.
func TestTableAgainstXLA(t *testing.T) {
	client := always(open(t, Options{}))
	for _, name := range slices.Sorted(maps.Keys(graph.Table)) {
		t.Run(name, func(t *testing.T) {
			cases := graph.Table[name].Cases()
			r := rand.New(rand.NewPCG(1, 2))
			in := make([][]*graph.Array, len(cases))
			for i, c := range cases {
				for _, s := range c.Inputs {
					in[i] = append(in[i], graph.RandomCaseInput(r, s, c))
				}
			}
			all := func(in [][]*graph.Array) []*graph.Array {
				var out []*graph.Array
				for i, c := range cases {
					out = append(out, c.Fn(in[i]))
				}
				return out
			}
			want, err := Jit1(&Reference{}, all)(in)
			require.NoError(t, err)
			p, err := graph.Trace(name, all, in)
			require.NoError(t, err)
			got, err := Jit1(client, all)(in)
			require.NoError(t, err, p.Graph)
			for i, c := range cases {
				closeArrays(t, want[i], got[i], c.Tol, fmt.Sprintf("case %d %s", i, c.Name))
			}
		})
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
	w, err := graph.Floats(want)
	require.NoError(t, err)
	g, err := graph.Floats(got)
	require.NoError(t, err)
	for i := range w {
		require.True(t, alike(w[i], g[i], tol), "%s: element %d is %v, want %v", msg, i, g[i], w[i])
	}
}
