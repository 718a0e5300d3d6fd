package nn_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/nn/nir/hdf5"
	"xlarun/third_party/oracles"
)

// Convolutions in files from Python, run as layers, give the results of a NumPy loop over NIR's equations: strides,
// padding, dilation and groups, neurons of [features, height, width], and Flatten.
func TestConvolutionsOfPython(t *testing.T) {
	var v struct {
		DT   float64
		X    []float32 // [steps, height, width, features]
		Dims []int
		Read [][]float64
	}
	require.NoError(t, oracles.Read("nir/testdata/conv.json", &v))
	g, err := nir.Read(packed(t, "conv.nir.gz"))
	require.NoError(t, err)
	layers, err := g.Layers(nir.Scale{DT: v.DT}, surrogate)
	require.NoError(t, err)
	require.Equal(t, 2, layers[0].(nn.Conv).Groups)
	alike(t, rows(v.Read), runLayers(t, layers, graph.Float32s(v.X, v.Dims...)), 2e-5, "the equations of NIR")
}

func images() []any {
	return []any{
		nir.Input{Dims: []int{6, 7, 2}}, nn.Conv{W: ramp(-1, 2, 3, 2, 1, 4), B: ramp(0, .2, 4), Strides: []int{2, 1},
			Dilation: []int{1, 2}, Pads: [][2]int{{1, 1}, {2, 2}}, Groups: 2},
		nn.LIF{Beta: ramp(.5, .95, 4), Threshold: ramp(.5137, 1.0291, 3, 9, 4)}, nn.Conv{W: ramp(-1, 2, 2, 3, 4, 3),
			Same: true}, nn.CuBaLIF{Alpha: graph.Scalar(.53), Beta: graph.Scalar(.83), Threshold: graph.Scalar(1.0173)},
		nn.Conv{W: ramp(-1, 1, 1, 2, 3, 2)}, nir.Flatten{}, nn.Dense{W: ramp(-1, 1, 48, 2)},
		nn.LI{Beta: graph.Scalar(.8)},
	}
}

// What convolutions are written as they are read as, and Python's nir, where XLARUN_NIR_PYTHON names one that has it,
// reads the file and makes of it the shapes that we have.
func TestConvolutionsRoundTrip(t *testing.T) {
	x := ramp(0, 1, 20, 6, 7, 2)
	layers := images()
	cuba := layers[4].(nn.CuBaLIF)
	whole := graph.Ones(graph.ShapeOf(graph.Float32, 3, 9, 3))
	scale := nir.Scale{DT: 1e-3}
	g, err := nir.FromLayers(scale, layers...)
	require.NoError(t, err)
	file, err := g.Write()
	require.NoError(t, err)
	again, err := nir.Read(file)
	require.NoError(t, err)
	require.Equal(t, g, again)
	read, err := again.Layers(scale, surrogate)
	require.NoError(t, err)
	cuba.Alpha, cuba.Beta, cuba.Threshold = cuba.Alpha.Mul(whole), cuba.Beta.Mul(whole),
		cuba.Threshold.Mul(whole)
	layers[4] = cuba
	play := func(layers []any) *graph.Array {
		var out []any
		for _, l := range layers {
			if l, ok := l.(nn.CuBaLIF); ok {
				out = append(out, spatial{l})
				continue
			}
			out = append(out, l)
		}
		return runLayers(t, out, x)
	}
	alike(t, play(layers[1:]), play(read), 1e-4, "the layers read")
	require.Equal(t, []int{3, 9, 3}, read[3].(nn.CuBaLIF).Beta.Dims())

	python := os.Getenv("XLARUN_NIR_PYTHON")
	if python == "" {
		return
	}
	name := t.TempDir() + "/conv.nir"
	require.NoError(t, g.WriteFile(name))
	// its check of shapes knows neither groups nor kernels that are not square
	out, err := exec.CommandContext(t.Context(), python, "../../third_party/oracles/nir_graphs.py", "read", name,
		"unchecked").Output()
	require.NoError(t, err)
	var seen struct{ Nodes map[string]map[string]any }
	require.NoError(t, json.Unmarshal(out, &seen))
	require.Equal(t, []float64{2, 1}, flat(seen.Nodes["0"]["stride"]))
	require.Equal(t, "same", seen.Nodes["2"]["padding"])
	require.Equal(t, []float64{2, 3, 8}, flat(seen.Nodes["5"]["input_type"]))
}

// spatial runs neurons of several axes.
type spatial struct{ nn.CuBaLIF }

func (s spatial) Apply(x *graph.Array) *graph.Array {
	rest := graph.ZerosLike(x.Index(0))
	_, x = s.CuBaLIF.Apply(nn.CuBaLIFState{V: rest, I: rest}, x)
	return x
}

// Each mistake with a convolution is one sentence.
func TestBadConvolutions(t *testing.T) {
	good := nir.Scale{DT: 1e-3}
	from := func(layers ...any) error { _, err := nir.FromLayers(good, layers...); return err }
	change := func(f func(p map[string]*hdf5.Set)) error {
		g, err := nir.FromLayers(good, images()...)
		require.NoError(t, err)
		f(g.Nodes["0"].Params)
		_, err = g.Layers(good, surrogate)
		return err
	}
	words := func(s string) *hdf5.Set { return &hdf5.Set{Data: []string{s}} }
	number := func(v ...int64) *hdf5.Set { return &hdf5.Set{Dims: []int{len(v)}, Data: v} }
	in, conv := nir.Input{Dims: []int{4, 4, 1}}, nn.Conv{W: ramp(0, 1, 3, 3, 1, 2)}
	for i, c := range []struct {
		err  error
		want string
	}{
		{from(conv), "it takes [height, width, features], and what comes before gives []: put a nir.Input in front"},
		{from(nir.Input{Dims: []int{4, 4}}, conv), "the Input has the dims [4 4], want [in] or [height, width, " +
			"features]"},
		{from(in, nn.Conv{W: ramp(0, 1, 3, 1, 2)}), "want [height, width, in, out]"},
		{from(in, nn.Conv{W: ramp(0, 1, 3, 3, 2, 2)}), "it takes 2 features, the layer before gives 1"},
		{from(in, nn.Conv{W: ramp(0, 1, 5, 5, 1, 2)}), "its kernel of [5 5] does not fit into [4 4]"},
		{from(in, nn.Conv{W: ramp(0, 1, 3, 3, 1, 2), Pads: [][2]int{{0, 1}, {0, 0}}}), "it pads by [0 1] and [0 0]"},
		{from(in, nn.Conv{W: ramp(0, 1, 3, 3, 1, 2), Same: true, Strides: []int{2, 2}}), "it pads by [0 1] and [0 1]"},
		{from(in, conv, nn.Dense{W: ramp(0, 1, 8, 2)}), "the layer before gives [2 2 2]: put a nir.Flatten between"},
		{from(in, conv, nn.LIF{Beta: ramp(.1, .9, 3), Threshold: graph.Scalar(1)}), "tau: got f32[3], want one " +
			"number, or of dims that [2 2 2] goes with"},
		{from(in, conv, nn.LIF{Beta: graph.Scalar(.5), Threshold: graph.Scalar(1), Wh: ramp(0, 1, 8, 8)}),
			"only neurons along one axis do in NIR"},
		{change(func(p map[string]*hdf5.Set) {
			p["padding"] = words("same")
		}), "its padding is same and its strides are [2 1], want strides of 1"},
		{change(func(p map[string]*hdf5.Set) {
			p["padding"] = words("mirror")
		}), `its padding is "mirror", want same, valid or numbers`},
		{change(func(p map[string]*hdf5.Set) {
			p["padding"] = number(-1, 0)
		}), "padding is [-1 0], want whole numbers from 0 on"},
		{change(func(p map[string]*hdf5.Set) {
			p["stride"] = number(0, 1)
		}), "stride is [0 1], want whole numbers from 1 on"},
		{change(func(p map[string]*hdf5.Set) { p["groups"] = number(3) }), "it has 3 groups of 4 features"},
		{change(func(p map[string]*hdf5.Set) { delete(p, "dilation") }), "0, Conv2d: it has no dilation"},
	} {
		require.ErrorContains(t, c.err, c.want, "%d", i+1)
	}
}
