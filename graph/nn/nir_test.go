package nn_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/nn/nir/hdf5"
	"xlarun/third_party/oracles"
)

// update writes nir/testdata/go.nir and, by the Python that XLARUN_NIR_PYTHON names, go.json.
var update = flag.Bool("update", false, "write the files of the round trip anew")

var surrogate = nn.Surrogate{Kind: "arctan"}

func packed(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("nir", "testdata", name))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return b
}

// runLayers runs layers along time, x [steps, inputs].
func runLayers(t *testing.T, layers []any, x *graph.Array) *graph.Array {
	t.Helper()
	for _, l := range layers {
		switch l := l.(type) {
		case nn.Dense:
			x = l.Apply(x)
		case nn.LIF:
			_, x = l.Apply(graph.ZerosLike(x.Index(0)), x)
		case nn.Conv:
			x = graph.VMap(l.Apply)(x)
		case spatial:
			x = l.Apply(x)
		case nir.Flatten:
			x = l.Apply(x)
		case nn.CuBaLIF:
			_, x = l.Apply(l.Start(x.Dim(1)), x)
		case nn.LI:
			_, x = l.Apply(l.Start(x.Dim(1)), x)
		default:
			t.Fatalf("layer %T", l)
		}
	}
	return x
}

func rows(v [][]float64) *graph.Array {
	var all []float32
	for _, r := range v {
		for _, x := range r {
			all = append(all, float32(x))
		}
	}
	return graph.Float32s(all, len(v), len(v[0]))
}

func alike(t *testing.T, want, got *graph.Array, tol float64, what string) {
	t.Helper()
	require.Equal(t, want.Dims(), got.Dims(), what)
	w := floats(t, want)
	g := floats(t, got)
	require.InDeltaSlice(t, w, g, tol, what)
}

type vectors struct {
	Python struct {
		DT   float64
		X    [][]float64
		Read [][]float64
	}
	Spyx struct {
		X      [][]float64
		Spikes [][]float64
	}
}

// Files from Python, run as layers, give the results of NIR's equations and of Spyx.
func TestFilesOfPython(t *testing.T) {
	var v vectors
	require.NoError(t, oracles.Read("nir/testdata/graphs.json", &v))
	g, err := nir.Read(packed(t, "python.nir.gz"))
	require.NoError(t, err)
	layers, err := g.Layers(nir.Scale{DT: v.Python.DT}, surrogate)
	require.NoError(t, err)
	require.Len(t, layers, 6)
	require.NotNil(t, layers[1].(nn.LIF).Wh)
	require.Equal(t, surrogate, layers[1].(nn.LIF).Surrogate)
	alike(t, rows(v.Python.Read), runLayers(t, layers, rows(v.Python.X)), 2e-5, "the equations of NIR")
	made, ok := g.Nodes["last"].Metadata.Items["made"].(*hdf5.Set)
	require.True(t, ok)
	text, err := made.Text()
	require.NoError(t, err)
	require.Equal(t, "by hand", text)

	g, err = nir.Read(packed(t, "spyx.nir.gz"))
	require.NoError(t, err)
	layers, err = g.Layers(nir.Scale{DT: 1, Rule: "spyx"}, surrogate)
	require.NoError(t, err)
	alike(t, rows(v.Spyx.Spikes), runLayers(t, layers, rows(v.Spyx.X)), 0, "spikes of Spyx")
}

func ramp(from, to float32, dims ...int) *graph.Array {
	n := 1
	for _, d := range dims {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = from + (to-from)*float32(i*7%n)/float32(n)
	}
	return graph.Float32s(v, dims...)
}

// network has a layer of each kind, numbers for all units and one for each.
func network() []any {
	return []any{
		nn.Dense{W: ramp(-1, 2, 3, 5), B: ramp(0, .2, 5)}, nn.LIF{Beta: ramp(.5, .95, 5), Threshold: graph.Scalar(.8),
			Wh: ramp(-.5, .5, 5, 5)},
		nn.Dense{W: ramp(-1, 2, 5, 4)}, nn.CuBaLIF{Alpha: graph.Scalar(.4), Beta: ramp(.6, .9, 4),
			Threshold: ramp(.7, 1.2, 4)},
		nn.Dense{W: ramp(-1, 1, 4, 2), B: ramp(-.1, .1, 2)}, nn.LI{Beta: graph.Scalar(.8)},
	}
}

// What layers are written as they are read as: weights, and outputs along time, by every rule. Every node keeps NIR's
// scale: in a file of the rules exact and euler an input of 1 moves v by 1 in a step.
func TestRoundTrip(t *testing.T) {
	x := ramp(0, 1, 40, 3)
	want := runLayers(t, network(), x)
	for _, rule := range []string{"", "exact", "euler", "spyx"} {
		scale := nir.Scale{DT: 1e-3, Rule: rule}
		g, err := nir.FromLayers(scale, network()...)
		require.NoError(t, err, rule)
		file, err := g.Write()
		require.NoError(t, err, rule)
		again, err := nir.Read(file)
		require.NoError(t, err, rule)
		require.Equal(t, g, again, rule)
		layers, err := again.Layers(scale, surrogate)
		require.NoError(t, err, rule)
		alike(t, want, runLayers(t, layers, x), 1e-4, "the rule "+rule)
	}
}

// Our file, and what Python's nir reads of it: nir/testdata/go.nir is what we write, nir/testdata/go.json what
// `nir_graphs.py read go.nir` prints. With XLARUN_NIR_PYTHON, a Python that has nir, it reads the file now.
func TestPythonReadsOurs(t *testing.T) {
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, network()...)
	require.NoError(t, err)
	ours, err := g.Write()
	require.NoError(t, err)
	python := os.Getenv("XLARUN_NIR_PYTHON")
	if *update {
		require.NoError(t, os.WriteFile("nir/testdata/go.nir", ours, 0o644))
	}
	kept, err := os.ReadFile("nir/testdata/go.nir")
	require.NoError(t, err)
	require.Equal(t, kept, ours, "another file: let Python read it anew, with -update and XLARUN_NIR_PYTHON")
	if python != "" {
		out, err := exec.CommandContext(t.Context(), python, "../../third_party/oracles/nir_graphs.py", "read",
			"nir/testdata/go.nir").Output()
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile("nir/testdata/go.json", out, 0o644))
		}
		seen, err := os.ReadFile("nir/testdata/go.json")
		require.NoError(t, err)
		require.JSONEq(t, string(seen), string(out))
	}
	text, err := os.ReadFile("nir/testdata/go.json")
	require.NoError(t, err)
	var read struct {
		Version string
		Edges   [][2]string
		Nodes   map[string]map[string]any
	}
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&read))
	require.Equal(t, nir.Version, read.Version)
	require.ElementsMatch(t, g.Edges, read.Edges)
	require.Len(t, read.Nodes, len(g.Nodes))
	for name, n := range g.Nodes {
		require.Equal(t, n.Type, read.Nodes[name]["type"], name)
		for key, set := range n.Params {
			want, err := set.Floats()
			require.NoError(t, err)
			require.InDeltaSlice(t, want, flat(read.Nodes[name][key]), 1e-6, name+" "+key)
		}
	}
}

// flat are the numbers in lists of lists.
func flat(v any) (out []float64) {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		for _, x := range v {
			out = append(out, flat(x)...)
		}
	}
	return out
}
