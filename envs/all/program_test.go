package all_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/envtest"
	_ "xlarun/envs/program"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
)

// exported is the environment of examples/jax/jax_env.py, with episodes that JAX played.
type exported struct {
	Files                                      map[string]string
	Keys, Actions, Observations, Rewards, Done oracles.Array
}

func catch(t *testing.T) exported {
	t.Helper()
	var e exported
	require.NoError(t, oracles.Read("../program/testdata/jax_env.json.gz", &e))
	return e
}

// folder writes files into an empty folder, and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func array(a oracles.Array, d graph.DType) *graph.Array {
	return graph.FromBytes(graph.ShapeOf(d, a.Shape...), a.Data)
}

// Episodes of an exported environment equal JAX's, step by step, under VMap and Scan.
func TestRolloutsEqualJAX(t *testing.T) {
	e := catch(t)
	env, err := envs.Make("program:" + folder(t, e.Files))
	require.NoError(t, err)
	type step struct{ Observation, Reward, Terminated *graph.Array }
	params := env.DefaultParams()
	first, all := graph.VMap2(func(key random.Key, actions *graph.Array) graph.Pair[*graph.Array, step] {
		state, first := env.Reset(random.FoldIn(key, 0), params)
		type turn struct{ Action, Number *graph.Array }
		_, steps := graph.Scan(func(state any, x turn) (any, step) {
			next, obs, reward, terminated, _ := env.Step(random.FoldIn(key, x.Number), state, x.Action, params)
			return next, step{obs, reward, terminated}
		}, state, turn{actions, graph.Iota(actions.Dim(0)).Add(1)})
		return graph.PairOf(first, steps)
	})(random.Key{Data: array(e.Keys, graph.Uint32)}, array(e.Actions, graph.Int32)).Unpack()
	same := func(want, got *graph.Array) {
		t.Helper()
		x := graphtest.Floats(t, want.Convert(graph.Float32))
		y := graphtest.Floats(t, got.Convert(graph.Float32))
		require.Equal(t, x, y)
	}
	observations := array(e.Observations, graph.Float32)
	same(graph.SliceAxis(observations, 1, 0, 1).Reshape(first.Dims()...), first)
	same(graph.SliceAxis(observations, 1, 1, observations.Dim(1)), all.Observation)
	same(array(e.Rewards, graph.Float32), all.Reward)
	same(array(e.Done, graph.Bool), all.Terminated)
}

// An exported environment keeps the rules of environments, the step limit among them.
func TestCheck(t *testing.T) {
	files := catch(t).Files
	env, err := envs.Make("program:" + folder(t, files))
	require.NoError(t, err)
	require.NoError(t, envtest.Check(env))
	spec := env.Spec()
	require.Equal(t, "Discrete(3)", spec.Action.String())
	require.Equal(t, "Box(0, 1, [10 5], f32)", spec.Observation.String())
	require.Equal(t, 0.8, spec.RewardThreshold)
	files["env.json"] = strings.Replace(files["env.json"], `"max_steps": 10`, `"max_steps": 3`, 1)
	env, err = envs.Make("program:" + folder(t, files))
	require.NoError(t, err)
	require.NoError(t, envtest.Check(env))
	require.Equal(t, 3, env.Spec().MaxSteps)
}

// The id of a Spec has the digest of the files, and opens nothing else.
func TestDigest(t *testing.T) {
	files := catch(t).Files
	dir := folder(t, files)
	env, err := envs.Make("program:" + dir)
	require.NoError(t, err)
	id := env.Spec().ID
	require.Regexp(t, "^program:.*@[0-9a-f]{16}$", id)
	_, err = envs.Make(id)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "env.json"), []byte(files["env.json"]+" "), 0o600))
	_, err = envs.Make(id)
	require.ErrorContains(t, err, "program:"+dir+" has changed: its digest is ")
}

// What does not fit together is refused by one sentence with the file.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ file, old, by, want string }{
		"no step":   {"step.mlir", "", "", "step.mlir: it cannot be read (no such file or directory)"},
		"no json":   {"env.json", "", "", "env.json: it cannot be read"},
		"json":      {"env.json", "{", "[", "env.json: it is no JSON of a Spec"},
		"type":      {"env.json", `"n": 3`, `"n": "3"`, "env.json: action.n is a string"},
		"unknown":   {"env.json", `"threshold"`, `"treshold"`, `unknown field "treshold"`},
		"steps":     {"env.json", `"max_steps": 10`, `"max_steps": 0`, "max_steps: got 0, want the step limit"},
		"bounds":    {"env.json", `"low": 0`, `"low": [0, 1]`, "got 2 lower and 2 upper bounds for f32[10,5]"},
		"order":     {"env.json", `"low": 0`, `"low": 2`, "observation: got the bounds 2 and 1"},
		"two kinds": {"env.json", `"n": 3`, `"n": 3, "nvec": [2]`, "action: got several kinds of space"},
		"other actions": {"env.json", `"n": 3`, `"nvec": [3, 2]`, "action: got MultiDiscrete([3 2]), of i32[2], " +
			"want a space of i32[]"},
		"no choice": {"env.json", `"n": 3`, `"n": 0`, ""},
		"text":      {"step.mlir", "module @", "modul @", "step.mlir:"},
		"unused key": {"step.mlir", `%arg0: tensor<2xui32> loc("key"), `, "",
			"step.mlir:"},
		"reset with a state": {"reset.mlir", `%arg0: tensor<2xui32> loc("key")`,
			`%arg0: tensor<2xui32> loc("key"), %arg1: tensor<i32>`, "reset takes [u32[2] i32[]], want one key"},
		"step without the action": {"step.mlir", `, %arg4: tensor<i32> loc("action")`, "", "step.mlir:"},
		"step with more": {"step.mlir", `%arg4: tensor<i32> loc("action")`, `%arg4: tensor<i32> loc("action"), ` +
			`%arg5: tensor<i32>`, "step takes 6 arrays, want 5: a key, the 3 of a state and an action: export it by"},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(catch(t).Files)
			if c.old == "" {
				delete(files, c.file)
			} else {
				require.Contains(t, files[c.file], c.old)
				files[c.file] = strings.Replace(files[c.file], c.old, c.by, 1)
			}
			env, err := envs.Make("program:" + folder(t, files))
			if c.want == "" { // runs check the Spec
				require.NoError(t, err)
				err = env.Spec().Check()
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
