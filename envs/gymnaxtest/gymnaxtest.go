// Package gymnaxtest compares an environment with transitions of gymnax. gymnax_games.py and gymnax_transitions.py of
// third_party/oracles write them; their docstrings describe the format.
package gymnaxtest

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
)

// tolerance is relative to max(1, |want|).
const tolerance = 1e-5

type vectors struct {
	Env        string
	Parameters map[string]oracles.Array
	Changed    []string // the parameters that differ from gymnax's defaults
	Raw, Reset rows
	Auto       *rows // of AutoReset; nil: the file has none
}

type rows struct {
	Key                           *oracles.Array // of Auto and Reset
	State, Next                   map[string]oracles.Array
	Action                        oracles.Array
	Obs                           oracles.Array
	Packed                        bool // whether Obs is bits
	Reward, Terminated, Truncated oracles.Array
	FinalObs                      oracles.Array `json:"final_obs"` // of Auto
}

// outcome is the results of a step.
type outcome struct {
	Next                               any
	Obs, Reward, Terminated, Truncated *graph.Array
}

// Match plays all 2,000 transitions and 64 resets of a file in vmapped programs on the reference interpreter, with
// gymnax's keys. It compares the state fields in the file. next, unless nil, first converts a batch of our states to
// the file's form. env is erased, so that no code is made for each environment.
func Match(t *testing.T, env envs.Environment, path string, next func(any) any) {
	t.Helper()
	var v vectors
	require.NoError(t, oracles.Read(path, &v))
	p := parameters(t, env.DefaultParams(), v)
	first := run(t, func(key random.Key) any {
		s, _ := env.Reset(key, p)
		return s
	}, random.New(0))
	if next == nil {
		next = func(s any) any { return s }
	}

	const n = 2000
	require.Equal(t, n, v.Raw.Reward.Len())
	type input struct {
		Key    random.Key
		State  any
		Action *graph.Array
	}
	action := env.Spec().Action.Shape().DType
	got := run(t, graph.VMap(func(in input) (o outcome) {
		o.Next, o.Obs, o.Reward, o.Terminated, o.Truncated = env.Step(in.Key, in.State, in.Action, p)
		return o
	}), input{random.Split(random.New(1), n), batch(t, first, v.Raw.State, n), array(t, v.Raw.Action, action)})
	agreeStates(t, v.Raw.Next, next(got.Next))
	agreeStep(t, v.Raw, env.Spec(), got.Obs, got.Reward, got.Terminated, got.Truncated)

	if v.Auto != nil {
		auto := envs.AutoReset(env)
		key := random.Key{Data: array(t, *v.Auto.Key, graph.Uint32)}
		got := run(t, graph.VMap(func(in input) (o outcome) {
			before := envs.Episode[any]{State: in.State, FinalObs: env.Observe(in.State, p)}
			o.Next, o.Obs, o.Reward, o.Terminated, o.Truncated = auto.Step(in.Key, before, in.Action, p)
			return o
		}), input{key, batch(t, first, v.Auto.State, key.Data.Dim(0)), array(t, v.Auto.Action, action)})
		final := got.Next.(envs.Episode[any])
		agreeStates(t, v.Auto.Next, final.State)
		agreeStep(t, *v.Auto, env.Spec(), got.Obs, got.Reward, got.Terminated, got.Truncated)
		agree(t, "the final observation", v.Auto.FinalObs.Floats(), graphtest.Floats(t, final.FinalObs))
	}

	fresh := run(t, graph.VMap(func(key random.Key) (o outcome) {
		state, obs := env.Reset(key, p)
		return outcome{state, obs, obs, obs, obs}
	}), random.Key{Data: array(t, *v.Reset.Key, graph.Uint32)})
	agreeStates(t, v.Reset.State, fresh.Next)
	agree(t, "the observation of Reset", observations(v.Reset, env.Spec()), graphtest.Floats(t, fresh.Obs))
}

// parameters are the defaults with the values of the file. They must be equal, except for the Changed ones.
func parameters(t *testing.T, p any, v vectors) any {
	t.Helper()
	out := settable(p)
	changed := map[string]bool{}
	for _, name := range v.Changed {
		changed[name] = true
	}
	for name, want := range v.Parameters {
		f := out.FieldByName(name)
		require.True(t, f.IsValid(), "no parameter %s", name)
		ours := f.Interface().(*graph.Array)
		if !changed[name] {
			agree(t, "parameter "+name, want.Floats(), graphtest.Floats(t, ours))
		}
		require.Len(t, want.Shape, ours.Rank(), name)
		f.Set(reflect.ValueOf(array(t, want, ours.DType())))
	}
	return out.Interface()
}

// settable is a copy of a struct.
func settable(s any) reflect.Value {
	v := reflect.New(reflect.TypeOf(s)).Elem()
	v.Set(reflect.ValueOf(s))
	return v
}

// batch is n states from the file's fields; missing fields are zeros.
func batch(t *testing.T, first any, fields map[string]oracles.Array, n int) any {
	t.Helper()
	v := settable(graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{n}, a.Dims()...)...))
	}, first))
	for name, a := range fields {
		f := v.FieldByName(name)
		require.True(t, f.IsValid(), "the state has no field %s", name)
		zeros := f.Interface().(*graph.Array)
		require.Equal(t, a.Shape, zeros.Dims(), name)
		f.Set(reflect.ValueOf(array(t, a, zeros.DType())))
	}
	return v.Interface()
}

func agreeStates(t *testing.T, want map[string]oracles.Array, got any) {
	t.Helper()
	v := reflect.ValueOf(got)
	for name, w := range want {
		a := v.FieldByName(name).Interface().(*graph.Array)
		require.Equal(t, w.Shape, a.Dims(), name)
		agree(t, "state."+name, w.Floats(), graphtest.Floats(t, a))
	}
}

func agreeStep(t *testing.T, want rows, spec envs.Spec, obs, reward, terminated, truncated *graph.Array) {
	t.Helper()
	agree(t, "obs", observations(want, spec), graphtest.Floats(t, obs))
	agree(t, "reward", want.Reward.Floats(), graphtest.Floats(t, reward))
	agree(t, "terminated", want.Terminated.Floats(), graphtest.Floats(t, terminated))
	agree(t, "truncated", want.Truncated.Floats(), graphtest.Floats(t, truncated))
}

func agree(t *testing.T, what string, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		if d := math.Abs(got[i]-w) / max(1, math.Abs(w)); !(d <= tolerance) {
			require.Failf(t, what, "element %d of %d: got %v, gymnax has %v", i, len(want), got[i], w)
		}
	}
}

// observations are the observations of a file; it unpacks bits if they are packed.
func observations(r rows, spec envs.Spec) []float64 {
	if !r.Packed {
		return r.Obs.Floats()
	}
	n, size := r.Obs.Shape[0], spec.Observation.Shape().Size()
	width := (size + 7) / 8
	out := make([]float64, 0, n*size)
	for row := range n {
		for bit := range size {
			out = append(out, float64(r.Obs.Data[row*width+bit/8]>>(7-bit%8)&1))
		}
	}
	return out
}

// array converts a file's array, which has the smallest possible dtype, to our dtype.
func array(t *testing.T, a oracles.Array, d graph.DType) *graph.Array {
	t.Helper()
	if d == graph.Uint32 {
		v := make([]uint32, a.Len())
		for i, x := range a.Ints() {
			v[i] = uint32(x)
		}
		return graph.Uint32s(v, a.Shape...)
	}
	out, err := graph.Eval(graph.Float32s(a.Float32s(), a.Shape...).Convert(d))
	require.NoError(t, err)
	return out
}

// run traces f once and runs it on the reference interpreter.
func run[A, R any](t *testing.T, f func(A) R, a A) R {
	t.Helper()
	p, err := graph.Trace("test", f, a)
	require.NoError(t, err)
	out, err := p.Interpret(graph.Leaves(a), nil)
	require.NoError(t, err)
	return p.OutTree().Unflatten(out).(R)
}
