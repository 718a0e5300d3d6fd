package policy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/nn/nir/hdf5"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

// unpacked writes a file of testdata into an empty folder.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".gz"))
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	b, err = io.ReadAll(z)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

// written writes a graph into an empty folder.
func written(t *testing.T, g *nir.Graph) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "g.nir")
	require.NoError(t, g.WriteFile(path))
	return path
}

// outputsOf returns the outputs of an episode, [steps, outputs].
func outputsOf(p Policy, params any, observations *graph.Array) *graph.Array {
	type step struct {
		Observation *graph.Array
		Key         random.Key
	}
	keys := random.Split(random.New(5), observations.Dim(0))
	_, all := graph.Scan(func(carry any, s step) (any, *graph.Array) {
		next, out := p.Act(params, carry, s.Observation, s.Key)
		return next, out.Action
	}, p.Start(params), step{observations, keys})
	return all
}

// A file of Python's nir acts as its equations say, with what its metadata say: third_party/oracles/nir_graphs.py.
func TestNIRActsByTheEquations(t *testing.T) {
	var v struct {
		X, Last, Mean [][]float64
	}
	require.NoError(t, oracles.Read("testdata/nir_policy.json", &v))
	flat := func(rows [][]float64) (all []float64) {
		for _, r := range rows {
			all = append(all, r...)
		}
		return all
	}
	x := graph.Of(flat(v.X)).Convert(graph.Float32).Reshape(len(v.X), 8)
	file := unpacked(t, "nir_policy.nir")
	eight := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{8}, DType: graph.Float32}
	for decoder, want := range map[string][][]float64{"auto": v.Last, "last": v.Last, "mean": v.Mean} {
		values := settings.Values{"input": "observation", "decoder": decoder}
		p, _, err := Make("nir:"+file, values, eight, envs.Discrete{N: 2})
		require.NoError(t, err)
		require.Equal(t, 6, NetworkOf(p).(*NIR).Substeps)
		params := p.Init(random.New(1))
		for _, params := range []any{params, p.Traits().Prepared.Prepare(params)} {
			require.InDeltaSlice(t, flat(want), floats(t, outputsOf(p, params, x)), 2e-5, decoder)
		}
	}
	// 4 signed elements at a rate of one spike a substep are the same 8 trains
	four := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{4}, DType: graph.Float32}
	p, _, err := Make("nir:"+file, settings.Values{"rate": 1000}, four, envs.Discrete{N: 2})
	require.NoError(t, err)
	signed := graph.SliceAxis(x, 1, 0, 4).Sub(graph.SliceAxis(x, 1, 4, 8))
	require.InDeltaSlice(t, flat(v.Last), floats(t, outputsOf(p, p.Init(random.New(1)), signed)), 2e-5)
}

// A spiking policy that was written as NIR acts as before, up to rounding, and so does a network that was read and is
// written again. Potentials are in other units, and float32 rounds them differently. With these seeds, no potential is
// near enough to the threshold for another spike.
func TestNIROfASpikingPolicy(t *testing.T) {
	const steps = 20
	observations := random.Uniform(random.New(1), graph.ShapeOf(graph.Float32, steps, 3), -1, 1)
	for i, values := range []settings.Values{
		{},
		{"decoder": "rate", "recurrent": true, "encoder": "regular", "gain": 1.5},
		{"encoder": "rate", "substeps": 5, "dt": 0.5, "rate": 900},
		{"encoder": "population", "fields": 3, "rest": -60, "reset": -60, "weight-scale": 20},
		{"encoder": "delta", "change": .2, "gain": 4, "decoder": "rate"},
		{"encoder": "latency", "recurrent": true},
		{"dynamics": "mechanistic:lif", "recurrent": true},
	} {
		p, _, err := Make("spiking:9,6", values.With("weight-scale", 40), observation, envs.Discrete{N: 2})
		require.NoError(t, err)
		leaves, tree := graph.Flatten(p.Init(random.New(int64(i))))
		for k, leaf := range leaves { // genes that Init leaves at 0 vary, too
			leaves[k] = leaf.Add(graph.Mul(.3, random.Normal(random.New(int64(k)), leaf.Shape())))
		}
		params, err := graph.Eval(tree.Unflatten(leaves))
		require.NoError(t, err)
		want := floats(t, outputsOf(p, params, observations))
		varied := map[float64]bool{}
		for _, y := range want {
			varied[y] = true
		}
		require.Greater(t, len(varied), 10, "case %d: it spikes", i)
		for range 2 {
			g, err := p.Traits().NIR(params)
			require.NoError(t, err)
			p, _, err = Make("nir:"+written(t, g), nil, observation, envs.Discrete{N: 2})
			require.NoError(t, err)
			params = p.Init(random.New(0))
			require.InDeltaSlice(t, want, floats(t, outputsOf(p, params, observations)), 2e-4, "case %d", i)
		}
	}
}

// What NIR cannot say is refused, with the part's name.
func TestNIRCannotSay(t *testing.T) {
	for want, values := range map[string]settings.Values{
		"NIR has no node for the dynamics fast:alif; it has":   {"dynamics": "fast:alif"},
		"NIR has no node for the dynamics fast:cubalif; it":    {"dynamics": "fast:cubalif"},
		"NIR has no node for the dynamics mechanistic:hh; it":  {"dynamics": "mechanistic:hh"},
		"a LIF of NIR has no refractory period":                {"dynamics": "mechanistic:lif", "refractory": 2},
		"the reset -70 mV is not the potential at rest":        {"dynamics": "mechanistic:lif", "reset": -70},
		"delays of spikes (delay 2) are not written":           {"delay": 2},
		"NIR has no plasticity (plasticity stdp)":              {"plasticity": "stdp"},
		"NIR has no layer for the decoder first-spike: use":    {"decoder": "first-spike"},
		"NIR has no layer for the decoder population-vector: ": {"decoder": "population-vector"},
	} {
		p, _, err := Make("spiking:4", values, observation, envs.Discrete{N: 2})
		require.NoError(t, err)
		_, err = p.Traits().NIR(p.Init(random.New(1)))
		require.ErrorContains(t, err, want)
	}
}

// small returns a graph of 6 inputs, 4 neurons and 2 outputs.
func small(t *testing.T, more ...any) *nir.Graph {
	t.Helper()
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, append([]any{nn.NewDense(random.New(1), 6, 4),
		nn.NewLIF(random.New(2), 4, nn.Decay(.9)), nn.NewDense(random.New(3), 4, 2)}, more...)...)
	require.NoError(t, err)
	return g
}

// Files and settings that do not fit are refused with one sentence.
func TestNIRThatDoesNotFit(t *testing.T) {
	file := written(t, small(t))
	fileWith := func(key, value string) string {
		g := small(t)
		SetNIRMetadata(g, map[string]string{"format": nirFormat, key: value})
		return written(t, g)
	}
	edited := func(edit func(*nir.Graph)) string {
		g := small(t)
		edit(g)
		return written(t, g)
	}
	text := filepath.Join(t.TempDir(), "text.nir")
	require.NoError(t, os.WriteFile(text, []byte("no graph"), 0o600))
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	short := filepath.Join(t.TempDir(), "short.nir")
	require.NoError(t, os.WriteFile(short, whole[:len(whole)*2/3], 0o600))
	conv, err := nir.FromLayers(nir.Scale{DT: 1}, nir.Input{Dims: []int{3, 3, 1}}, nn.NewConv(random.New(1),
		[]int{1, 1}, 1, 2), nir.Flatten{}, nn.NewDense(random.New(3), 18, 2))
	require.NoError(t, err)
	for i, c := range []struct {
		spec    string
		values  settings.Values
		n       int // elements of observations
		outputs int
		want    string
	}{
		{"nir", nil, 3, 2, `policy.file: got "", want the file of a NIR graph, as in nir:network.nir`},
		{"nir:", nil, 3, 2, `policy: got "nir:", want a file of a NIR graph, as in nir:network.nir`},
		{"nir:gone.nir", nil, 3, 2, `policy.file: got "gone.nir", want a file of a NIR graph that the policy nir can ` +
			`run: it cannot be read (no such file or directory)`},
		{"nir:" + t.TempDir(), nil, 3, 2, "it is no regular file"},
		{"nir:" + text, nil, 3, 2, "does not begin as one of HDF5 does"},
		{"nir:" + short, nil, 3, 2, "it ends before its contents do"},
		{"nir:" + written(t, conv), nil, 9, 2, "it is a nn.Conv, and the policy nir has layers for Affine, Linear"},
		{"nir:" + file, nil, 2, 2, "want a network of 4 inputs, the spike trains that the encoder current makes of " +
			"Box(-1, 1, [2], f32); this one has 6"},
		{"nir:" + file, nil, 6, 2, "want a network of 12 inputs, the spike trains that the encoder current makes of " +
			"Box(-1, 1, [6], f32); --policy.input observation gives it the elements themselves; this one has 6"},
		{"nir:" + file, settings.Values{"input": "observation"}, 3, 2, "want a network of 3 inputs, the elements of " +
			"Box(-1, 1, [3], f32); this one has 6"},
		{"nir:" + file, nil, 3, 5, "want a network of 5 outputs, which the actions take; this one has 2"},
		{"nir:" + file, settings.Values{"rule": "euler", "dt": 50}, 3, 2, "take a smaller DT, or the rule exact"},
		{"nir:" + fileWith("encoder", "poisson"), nil, 3, 2, `its metadata are wrong: encoder: got "poisson"`},
		{"nir:" + fileWith("substeps", "many"), nil, 3, 2, `substeps: got "many"`},
		{"nir:" + fileWith("rate", "-3"), nil, 3, 2, "its metadata are wrong: rate: got -3"},
		{"nir:" + edited(func(g *nir.Graph) {
			g.Nodes["1"].Params["v_threshold"].Data.([]float32)[2] = float32(math.Inf(1))
		}), nil, 3, 2, "layer 1: a parameter is NaN or infinite"},
		{"nir:" + edited(func(g *nir.Graph) { g.Nodes["1"].Type = "IF" }), nil, 3, 2,
			"1, IF: there is no layer for it"},
		{"nir:" + edited(func(g *nir.Graph) {
			g.Nodes["2"].Params["weight"] = &hdf5.Set{Dims: []int{2, 3}, Data: make([]float32, 6)}
		}), nil, 3, 2, "layer 2: it takes 3 inputs, the layer before gives 4"},
		{"nir:" + file, settings.Values{"layers": "linear:6"}, 3, 2, "linear:6 has 1 sizes, want 2"},
		{"nir:" + file, settings.Values{"layers": "linear:6:2,lif:3"}, 3, 2, "lif:3 takes 3 inputs, the layer before"},
		{"nir:" + file, settings.Values{"layers": "conv:6:2"}, 3, 2, `there is no layer "conv" among affine, linear`},
		{"nir:" + file, settings.Values{"layers": "linear:6:999999999999"}, 3, 2, "want 1 to 16777216"},
		// Only the encoder population has fields.
		{"nir:" + file, settings.Values{"fields": 1, "encoder": "population"}, 3, 2,
			"policy.fields: got 1, want 2 or more for the encoder population of " + file},
		{"nir:" + fileWith("fields", "1"), settings.Values{"substeps": 5000}, 3, 2, "policy.substeps: got 5000"},
		{"nir:" + file, settings.Values{"substeps": 5000}, 3, 2, "policy.substeps: got 5000"},
	} {
		box := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{c.n}, DType: graph.Float32}
		_, _, err := Make(c.spec, c.values, box, envs.Discrete{N: c.outputs})
		require.ErrorContains(t, err, c.want, "case %d", i)
		require.IsType(t, &settings.Error{}, err, "case %d", i)
		require.NotContains(t, err.Error(), "\n")
	}
}

// Every kind of layer is made again without the file, with its parameters: so a saved member needs no file.
func TestNIRWithoutItsFile(t *testing.T) {
	file := unpacked(t, "nir_policy.nir")
	four := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{4}, DType: graph.Float32}
	p, _, err := Make("nir:"+file, settings.Values{"gain": 3}, four, envs.Discrete{N: 2})
	require.NoError(t, err)
	held := p.Traits().File.Without
	require.Equal(t, "affine:8:6,rlif:6,linear:6:5,cubalif:5,affine:5:2,li:2", held["layers"])
	again, _, err := Make("nir:gone.nir", held, four, envs.Discrete{N: 2})
	require.NoError(t, err)
	x := random.Uniform(random.New(1), graph.ShapeOf(graph.Float32, 9, 4), -1, 1)
	params := p.Init(random.New(1))
	want := floats(t, outputsOf(p, params, x))
	require.Equal(t, want, floats(t, outputsOf(again, params, x)))
	require.NotEqual(t, want, floats(t, outputsOf(again, again.Init(random.New(1)), x)))
	a, tree := graph.Flatten(params)
	b, other := graph.Flatten(again.Init(random.New(1)))
	require.Len(t, b, len(a))
	for i := range a {
		require.Equal(t, tree.Path(i), other.Path(i))
		require.Equal(t, a[i].Dims(), b[i].Dims(), tree.Path(i))
	}
}

// The settings of a file that was read make the same policy, or an error if the file has changed.
func TestNIRSettingsOfAFile(t *testing.T) {
	g := small(t)
	SetNIRMetadata(g, map[string]string{"format": nirFormat, "gain": "2", "substeps": "5"})
	file := written(t, g)
	p, _, err := Make("nir:"+file, nil, observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	values := p.Traits().File.Kept
	require.Equal(t, 2., values["gain"])
	require.EqualValues(t, 5, values["substeps"])
	require.Equal(t, "affine:6:4,lif:4,affine:4:2", values["layers"])
	require.Len(t, values["sha256"], 64)
	want := floats(t, p.Init(random.New(1)).(NIRParams).Layers[0].W)
	SetNIRMetadata(g, map[string]string{"gain": "3"})
	require.NoError(t, g.WriteFile(file))
	again := func() (Policy, error) {
		p, _, err := Make("nir:"+file, values, observation, envs.Discrete{N: 2})
		return p, err
	}
	for range 2 { // changed, and gone: this process has read it
		p, err := again()
		require.NoError(t, err)
		require.Equal(t, 2., NetworkOf(p).(*NIR).Gain)
		require.Equal(t, want, floats(t, p.Init(random.New(1)).(NIRParams).Layers[0].W))
		require.NoError(t, os.RemoveAll(file))
	}
	nirFiles.Delete(values["sha256"]) // as in another process
	_, err = again()
	require.ErrorContains(t, err, "it cannot be read")
	require.NoError(t, g.WriteFile(file))
	_, err = again()
	require.ErrorContains(t, err, file+" has changed since the run began: its sha256 is ")
	require.IsType(t, &settings.Error{}, err)
	SetNIRMetadata(g, map[string]string{"gain": "2"})
	require.NoError(t, g.WriteFile(file))
	_, err = again()
	require.NoError(t, err)
	_, _, err = Make("nir:"+file, values.With("layers", "affine:6:2"), observation, envs.Discrete{N: 2})
	require.ErrorContains(t, err, `policy.layers: got "affine:6:2", want the layers of `+file+", affine:6:4,lif:4,")
}

// A file that is written again under the same name is read again, graph and parameters alike, and a name
// means another file in another working directory.
func TestNIRFilesOfOneName(t *testing.T) {
	for _, gain := range []string{"2", "3"} {
		t.Chdir(t.TempDir())
		for _, more := range []string{"", "5"} {
			g := small(t)
			SetNIRMetadata(g, map[string]string{"format": nirFormat, "gain": gain + more})
			g.Nodes["0"].Params["bias"].Data.([]float32)[0] = float32(len(more))
			require.NoError(t, g.WriteFile("g.nir"))
			read, params, values, err := ReadNIR("g.nir")
			require.NoError(t, err)
			require.Equal(t, gain+more, NIRMetadata(read)["gain"])
			require.Equal(t, gain+more, fmt.Sprint(values["gain"]))
			require.Equal(t, float64(len(more)), floats(t, params.Layers[0].B)[0])
			p, _, err := Make("nir:g.nir", nil, observation, envs.Discrete{N: 2})
			require.NoError(t, err)
			require.Equal(t, gain+more, fmt.Sprint(NetworkOf(p).(*NIR).Gain))
		}
	}
}

// Of two wrong metadata the first in the order of the settings is named, and what is wrong is said to be
// metadata.
func TestNIRMetadataThatAreWrong(t *testing.T) {
	for i, c := range []struct {
		metadata map[string]string
		want     string
	}{
		{map[string]string{"input": "sound", "encoder": "poisson", "decoder": "max"}, `input: got "sound"`},
		{map[string]string{"encoder": "poisson", "decoder": "max"}, `encoder: got "poisson"`},
		{map[string]string{"decoder": "max", "substeps": "many"}, `decoder: got "max"`},
		{map[string]string{"substeps": "many", "gain": "much"}, `substeps: got "many"`},
		{map[string]string{"gain": "NaN", "change": "much"}, "gain: got NaN"},
		{map[string]string{"change": "-Inf"}, "change: got -Inf"},
	} {
		g := small(t)
		SetNIRMetadata(g, map[string]string{"format": nirFormat})
		SetNIRMetadata(g, c.metadata)
		file := written(t, g)
		for range 8 {
			_, _, err := Make("nir:"+file, nil, observation, envs.Discrete{N: 2})
			require.ErrorContains(t, err, "can run: its metadata are wrong: "+c.want, "case %d", i)
		}
	}
}

// MakeCritic makes a critic with other outputs than the actor's of any policy. Those of a file stay where
// there are more, and all are new where there are fewer.
func TestNIRWithOtherOutputs(t *testing.T) {
	g := small(t, nn.NewLI(2, nn.Decay(.8)))
	file := written(t, g)
	m, err := MakerOf("nir:"+file, nil)
	require.NoError(t, err)
	actor, err := m.Make(observation, 2)
	require.NoError(t, err)
	kept := actor.Init(random.New(1)).(NIRParams).Layers
	other, err := MakerOf("mlp:3", nil)
	require.NoError(t, err)
	for _, outputs := range []int{1, 2, 5} {
		_, err := MakeCritic(other, observation, outputs)
		require.NoError(t, err)
		p, err := MakeCritic(m, observation, outputs)
		require.NoError(t, err)
		layers := p.Init(random.New(1)).(NIRParams).Layers
		require.Equal(t, floats(t, kept[0].W), floats(t, layers[0].W), "hidden layers are those of the file")
		require.Equal(t, []int{4, outputs}, layers[2].W.Dims())
		require.Equal(t, []int{outputs}, layers[3].Membrane.Dims())
		same := min(outputs, 2)
		if outputs == 1 {
			require.NotEqual(t, floats(t, graph.SliceAxis(kept[2].W, 1, 0, 1)), floats(t, layers[2].W))
			continue
		}
		require.Equal(t, floats(t, kept[2].W), floats(t, graph.SliceAxis(layers[2].W, 1, 0, same)))
		require.Equal(t, floats(t, kept[2].B), floats(t, graph.SliceAxis(layers[2].B, 0, 0, same)))
		require.Equal(t, floats(t, kept[3].Membrane), floats(t, graph.SliceAxis(layers[3].Membrane, 0, 0, same)))
	}
	for layers, want := range map[string]string{"lif:6": "it has no weights",
		"linear:6:2,rlif:2": "its last neurons feed themselves"} {
		m, err := MakerOf("nir", settings.Values{"layers": layers})
		require.NoError(t, err)
		_, err = TraitsOf(m).AnyOutputs().Make(observation, 3)
		require.ErrorContains(t, err, want)
	}
}

// A potential that is no number makes the outputs NaN, so that the member fails.
func TestNIRFailsByNaN(t *testing.T) {
	p, _, err := Make("nir:"+written(t, small(t)), nil, observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	params := p.Init(random.New(1)).(NIRParams)
	params.Layers[0].B = graph.Full(params.Layers[0].B.Shape(), float32(math.Inf(1)))
	all := floats(t, outputsOf(p, params, graph.Zeros(graph.ShapeOf(graph.Float32, 3, 3))))
	require.Equal(t, "NaN", fmt.Sprint(all[len(all)-1]))
}

// A network of a file has the counts and traces of the spiking policy that wrote the file.
func TestNIRReportsAndTraces(t *testing.T) {
	const steps = 12
	xs := random.Uniform(random.New(4), graph.ShapeOf(graph.Float32, steps, 3), -1, 1)
	keys := random.Split(random.New(9), steps)
	for _, values := range []settings.Values{{"weight-scale": 40},
		{"weight-scale": 40, "recurrent": true, "decoder": "rate"}} {
		s, _, err := Make("spiking:5,4", values, observation, envs.Discrete{N: 2})
		require.NoError(t, err)
		params := s.Init(random.New(2))
		g, err := s.Traits().NIR(params)
		require.NoError(t, err)
		p, _, err := Make("nir:"+written(t, g), nil, observation, envs.Discrete{N: 2})
		require.NoError(t, err)
		report := func(p Policy, params any) []float64 {
			carry := p.Start(params)
			for k := range steps {
				carry, _ = p.Act(params, carry, xs.Index(k), random.Key{Data: keys.Data.Index(k)})
			}
			return floats(t, p.Traits().Report(carry))
		}
		ours := p.Init(random.New(0))
		want := report(s, params)
		require.Greater(t, want[0], 1.)
		require.InEpsilonSlice(t, want, report(p, ours), 1e-5)
		require.InEpsilonSlice(t, want, report(p, p.Traits().Prepared.Prepare(ours)), 1e-5,
			"neurons that pad send nothing")
		require.Equal(t, s.Traits().Reports, p.Traits().Reports)
		wanted, traces := s.Traits().Tracer.Trace(params, xs, keys), p.Traits().Tracer.Trace(ours, xs, keys)
		require.Len(t, traces, 2)
		for i := range traces {
			require.Equal(t, floats(t, wanted[i].Spikes), floats(t, traces[i].Spikes))
		}
		names, weights := p.Traits().Tracer.Weights(ours)
		require.Len(t, weights, len(names))
		before, _ := s.Traits().Tracer.Weights(params)
		require.Equal(t, append(before, "layer 2 to outputs"), names)
		require.Equal(t, 1., p.Traits().Tracer.SubstepMS)
	}
}
