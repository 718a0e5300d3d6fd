package ppo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/safetensors"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// linearProgram writes x w + b as a program, with its parameters b, f32[outputs], and w, f32[inputs, outputs].
func linearProgram(t *testing.T, params map[string]*graph.Array) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.mlir")
	in, out := params["w"].Dim(0), params["w"].Dim(1)
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "module @m {\nfunc.func public @main(%%arg0: "+
		"tensor<%[2]dxf32> loc(\"p['b']\"), %%arg1: tensor<%[1]dx%[2]dxf32> loc(\"p['w']\"), "+
		"%%arg2: tensor<%[1]dxf32> loc(\"x\")) -> (tensor<%[2]dxf32>) {\n"+
		"%%0 = stablehlo.dot_general %%arg2, %%arg1, contracting_dims = [0] x [0] : (tensor<%[1]dxf32>, "+
		"tensor<%[1]dx%[2]dxf32>) -> tensor<%[2]dxf32>\n%%1 = stablehlo.add %%0, %%arg0 : tensor<%[2]dxf32>\n"+
		"return %%1 : tensor<%[2]dxf32>\n}\n}\n", in, out), 0o600))
	require.NoError(t, safetensors.Save(strings.TrimSuffix(path, "mlir")+"safetensors", params, nil))
	return path
}

// Ppo trains a program as it trains the network of ours with the same parameters. Its critic is another network.
func TestProgramLearnsLikeANetworkOfOurs(t *testing.T) {
	start := map[string]*graph.Array{"b": graph.Float32s([]float32{.3}),
		"w": graph.Float32s([]float32{.1, -.2, .4}, 3, 1)}
	path := linearProgram(t, start)
	config := func(policy string) Config {
		c := DefaultConfig()
		c.EvalEnvs = 0
		c.Env, c.Policy, c.Critic, c.Init, c.Target = "Pendulum-v1", policy, "mlp:4", "policy", "0"
		c.Horizon, c.Envs, c.Steps, c.Minibatches = 16, 4, 256, 2
		return c
	}
	var ends [2]map[string][]float64
	for i, name := range []string{"program:" + path, "linear"} {
		training, err := New(&xlabridge.Reference{}, config(name))
		require.NoError(t, err)
		at, err := training.Snapshot(t.Context())
		require.NoError(t, err)
		for file, own := range map[string]string{"b": "Layers.0.B", "w": "Layers.0.W"} {
			if i == 1 {
				key := actorArray(t, at.Arrays, own)
				at.Arrays[key] = start[file].Reshape(at.Arrays[key].Dims()...)
			}
		}
		require.NoError(t, training.Restore(t.Context(), at))
		for range 2 {
			_, err = training.Step(t.Context())
			require.NoError(t, err)
		}
		at, err = training.Snapshot(t.Context())
		require.NoError(t, err)
		ends[i] = map[string][]float64{}
		for file, own := range map[string]string{"b": "Layers.0.B", "w": "Layers.0.W"} {
			if i == 0 {
				own = file
			}
			values := graphtest.Floats(t, at.Arrays[actorArray(t, at.Arrays, own)])
			ends[i][file] = values
		}
		file, ok, err := training.criticFile()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "mlp:4", file.Metadata["policy"])
		require.NoError(t, training.Close())
	}
	for _, name := range []string{"b", "w"} {
		require.InDeltaSlice(t, ends[1][name], ends[0][name], 1e-6)
		before := graphtest.Floats(t, start[name])
		require.NotEqual(t, before, ends[0][name])
	}
	for _, x := range []struct {
		want   string
		change func(c *Config)
	}{
		{`critic: got "", want a network for the values, such as mlp:64,64`, func(c *Config) { c.Critic = "" }},
		{`critic: got "program:x", want a network that can have`, func(c *Config) { c.Critic = "program:x" }},
		{`critic: got "mlpp", want one of `, func(c *Config) { c.Critic = "mlpp" }},
		{`critic: got "a network with memory", want one without`, func(c *Config) { c.Critic = "gru:4" }},
		{`shared: got true, want false beside --critic`, func(c *Config) { c.Shared = true }},
		{`shared: got true, want false: program:`, func(c *Config) { c.Shared, c.Critic = true, "" }},
		{`init: got "orthogonal", want policy`, func(c *Config) { c.Init = "orthogonal" }},
	} {
		c := config("program:" + path)
		x.change(&c)
		_, err := c.program()
		require.ErrorContains(t, err, x.want)
		require.IsType(t, &settings.Error{}, err)
	}
	c := config("gru:3") // an actor with memory may have a critic without
	_, err := New(&xlabridge.Reference{}, c)
	require.NoError(t, err)
}

// actorArray returns the name of the actor's array in a state.
func actorArray(t *testing.T, arrays map[string]*graph.Array, name string) string {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(arrays)) {
		if strings.HasSuffix(key, "params.actor."+strings.ToLower(name)) {
			return key
		}
	}
	t.Fatalf("no actor's array %s among %v", name, slices.Sorted(maps.Keys(arrays)))
	return ""
}
