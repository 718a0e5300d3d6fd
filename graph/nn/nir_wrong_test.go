package nn_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/nn/nir/hdf5"
)

// Each mistake is one sentence that says where it is.
func TestBadInput(t *testing.T) {
	good := nir.Scale{DT: 1e-3}
	made := func(change func(g *nir.Graph)) func() error {
		return func() error {
			g, err := nir.FromLayers(good, network()...)
			if err != nil {
				return err
			}
			change(g)
			_, err = g.Layers(good, surrogate)
			return err
		}
	}
	from := func(s nir.Scale, layers ...any) func() error {
		return func() error { _, err := nir.FromLayers(s, layers...); return err }
	}
	dense := nn.Dense{W: graph.Ones(graph.ShapeOf(graph.Float32, 2, 3))}
	of := func(v ...float32) *hdf5.Set { return &hdf5.Set{Dims: []int{len(v)}, Data: v} }
	for i, c := range []struct {
		do   func() error
		want string
	}{
		{from(nir.Scale{}, dense), "got the step DT 0"},
		{from(nir.Scale{DT: 1, Rule: "rk4"}, dense), `got the rule "rk4", want exact, euler or spyx`},
		{from(good), "there is no layer whose sizes say how many inputs there are"},
		{from(good, nn.LI{Beta: graph.Scalar(.5)}), "put an nn.Dense before it"},
		{from(good, dense, nn.LIF{Beta: graph.Scalar(1), Threshold: graph.Scalar(1)}), "tau of neuron 0: got the " +
			"decay 1, want one above 0 and below 1"},
		{from(good, dense, nn.LIF{Beta: graph.Scalar(0), Threshold: graph.Scalar(1)}), "got the decay 0"},
		{from(good, dense, nn.LIF{Beta: graph.Ones(graph.ShapeOf(graph.Float32, 2)), Threshold: graph.Scalar(1)}),
			"tau: got f32[2], want one number or [3]"},
		{from(good, dense, dense), "it takes 2 inputs, the layer before gives 3"},
		{from(good, dense, nn.ALIF{}), "layer 1, nn.ALIF: NIR has no node for it"},
		{made(func(g *nir.Graph) { g.Nodes["3"].Type = "IF" }), "3, IF: there is no layer for it"},
		{made(func(g *nir.Graph) { delete(g.Nodes, "2") }), "there is an edge 1 to 2, but no node 2"},
		{made(func(g *nir.Graph) {
			g.Edges = append(g.Edges, [2]string{"0", "4"})
		}), "the graph is no chain: after 0 comes 1, 4"},
		{made(func(g *nir.Graph) { g.Edges = g.Edges[:2] }), "the graph is no chain: after 1 comes"},
		{made(func(g *nir.Graph) {
			g.Nodes["again"] = &nir.Node{Type: "Input"}
		}), "the graph has the inputs again and input, want one"},
		{made(func(g *nir.Graph) { g.Nodes["1"].Params["v_reset"] = of(0, 0, 0, 0, .1) }), "v_reset is not 0"},
		{made(func(g *nir.Graph) {
			g.Nodes["1"].Params["tau"] = of(1, 1, 1, -1, 1)
		}), "tau of neuron 3: got the time constant -1 s"},
		{made(func(g *nir.Graph) { delete(g.Nodes["3"].Params, "r") }), "3, CubaLIF: it has no r"},
		{made(func(g *nir.Graph) { g.Nodes["3"].Params["r"] = of(1, 2) }), "r is of dims [2], want [4]"},
		{made(func(g *nir.Graph) {
			g.Nodes["1"].Params["r"] = of(1, 1, 0, 1, 1)
		}), "neuron 2 moves by 0 for an input of 1"},
		{made(func(g *nir.Graph) { g.Nodes["0"].Params["weight"] = of(1) }), "it has no weight [out, in]"},
		{func() error { _, err := nir.Read(nil); return err }, "does not begin as one of HDF5 does"},
		{func() error {
			g, err := nir.FromLayers(good, network()...)
			if err == nil {
				_, err = g.Layers(nir.Scale{DT: 1, Rule: "euler"}, surrogate)
			}
			return err
		}, "with steps of 1 s, want one that is no shorter"},
	} {
		require.ErrorContains(t, c.do(), c.want, "%d", i+1)
	}
}

// A recurrent layer can be a nested graph, as spyx.nir writes it, where the input also goes to the recurrent weights.
func TestGraphsWithinGraphs(t *testing.T) {
	scale := nir.Scale{DT: 1e-3}
	g, err := nir.FromLayers(scale, network()...)
	require.NoError(t, err)
	nested := &nir.Graph{Nodes: map[string]*nir.Node{}}
	for name, n := range g.Nodes {
		nested.Nodes[name] = n
	}
	inner := &nir.Graph{
		Nodes: map[string]*nir.Node{"in": {Type: "Input", Params: map[string]*hdf5.Set{}},
			"out": {Type: "Output", Params: map[string]*hdf5.Set{}}, "lif": g.Nodes["1"], "w": g.Nodes["1.w_rec"]},
		Edges: [][2]string{{"in", "w"}, {"w", "lif"}, {"lif", "w"}, {"lif", "out"}},
	}
	delete(nested.Nodes, "1.w_rec")
	nested.Nodes["1"] = &nir.Node{Type: "NIRGraph", Sub: inner, Params: map[string]*hdf5.Set{}}
	for _, e := range g.Edges {
		if e[0] != "1.w_rec" && e[1] != "1.w_rec" {
			nested.Edges = append(nested.Edges, e)
		}
	}
	file, err := nested.Write()
	require.NoError(t, err)
	again, err := nir.Read(file)
	require.NoError(t, err)
	layers, err := again.Layers(scale, surrogate)
	require.NoError(t, err)
	x := ramp(0, 1, 40, 3)
	alike(t, runLayers(t, network(), x), runLayers(t, layers, x), 1e-4, "a graph within a graph")
}

// TestFilesThatAreNone: a pipe, a folder and a file of a terabyte, which is a hole that takes no room on
// the disk, are refused before they are read. The pipe waited for ever, the hole ended the program.
func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	pipe, hole := filepath.Join(dir, "pipe.nir"), filepath.Join(dir, "hole.nir")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(hole, []byte("\x89HDF\r\n\x1a\n"), 0o600))
	if err := os.Truncate(hole, 1<<40); err != nil {
		t.Skip("this disk has no files with holes: ", err)
	}
	for name, want := range map[string]string{
		pipe: "pipe.nir: it is no file", dir: "it is no file",
		hole: "hole.nir: it has 1099511627776 bytes, want at most 2147483648",
	} {
		_, err := nir.ReadFile(name)
		require.ErrorContains(t, err, want)
	}
}
