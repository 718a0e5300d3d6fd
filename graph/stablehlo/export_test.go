package stablehlo_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

var mlirDir = flag.String("mlir", "", "TestExport writes its programs into this folder")

// exports are programs that go out, by name.
var exports = map[string]func(in []*graph.Array) []*graph.Array{
	"dense": func(in []*graph.Array) []*graph.Array {
		return []*graph.Array{graph.Tanh(in[2].Dot(in[0]).Add(in[1]))}
	},
	"gradient": func(in []*graph.Array) []*graph.Array {
		loss := func(w *graph.Array) *graph.Array { return in[2].Dot(w).Add(in[1]).Square().Mean() }
		return []*graph.Array{loss(in[0]), graph.Grad(loss)(in[0])}
	},
	"population": func(in []*graph.Array) []*graph.Array {
		return []*graph.Array{graph.VMap(func(row *graph.Array) *graph.Array {
			end, path := graph.Scan(func(c, x *graph.Array) (*graph.Array, *graph.Array) {
				c = c.Mul(.5).Add(x)
				return c, c.Sin()
			}, graph.Scalar(1), row)
			return graph.Concatenate(0, end.Reshape(1), graph.Sort(path, 0))
		})(in[0])}
	},
	"random": func(in []*graph.Array) []*graph.Array {
		key := random.FoldIn(random.New(3), in[3])
		return []*graph.Array{random.Normal(key, graph.ShapeOf(graph.Float32, 4)), in[2].ArgMax(0)}
	},
}

func exportInputs() []any {
	return []any{graph.Abstract(graph.ShapeOf(graph.Float32, 4, 3)), graph.Abstract(graph.ShapeOf(graph.Float32, 3)),
		graph.Abstract(graph.ShapeOf(graph.Float32, 4)), graph.Abstract(graph.ShapeOf(graph.Int32))}
}

// 30.13: what Program.Export writes has in jax.export.deserialize the values that it has here.
func TestExport(t *testing.T) {
	var file struct {
		Cases []struct {
			Name            string
			Inputs, Outputs []oracles.Array
		}
	}
	if *mlirDir == "" {
		require.NoError(t, oracles.Read("testdata/jax_import.json", &file))
		require.Len(t, file.Cases, len(exports))
	}
	for name, f := range exports {
		p, err := graph.TraceArgs(name, exportInputs(), graph.TraceOptions{}, func(args []any) any {
			in := make([]*graph.Array, len(args))
			for i, a := range args {
				in[i] = a.(*graph.Array)
			}
			return f(in)
		})
		require.NoError(t, err)
		var text strings.Builder
		require.NoError(t, p.Export(&text))
		require.Contains(t, text.String(), "func.func public @main(%arg0: tensor<4x3xf32>")
		require.NotContains(t, text.String(), "custom_call")
		if *mlirDir != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*mlirDir, name+".mlir"), []byte(text.String()), 0o600))
		}
	}
	client := xlatest.Open(t, 1)
	var in [][]*graph.Array
	for _, c := range file.Cases {
		in = append(in, arrays(c.Inputs))
	}
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, client} {
		out, err := xlabridge.Jit1(b, func(in [][]*graph.Array) (out [][]*graph.Array) {
			for i, c := range file.Cases {
				out = append(out, exports[c.Name](in[i]))
			}
			return out
		})(in)
		require.NoError(t, err)
		for i, c := range file.Cases {
			equal(t, c.Outputs, out[i], 2e-6)
		}
	}
}

// 30.14: a program that cannot stand alone is refused.
func TestExportRefuses(t *testing.T) {
	outside := graph.Float32s(make([]float32, 5000)) // small arrays become constants
	vector := graph.Abstract(graph.ShapeOf(graph.Float32, 5000))
	p, err := graph.Trace("f", func(x *graph.Array) *graph.Array { return x.Add(outside) }, vector)
	require.NoError(t, err)
	require.ErrorContains(t, p.Export(&strings.Builder{}), "uses an array f32[5000] from outside (1 in all)")
	p, err = graph.TraceArgs("g", []any{vector}, graph.TraceOptions{Replicas: 2}, func(a []any) any { return a[0] })
	require.NoError(t, err)
	require.ErrorContains(t, p.Export(&strings.Builder{}), "runs on 2 devices")
}
