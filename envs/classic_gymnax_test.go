package envs_test

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
)

// rows are transitions of gymnax 1.0.1; third_party/oracles/gymnax_transitions.py says what the file holds.
type rows struct {
	Key                                        *oracles.Array
	State, Next                                map[string]oracles.Array
	Action, Obs, Reward, Terminated, Truncated oracles.Array
	FinalObs                                   oracles.Array `json:"final_obs"`
}

type vectors struct {
	Params           map[string]any
	MaxSteps         int `json:"max_steps"`
	Fields           []string
	Raw, Auto, Reset rows
}

// outcome is what a step gives, as one tree.
type outcome[S any] struct {
	Next                               S
	Obs, Reward, Terminated, Truncated *graph.Array
}

func array(a oracles.Array) *graph.Array {
	switch a.DType {
	case "int32":
		v := make([]int32, a.Len())
		for i, x := range a.Ints() {
			v[i] = int32(x)
		}
		return graph.Int32s(v, a.Shape...)
	case "uint32":
		v := make([]uint32, a.Len())
		for i, x := range a.Ints() {
			v[i] = uint32(x)
		}
		return graph.Uint32s(v, a.Shape...)
	}
	return graph.Float32s(a.Float32s(), a.Shape...)
}

// gymnaxName is our name of one of gymnax's fields: "joint_angle1" is "JointAngle1".
func gymnaxName(field string) string {
	var b strings.Builder
	for _, part := range strings.Split(field, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// stateOf fills a state struct from gymnax's fields.
func stateOf[S any](t *testing.T, fields map[string]oracles.Array) (s S) {
	t.Helper()
	v := reflect.ValueOf(&s).Elem()
	require.Equal(t, v.NumField(), len(fields))
	for name, a := range fields {
		f := v.FieldByName(gymnaxName(name))
		require.True(t, f.IsValid(), "state has no field for %s", name)
		f.Set(reflect.ValueOf(array(a)))
	}
	return s
}

// agree compares a batch with gymnax's to a tolerance relative to max(1, |want|).
func agree(t *testing.T, what string, want oracles.Array, got *graph.Array, tol float64) {
	t.Helper()
	require.Equal(t, want.Shape, got.Dims(), what)
	if want.DType != "bool" && want.DType != "float32" || got.DType() != graph.Bool && got.DType() != graph.Float32 {
		require.Equal(t, want.DType, strings.ToLower(got.DType().String()), what)
	}
	g, err := graph.Floats(got)
	require.NoError(t, err)
	worst := 0.
	for i, w := range want.Floats() {
		d := math.Abs(g[i]-w) / max(1, math.Abs(w))
		worst = max(worst, d)
		require.LessOrEqual(t, d, tol, "%s[%d]: got %v, gymnax has %v", what, i, g[i], w)
	}
	t.Logf("%s: largest difference %.2g", what, worst)
}

func agreeState(t *testing.T, what string, want map[string]oracles.Array, got any, tol float64) {
	t.Helper()
	v := reflect.ValueOf(got)
	for name, w := range want {
		agree(t, what+"."+name, w, v.FieldByName(gymnaxName(name)).Interface().(*graph.Array), tol)
	}
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

func TestMatchesGymnax(t *testing.T) {
	t.Run("CartPole-v1", func(t *testing.T) { matchGymnax(t, classic.CartPole{}) })
	t.Run("Acrobot-v1", func(t *testing.T) { matchGymnax(t, classic.Acrobot{}) })
	t.Run("MountainCar-v0", func(t *testing.T) { matchGymnax(t, classic.MountainCar{}) })
	t.Run("MountainCarContinuous-v0", func(t *testing.T) { matchGymnax(t, classic.MountainCarContinuous{}) })
	t.Run("Pendulum-v1", func(t *testing.T) { matchGymnax(t, classic.Pendulum{}) })
}

// matchGymnax plays every row of an environment's vectors at once, in one vmapped program for each form.
func matchGymnax[S, P any](t *testing.T, env envs.Env[S, P]) {
	var v vectors
	require.NoError(t, oracles.Read(filepath.Join("classic", "testdata", env.Spec().ID+".json.gz"), &v))
	p := env.DefaultParams()
	matchParams(t, v, env.Spec(), reflect.ValueOf(p))

	type input[S any] struct {
		Key    random.Key
		State  S
		Action *graph.Array
	}
	t.Run("raw", func(t *testing.T) {
		require.Equal(t, 2000, v.Raw.Reward.Len())
		in := input[S]{random.Split(random.New(1), v.Raw.Reward.Len()), stateOf[S](t, v.Raw.State), array(v.Raw.Action)}
		got := run(t, graph.VMap(func(in input[S]) (o outcome[S]) {
			o.Next, o.Obs, o.Reward, o.Terminated, o.Truncated = env.Step(in.Key, in.State, in.Action, p)
			return o
		}), in)
		agreeState(t, "next", v.Raw.Next, got.Next, 1e-5)
		agree(t, "obs", v.Raw.Obs, got.Obs, 1e-5)
		agree(t, "reward", v.Raw.Reward, got.Reward, 1e-5)
		agree(t, "terminated", v.Raw.Terminated, got.Terminated, 0)
		agree(t, "truncated", v.Raw.Truncated, got.Truncated, 0)
	})
	t.Run("auto-reset", func(t *testing.T) {
		auto := envs.AutoReset(env)
		state := stateOf[S](t, v.Auto.State)
		in := input[envs.Episode[S]]{random.Key{Data: array(*v.Auto.Key)}, envs.Episode[S]{
			State: state, FinalObs: array(v.Auto.FinalObs)}, array(v.Auto.Action)}
		got := run(t, graph.VMap(func(in input[envs.Episode[S]]) (o outcome[envs.Episode[S]]) {
			o.Next, o.Obs, o.Reward, o.Terminated, o.Truncated = auto.Step(in.Key, in.State, in.Action, p)
			return o
		}), in)
		agreeState(t, "next", v.Auto.Next, got.Next.State, 1e-5)
		agree(t, "obs", v.Auto.Obs, got.Obs, 1e-5)
		agree(t, "final_obs", v.Auto.FinalObs, got.Next.FinalObs, 1e-5)
		agree(t, "reward", v.Auto.Reward, got.Reward, 1e-5)
		agree(t, "terminated", v.Auto.Terminated, got.Terminated, 0)
		agree(t, "truncated", v.Auto.Truncated, got.Truncated, 0)
	})
	t.Run("reset", func(t *testing.T) {
		got := run(t, graph.VMap(func(key random.Key) (o outcome[S]) {
			state, obs := env.Reset(key, p)
			return outcome[S]{state, obs, obs, obs, obs}
		}), random.Key{Data: array(*v.Reset.Key)})
		agreeState(t, "state", v.Reset.State, got.Next, 1e-6)
		agree(t, "obs", v.Reset.Obs, got.Obs, 1e-6)
	})
}

// matchParams compares the default parameters with gymnax's, field by field.
func matchParams(t *testing.T, v vectors, spec envs.Spec, p reflect.Value) {
	t.Helper()
	ours := map[string]string{
		"max_steps_in_episode": "MaxSteps", "masscart": "MassCart", "masspole": "MassPole",
		"theta_threshold_radians": "ThetaThreshold",
		"x_threshold":             "XThreshold", "link_com_pos_1": "LinkComPos1", "link_com_pos_2": "LinkComPos2",
		"link_moi": "LinkMOI",
		// Derived, no parameter of ours, or a field of the environment itself.
		"total_mass": "", "polemass_length": "", "available_torque": "", "link_length_2": "", "torque_noise_max": "",
	}
	require.Equal(t, v.MaxSteps, spec.MaxSteps)
	for name, want := range v.Params {
		field, named := ours[name]
		if !named {
			field = gymnaxName(name)
		}
		if field == "" {
			continue
		}
		f := p.FieldByName(field)
		require.True(t, f.IsValid(), "no parameter for gymnax's %s", name)
		got, err := graph.Float(f.Interface().(*graph.Array))
		require.NoError(t, err)
		require.Equal(t, float32(want.(float64)), float32(got), name)
	}
}
