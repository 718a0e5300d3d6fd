package stablehlo_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/graph/stablehlo"
	"xlarun/internal/long"
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

func exportInputs() []graph.Shape {
	return []graph.Shape{graph.ShapeOf(graph.Float32, 4, 3), graph.ShapeOf(graph.Float32, 3),
		graph.ShapeOf(graph.Float32, 4), graph.ShapeOf(graph.Int32)}
}

// composed is a random program that nests transforms, followed by its gradient.
func composed(seed uint64) func(in []*graph.Array) []*graph.Array {
	p := graphtest.Random(seed, true)
	return func(in []*graph.Array) []*graph.Array {
		gradient := graph.Grad(func(floats []*graph.Array) *graph.Array {
			sum := graph.Scalar(0, graph.Float64)
			for _, x := range p.Fn(append(floats[:3:3], in[3])) {
				sum = sum.Add(x.Sin().Sum())
			}
			return sum
		})(in[:3])
		return append(p.Fn(in), gradient...)
	}
}

// composedSeeds is the number of the random programs that JAX computed.
const composedSeeds = 40

// exportOf returns a program of some inputs, and its text.
func exportOf(t *testing.T, name string, inputs []graph.Shape,
	f func(in []*graph.Array) []*graph.Array) (*graph.Program, string) {
	t.Helper()
	var abstract []any
	for _, s := range inputs {
		abstract = append(abstract, graph.Abstract(s))
	}
	p, err := graph.TraceArgs(name, abstract, graph.TraceOptions{}, func(args []any) any {
		in := make([]*graph.Array, len(args))
		for i, a := range args {
			in[i] = a.(*graph.Array)
		}
		return f(in)
	})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, lower.Export(&text, p), name)
	return p, text.String()
}

// Random programs and their gradients come back from what lower.Export writes: the function that stablehlo.Parse
// reads has their values, and so has its own export.
func TestRandomProgramsComeBack(t *testing.T) {
	count := 25
	if long.On() {
		count = 2000
	}
	for seed := range uint64(count) {
		name := fmt.Sprint("random program ", seed)
		p, text := exportOf(t, "main", graphtest.Inputs(), composed(seed))
		in := graphtest.Values(rand.New(rand.NewPCG(seed, 1)))
		want, err := p.Interpret(in, nil)
		require.NoError(t, err, name)
		for range 2 {
			f, err := stablehlo.Parse("f.mlir", text)
			require.NoError(t, err, name)
			var back *graph.Program
			back, text = exportOf(t, "main", graphtest.Inputs(), func(in []*graph.Array) []*graph.Array {
				return f.Call(in...)
			})
			got, err := back.Interpret(in, nil)
			require.NoError(t, err, name)
			require.Len(t, got, len(want), name)
			for i := range want {
				graphtest.Near(t, graphtest.Floats(t, want[i]), graphtest.Floats(t, got[i]), 1e-12, name)
			}
		}
	}
}

// What lower.Export writes has in jax.export.deserialize the values that it has here, and so have random
// programs with their gradients.
func TestExport(t *testing.T) {
	var file struct {
		Cases []struct {
			Name            string
			Inputs, Outputs []oracles.Array
		}
	}
	if *mlirDir == "" {
		require.NoError(t, oracles.Read("testdata/jax_import.json", &file))
		require.Len(t, file.Cases, len(exports)+composedSeeds)
	}
	write := func(name, text string) {
		require.NotContains(t, text, "custom_call")
		if *mlirDir != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*mlirDir, name+".mlir"), []byte(text), 0o600))
		}
	}
	for name, f := range exports {
		_, text := exportOf(t, name, exportInputs(), f)
		require.Contains(t, text, "func.func public @main(%arg0: tensor<4x3xf32>")
		write(name, text)
	}
	seeded := map[string]func(in []*graph.Array) []*graph.Array{}
	for seed := range uint64(composedSeeds) {
		name := fmt.Sprintf("random_%03d", seed)
		seeded[name] = composed(seed)
		if *mlirDir != "" {
			_, text := exportOf(t, name, graphtest.Inputs(), seeded[name])
			write(name, text)
		}
	}
	var in [][]*graph.Array
	fixed := file.Cases[:0:0]
	for _, c := range file.Cases {
		if f, ok := seeded[c.Name]; ok {
			out, err := xlabridge.Jit(&xlabridge.Reference{}, f)(arrays(c.Inputs))
			require.NoError(t, err)
			equal(t, c.Outputs, out, 1e-9)
			delete(seeded, c.Name)
			continue
		}
		fixed, in = append(fixed, c), append(in, arrays(c.Inputs))
	}
	if *mlirDir != "" {
		return // JAX has not computed them
	}
	require.Empty(t, seeded)
	client := xlatest.Open(t, 1)
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, client} {
		out, err := xlabridge.Jit(b, func(in [][]*graph.Array) (out [][]*graph.Array) {
			for i, c := range fixed {
				out = append(out, exports[c.Name](in[i]))
			}
			return out
		})(in)
		require.NoError(t, err)
		for i, c := range fixed {
			equal(t, c.Outputs, out[i], 2e-6)
		}
	}
}

// An array from outside of the function is a constant of the text, as in jax.export. It was refused.
func TestExportOfCapturedArrays(t *testing.T) {
	outside := graph.Iota(5000).Convert(graph.Float32).Add(.5)
	held, err := graph.Eval([]*graph.Array{outside, outside.Mul(2)})
	require.NoError(t, err)
	f := func(in []*graph.Array) []*graph.Array {
		end, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
			return c.Mul(.5).Add(held[1]), graph.None{}
		}, in[0].Add(held[0]), graph.None{}, graph.Length(2))
		return []*graph.Array{end}
	}
	p, text := exportOf(t, "main", []graph.Shape{held[0].Shape()}, f)
	require.Len(t, p.Captured, 2)
	g, err := stablehlo.Parse("main", text)
	require.NoError(t, err)
	require.Len(t, g.Inputs(), 1)
	x := graph.Iota(5000).Convert(graph.Float32).Sin()
	graphtest.Near(t, graphtest.Floats(t, f([]*graph.Array{x})[0]), graphtest.Floats(t, g.Call(x)[0]), 1e-6, "captured")
}

// A program that runs on several devices is refused.
func TestExportRefuses(t *testing.T) {
	vector := graph.Abstract(graph.ShapeOf(graph.Float32, 5000))
	p, err := graph.TraceArgs("g", []any{vector}, graph.TraceOptions{Replicas: 2}, func(a []any) any { return a[0] })
	require.NoError(t, err)
	require.ErrorContains(t, lower.Export(&strings.Builder{}, p), "runs on 2 devices")
}
