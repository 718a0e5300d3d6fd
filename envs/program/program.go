// Package program has environments whose reset and step are functions that JAX exported, as files of a folder:
//
//	reset.mlir  reset(key) -> (observation, state)
//	step.mlir   step(key, state, action) -> (observation, state, reward, terminated, truncated)
//	env.json    the spaces and the step limit; see envs.ReadSpec
//
// Each function is exported for one member, without a batch, by
//
//	jax.export.export(jax.jit(step, keep_unused=True))(key, state, action).mlir_module()
//
// The state may be any tree. step may return one flag, done, instead of terminated and truncated; it counts as
// terminated. The step limit is kept here, too: the functions need not know it. The id of such an environment is
// "program:FOLDER", or "program:FOLDER@DIGEST", which refuses other files than those with the digest.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/stablehlo"
	"xlarun/internal/files"
)

// Scheme goes before the folder in an id.
const Scheme = "program"

func init() { envs.MustRegisterScheme(Scheme, Open) }

// Params are the parameters.
type Params struct {
	MaxSteps *graph.Array `min:"1"`
}

// State is a state: the leaves of JAX's, and the observation that belongs to it.
type State struct {
	Leaves      []*graph.Array
	Observation *graph.Array
	Time        *graph.Array // i32[]
}

// Env is an environment of two programs.
type Env struct {
	reset, step *stablehlo.Function
	spec        envs.Spec
	leaves      int // of a state
}

// longest is the largest size of a file in bytes.
const longest = 64 << 20

// digestLength is the number of hexadecimal digits of a digest in an id.
const digestLength = 16

// opened has the environments by the digest of their files.
var opened sync.Map

// Open reads the environment of a folder, "FOLDER" or "FOLDER@DIGEST". Errors: files that cannot be read, functions
// that do not fit together or with env.json, another digest.
func Open(source string) (envs.Environment, error) {
	folder, want := source, ""
	if at := strings.LastIndexByte(source, '@'); at >= 0 && isDigest(source[at+1:]) {
		folder, want = source[:at], source[at+1:]
	}
	texts := map[string][]byte{}
	sum := sha256.New()
	for _, name := range []string{"reset.mlir", "step.mlir", "env.json"} {
		text, err := files.Read(filepath.Join(folder, name), longest)
		if err != nil {
			return nil, fmt.Errorf("%s:%s: %s: %w: a folder has reset.mlir, step.mlir and env.json", Scheme, folder,
				name, err)
		}
		texts[name] = text
		fmt.Fprintf(sum, "%d ", len(text))
		sum.Write(text)
	}
	digest := hex.EncodeToString(sum.Sum(nil))[:digestLength]
	if want != "" && want != digest {
		return nil, fmt.Errorf("%s:%s has changed: its digest is %s, and %s is wanted: put the files back, or leave "+
			"@%s out", Scheme, folder, digest, want, want)
	}
	id := Scheme + ":" + folder + "@" + digest
	if e, ok := opened.Load(id); ok {
		return e.(envs.Environment), nil
	}
	e, err := parse(folder, texts)
	if err != nil {
		return nil, err
	}
	e.spec.ID = id
	erased := envs.Erase(e)
	opened.Store(id, erased)
	return erased, nil
}

func isDigest(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == digestLength
}

// exportHint says how functions are exported so that all arguments are there.
const exportHint = "export it by jax.jit(function, keep_unused=True)"

func parse(folder string, texts map[string][]byte) (e *Env, err error) {
	e = &Env{}
	function := func(file string) (*stablehlo.Function, error) {
		path := filepath.Join(folder, file)
		text, err := stablehlo.Text(path, texts[file])
		if err != nil {
			return nil, err
		}
		return stablehlo.Parse(path, text)
	}
	if e.reset, err = function("reset.mlir"); err != nil {
		return nil, err
	}
	if e.step, err = function("step.mlir"); err != nil {
		return nil, err
	}
	wrong := func(file, format string, args ...any) error {
		return fmt.Errorf("%s: "+format, append([]any{filepath.Join(folder, file)}, args...)...)
	}
	key := graph.ShapeOf(graph.Uint32, 2)
	if in := e.reset.Inputs(); len(in) != 1 || !in[0].Equal(key) {
		return nil, wrong("reset.mlir", "reset takes %v, want one key, %s: %s", in, key, exportHint)
	}
	begins := e.reset.Outputs()
	if len(begins) == 0 {
		return nil, wrong("reset.mlir", "reset returns nothing, want the observation and the state")
	}
	observation, state := begins[0], begins[1:]
	e.leaves = len(state)
	in := e.step.Inputs()
	if len(in) != e.leaves+2 {
		return nil, wrong("step.mlir", "step takes %d arrays, want %d: a key, the %d of a state and an action: %s",
			len(in), e.leaves+2, e.leaves, exportHint)
	}
	if !in[0].Equal(key) {
		return nil, wrong("step.mlir", "step takes %s as its key, want %s: %s", in[0], key, exportHint)
	}
	action := in[len(in)-1]
	out := e.step.Outputs()
	if n := len(out) - e.leaves; n != 3 && n != 4 {
		return nil, wrong("step.mlir", "step returns %d arrays, want the observation, the %d of a state, the reward, "+
			"and either done or terminated and truncated", len(out), e.leaves)
	}
	if !out[0].Equal(observation) {
		return nil, wrong("step.mlir", "step returns the observation %s, and reset %s", out[0], observation)
	}
	for i, s := range state {
		if !in[1+i].Equal(s) || !out[1+i].Equal(s) {
			return nil, wrong("step.mlir", "array %d of the state is %s in reset; step takes %s and returns %s", i, s,
				in[1+i], out[1+i])
		}
	}
	if reward := out[1+e.leaves]; reward.Rank() != 0 || reward.DType == graph.Bool {
		return nil, wrong("step.mlir", "step returns the reward %s, want a number", reward)
	}
	for _, flag := range out[2+e.leaves:] {
		if !flag.Equal(graph.ShapeOf(graph.Bool)) {
			return nil, wrong("step.mlir", "step returns %s instead of a flag, want bool[]", flag)
		}
	}
	if d := observation.DType; !slices.Contains([]graph.DType{graph.Float32, graph.Int32, graph.Uint8, graph.Bool}, d) {
		return nil, wrong("reset.mlir", "observations are %s, want float32, int32, uint8 or bool", observation)
	}
	if e.spec, err = envs.ReadSpec(texts["env.json"], &observation, &action); err != nil {
		return nil, wrong("env.json", "%w", err)
	}
	return e, nil
}

// Spec describes the environment.
func (e *Env) Spec() envs.Spec { return e.spec }

// DefaultParams has the step limit of env.json.
func (e *Env) DefaultParams() Params { return Params{MaxSteps: envs.Steps(e.spec.MaxSteps)} }

// Reset calls the function reset.
func (e *Env) Reset(key random.Key, _ Params) (State, *graph.Array) {
	out := e.reset.Call(key.Data)
	return State{Leaves: out[1:], Observation: out[0], Time: envs.Steps(0)}, out[0]
}

// Step calls the function step.
func (e *Env) Step(key random.Key, s State, action *graph.Array, p Params) (next State, obs, reward, terminated,
	truncated *graph.Array) {
	envs.CheckAction(e.spec, action)
	in := e.step.Inputs()
	args := append([]*graph.Array{key.Data}, s.Leaves...)
	out := e.step.Call(append(args, action.Convert(in[len(in)-1].DType))...)
	next = State{Leaves: out[1 : 1+e.leaves], Observation: out[0]}
	reward, terminated = out[1+e.leaves].Convert(graph.Float32), out[2+e.leaves]
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	if rest := out[3+e.leaves:]; len(rest) > 0 {
		truncated = truncated.Or(rest[0])
	}
	return next, next.Observation, reward, terminated, truncated
}

// Observe returns the observation that belongs to a state.
func (e *Env) Observe(s State, _ Params) *graph.Array { return s.Observation }
