package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

// jaxPolicy is a network that JAX exported, with what it computes: third_party/oracles/jax_programs.py.
type jaxPolicy struct {
	Name, Text            string
	Params                []byte
	Observations, Outputs oracles.Array
}

func jaxPolicies(t *testing.T) []jaxPolicy {
	t.Helper()
	var file struct{ Cases []jaxPolicy }
	require.NoError(t, oracles.Read("testdata/jax_policies.json.gz", &file))
	require.Len(t, file.Cases, 3)
	return file.Cases
}

// files writes the program and its parameters into an empty folder, and returns the program's path.
func (p jaxPolicy) files(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.mlir")
	require.NoError(t, os.WriteFile(path, []byte(p.Text), 0o600))
	require.NoError(t, os.WriteFile(strings.TrimSuffix(path, ".mlir")+".safetensors", p.Params, 0o600))
	return path
}

func jaxArray(a oracles.Array) *graph.Array {
	return graph.FromBytes(graph.ShapeOf(graph.Float32, a.Shape...), a.Data)
}

var fourElements = envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{4}, DType: graph.Float32}

// Networks that JAX exported act as in JAX, one by one and as a population under VMap; without their files, too.
func TestProgramActsAsInJAX(t *testing.T) {
	for _, c := range jaxPolicies(t) {
		t.Run(c.Name, func(t *testing.T) {
			p, _, err := Make("program:"+c.files(t), nil, fourElements, envs.Discrete{N: 2})
			require.NoError(t, err)
			params := p.Init(random.New(1))
			want := floats(t, jaxArray(c.Outputs))
			require.InDeltaSlice(t, want, floats(t, outputsOf(p, params, jaxArray(c.Observations))), 1e-6)
			twice := graph.MapTree(func(a *graph.Array) *graph.Array {
				return graph.Stack([]*graph.Array{a, a.Mul(2)}, 0)
			}, params)
			both := graph.VMap(func(params any) *graph.Array {
				return outputsOf(p, params, jaxArray(c.Observations))
			})(twice)
			require.InDeltaSlice(t, want, floats(t, both.Index(0)), 1e-6)
			require.NotEqual(t, want, floats(t, both.Index(1)))

			again, _, err := Make("program", p.Traits().File.Without, fourElements, envs.Discrete{N: 2})
			require.NoError(t, err)
			require.InDeltaSlice(t, want, floats(t, outputsOf(again, params, jaxArray(c.Observations))), 1e-6)
			for _, a := range graph.Leaves(again.Init(random.New(1))) {
				require.NotContains(t, floats(t, a.Ne(0)), 1.)
			}
		})
	}
}

// Leaves are named as in the parameter file, whose order does not matter.
func TestProgramNamesLeaves(t *testing.T) {
	for i, want := range []string{"params.Dense_0.bias", "Dense_0.bias", "0.0"} {
		p, _, err := Make("program:"+jaxPolicies(t)[i].files(t), nil, fourElements, envs.Discrete{N: 2})
		require.NoError(t, err)
		_, tree := graph.Flatten(p.Init(random.New(1)))
		require.Equal(t, want, safetensors.Name(tree.Path(0)))
	}
}

// A program or a parameter file that does not fit is refused by one sentence that says why.
func TestProgramRefusals(t *testing.T) {
	c := jaxPolicies(t)[0]
	path := c.files(t)
	params := strings.TrimSuffix(path, ".mlir") + ".safetensors"
	plain := func(edit func(text string) string) func() {
		return func() { require.NoError(t, os.WriteFile(path, []byte(edit(c.Text)), 0o600)) }
	}
	replaced := func(old, by string) func() {
		require.Contains(t, c.Text, old)
		return plain(func(text string) string { return strings.ReplaceAll(text, old, by) })
	}
	saved := func(change func(all map[string]*graph.Array)) func() {
		return func() {
			p, _, err := Make("program:"+path, nil, fourElements, envs.Discrete{N: 2})
			require.NoError(t, err)
			all := map[string]*graph.Array{}
			for name, a := range p.Init(random.New(1)).(map[string]*graph.Array) {
				all[name] = a
			}
			change(all)
			evaluated, err := graph.Eval(all)
			require.NoError(t, err)
			require.NoError(t, safetensors.Save(params, evaluated, nil))
		}
	}
	three := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}
	for name, x := range map[string]struct {
		change      func()
		observation envs.Space
		actions     int
		want        string
	}{
		"observation": {nil, three, 2, "a program for observations of f32[3]; this one takes f32[4]"},
		"outputs": {nil, fourElements, 5, "a program with the outputs f32[5], which the actions take; this one " +
			"returns f32[2]"},
		"no names": {plain(func(text string) string { return strings.ReplaceAll(text, " loc(\"", " lac(\"") }),
			fourElements, 2, "a program with the names of its arguments, as exported.mlir_module() writes it"},
		"several platforms": {plain(func(text string) string {
			return strings.Replace(text, "@main(", "@main(%platform: tensor<i32>, ", 1)
		}), fourElements, 2, "a program for one platform"},
		"one argument": {replaced(`loc("args[0]")`, `loc("variables[0]")`), fourElements, 2,
			"a function of parameters and one observation; this one takes variables['params']"},
		"bytecode": {plain(func(string) string { return "ML\xefR\x01" }), fourElements, 2,
			"it is MLIR bytecode of version 0, want 6"},
		"a carry that is not returned": {replaced("variables['params']['LayerNorm_0']['scale']", "more"), fourElements,
			2,
			"this one takes 1 arrays of a carry, and returns 1 arrays"},
		"no parameters": {func() { require.NoError(t, os.Remove(params)) }, fourElements, 2,
			"the safetensors file of the program's 8 parameters: it cannot be read (no such file"},
		"missing": {saved(func(all map[string]*graph.Array) { delete(all, "params.Dense_1.bias") }), fourElements, 2,
			`it has no array "params.Dense_1.bias" for variables['params']['Dense_1']['bias']; it has ` +
				`params.Dense_0.bias, `},
		"more": {saved(func(all map[string]*graph.Array) { all["more"] = graph.Scalar(1) }), fourElements, 2,
			"its array more is no parameter of the program"},
		"shape": {saved(func(all map[string]*graph.Array) {
			all["params.Dense_1.bias"] = graph.Float32s([]float32{1})
		}), fourElements, 2, "its params.Dense_1.bias is f32[1], and the program takes f32[2]"},
		"NaN": {saved(func(all map[string]*graph.Array) {
			all["params.Dense_1.bias"] = all["params.Dense_1.bias"].Div(0).Mul(0)
		}), fourElements, 2, "its params.Dense_1.bias has NaN or infinity"},
		"no safetensors": {func() { require.NoError(t, os.WriteFile(params, []byte(c.Text), 0o600)) }, fourElements, 2,
			"the header's length is"},
		"folder": {func() {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, fourElements, 2, "it is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.RemoveAll(path)
			require.NoError(t, os.WriteFile(path, []byte(c.Text), 0o600))
			require.NoError(t, os.WriteFile(params, c.Params, 0o600))
			if x.change != nil {
				x.change()
			}
			_, _, err := Make("program:"+path, nil, x.observation, envs.Discrete{N: x.actions})
			require.ErrorContains(t, err, x.want)
			require.IsType(t, &settings.Error{}, err)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, _, err := Make("program", settings.Values{"module": "abc"}, fourElements, envs.Discrete{N: 2})
	require.ErrorContains(t, err, `policy.module: got "abc", want a program as a run packs it`)
}

// The settings of a run name the digest of the parameter file: another file is refused, and the program is in
// the settings.
func TestProgramOfARun(t *testing.T) {
	c := jaxPolicies(t)[0]
	path := c.files(t)
	p, _, err := Make("program:"+path, nil, fourElements, envs.Discrete{N: 2})
	require.NoError(t, err)
	values := p.Traits().File.Kept
	require.Len(t, values["sha256"], 64)
	require.Equal(t, c.Params, p.Traits().File.Bytes)
	require.NoError(t, os.Remove(path))
	again := func() error {
		_, _, err := Make("program:"+path, values, fourElements, envs.Discrete{N: 2})
		return err
	}
	require.NoError(t, again())
	programParams.Delete(values["sha256"]) // as in another process
	require.NoError(t, again())
	programParams.Delete(values["sha256"])
	params := fmt.Sprint(values["params"])
	b := append([]byte{}, c.Params...)
	b[len(b)-1] ^= 1
	require.NoError(t, os.WriteFile(params, b, 0o600))
	require.ErrorContains(t, again(), "it has changed since the run began")
	m, err := MakerOf("program:"+path, values)
	require.NoError(t, err)
	require.Equal(t, settings.Values{"sha256": ""}, TraitsOf(m).WithoutFile())
}
