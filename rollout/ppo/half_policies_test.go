package ppo

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Every policy that there is goes through a sequence in half precision and is differentiated, with its Numbers as
// inputs of the program and with episodes that end: outputs and gradients are float32, finite and near those of
// float32. Outputs are of prepared parameters, gradients go through those that are as Init makes them. ppo refuses
// genomes, which have no gradients. XLARUN_LONG=1: all of them, compiled.
func TestEveryPolicyInHalf(t *testing.T) {
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		b = xlatest.Open(t, 1)
	}
	image := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{6, 6, 1}, DType: graph.Float32}
	const steps, outputs = 5, 3
	image.Substrate = &envs.Substrate{Elements: make([]envs.Place, 36), Outputs: make([]envs.Place, outputs)}
	see := stepInputs{Observation: random.Uniform(random.New(1), graph.ShapeOf(graph.Float32, steps, 6, 6, 1), -1, 1),
		First: graph.Of([]bool{true, false, false, true, false}), Key: random.Split(random.New(2), steps)}
	type result struct{ Out, Slopes *graph.Array }
	few := settings.Values{"hidden": "8", "substeps": "4", "gain": "8", "weight-scale": "60"}
	own := map[string][]settings.Values{
		"spiking": {few, few.With("dynamics", "mechanistic:lif:conductance").With("plasticity", "stdp").With("decoder",
			"rate"),
			few.With("dynamics", "fast:alif").With("encoder", "population").With("gain", "1").With("decoder",
				"population-vector").With("recurrent", "true").With("delay", "2"),
			few.With("dynamics", "fast:cubalif").With("encoder", "delta").With("decoder", "first-spike")}}
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 72, 8), nn.NewLIF(random.New(2), 8,
		nn.Decay(.9), nn.Feedback()), nn.NewDense(random.New(3), 8, outputs), nn.NewLI(outputs, nn.Decay(.9)))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "network.nir")
	require.NoError(t, g.WriteFile(file))
	own["nir"] = []settings.Values{{"file": file}}
	own["program"] = []settings.Values{{"file": linearProgram(t, map[string]*graph.Array{
		"w": random.Uniform(random.New(5), graph.ShapeOf(graph.Float32, 36, outputs), -1, 1),
		"b": random.Uniform(random.New(6), graph.ShapeOf(graph.Float32, outputs), -1, 1)})}}
	type inputs struct {
		Steps    stepInputs
		Settings map[string]*graph.Array
	}
	names, precisions := policy.Names(), []string{"bf16", "f16"}
	if !long.On() { // the two whose state moves by small steps; TestHalfIsWithinNetworks has others
		names, precisions, own["spiking"] = []string{"ctrnn", "spiking"}, precisions[:1], own["spiking"][:1]
	}
	for _, name := range names {
		if slices.Contains(policy.GenomePolicies(), name) {
			c := small(func(c *Config) { c.Policy = name })
			wrong, ok := errors.AsType[*settings.Error](c.Check(plan.Machine{}))
			require.True(t, ok, name)
			require.Equal(t, "policy", wrong.Key, wrong)
			continue
		}
		if own[name] == nil {
			own[name] = []settings.Values{{}} // its defaults
		}
		for _, values := range own[name] {
			of := map[string]result{}
			for _, precision := range append([]string{"f32"}, precisions...) {
				maker, err := policy.MakerOf(name, values)
				require.NoError(t, err)
				made, err := maker.Make(image, outputs)
				require.NoError(t, err)
				in := settings.Inputs(made, policyPrefix)
				if half, ok := (&Config{UpdateSettings: UpdateSettings{Precision: precision}}).half(); ok {
					made = halfPolicy{made, half}
				}
				of[precision],
					err = xlabridge.Jit2(b, func(params any, v inputs) result {
					n := network{actor: made, standalone: made, critic: separateCritic{made}}
					p := n.withInputs(v.Settings).actor
					through := func(params any) *graph.Array {
						return runSequence(p, params, p.Start(params), v.Steps).First
					}
					slopes := graph.Grad(func(params any) *graph.Array {
						return graph.Mean(graph.Square(through(params)))
					})(params)
					var flat []*graph.Array
					for _, a := range graph.Leaves(slopes) {
						if a.DType().IsFloat() {
							require.Equal(t, graph.Float32, a.DType(), name)
							flat = append(flat, graph.Flatten1D(a))
						}
					}
					return result{through(prepared(p, params)), graph.Concatenate(0, flat...)}
				})(made.Init(random.New(0)), inputs{see, in})
				require.NoError(t, err, "%s %v in %s", name, values, precision)
				require.Equal(t, graph.Float32, of[precision].Out.DType(), name)
			}
			for _, precision := range precisions {
				half, full := of[precision], of["f32"]
				for what, pair := range map[string][2]*graph.Array{"outputs": {half.Out, full.Out}, "gradients": {
					half.Slopes, full.Slopes}} {
					off := apart(t, pair[0], pair[1])
					require.Less(t, off, .1, "%s %v: %s in %s", name, values, what, precision)
					require.Positive(t, off, "%s %v: nothing of the %s was rounded in %s", name, values, what,
						precision)
				}
			}
		}
	}
}

// apart returns the norm of a - b, divided by the norm of b.
func apart(t *testing.T, a, b *graph.Array) float64 {
	t.Helper()
	x := graphtest.Floats(t, a)
	y := graphtest.Floats(t, b)
	var difference, length float64
	for i := range x {
		difference, length = difference+(x[i]-y[i])*(x[i]-y[i]), length+y[i]*y[i]
	}
	require.Positive(t, length, "nothing came out")
	return math.Sqrt(difference / length)
}
