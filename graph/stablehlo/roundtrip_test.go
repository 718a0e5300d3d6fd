package stablehlo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/stablehlo"
	"xlarun/xlabridge"
)

// What Program.Export writes, Parse reads: every sample of every op has the same results then.
func TestExportsAreRead(t *testing.T) {
	var cases []graph.Case
	for _, name := range slices.Sorted(maps.Keys(graph.Table)) {
		for i, c := range graph.Table[name].Cases() {
			c.Name = fmt.Sprintf("%s %d %s", name, i, c.Name)
			cases = append(cases, c)
		}
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var args []any
			for _, s := range c.Inputs {
				args = append(args, graph.Abstract(s))
			}
			call := func(args []any) any {
				var in []*graph.Array
				for _, a := range args {
					in = append(in, a.(*graph.Array))
				}
				return c.Fn(in)
			}
			p, err := graph.TraceArgs("f", args, graph.TraceOptions{}, call)
			require.NoError(t, err)
			var text strings.Builder
			if err := p.Export(&text); err != nil {
				t.Skip(err)
			}
			f, err := stablehlo.Parse("f.mlir", text.String())
			if err != nil && os.Getenv("SHOW") != "" {
				fmt.Println(text.String())
			}
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 2))
			var in []*graph.Array
			for _, s := range c.Inputs {
				in = append(in, graph.RandomCaseInput(r, s, c))
			}
			want, err := xlabridge.Jit1(&xlabridge.Reference{}, func(in []*graph.Array) []*graph.Array {
				return []*graph.Array{c.Fn(in)}
			})(in)
			require.NoError(t, err)
			got, err := xlabridge.Jit1(&xlabridge.Reference{}, func(in []*graph.Array) []*graph.Array {
				return f.Call(in...)
			})(in)
			require.NoError(t, err)
			near(t, want[0], got[0])
		})
	}
}

func near(t *testing.T, want, got *graph.Array) {
	if want.DType() == graph.Complex64 {
		near(t, graph.Real(want), graph.Real(got))
		near(t, graph.Imag(want), graph.Imag(got))
		return
	}
	w, err := graph.Floats(want)
	require.NoError(t, err)
	g, err := graph.Floats(got)
	require.NoError(t, err)
	require.InDeltaSlice(t, w, g, 1e-4)
}
