package envs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
)

// The parameters are scalars, and their sizes have an effect.
func TestParametersAreScalarsWithAnEffect(t *testing.T) {
	for _, id := range []string{"Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0",
		"Pendulum-v1", "CartPoleSwingUp-Easy-v1", "CartPoleSwingUp-Hard-v1", "DoublePoleVelocities-v1"} {
		t.Run(id, func(t *testing.T) {
			env, err := envs.Make(id)
			require.NoError(t, err)
			params := env.DefaultParams()
			leaves, tree := graph.Flatten(params)
			for i, leaf := range leaves {
				require.Zero(t, leaf.Rank(), "parameter %s", tree.Path(i))
			}
			scale := func(f float64) any {
				return graph.MapTree(func(a *graph.Array) *graph.Array {
					if a.DType() == graph.Int32 {
						return a
					}
					return a.Mul(f)
				}, params)
			}
			key := random.New(3)
			state, _ := env.Reset(key, params)
			step := func(p any) *graph.Array {
				_, obs, _, _, _ := env.Step(key, state, env.Spec().Action.Sample(key), p)
				return obs
			}
			require.NotEqual(t, floats(t, step(scale(1))), floats(t, step(scale(1.25))))
		})
	}
}

// Actions and trees that do not fit are refused with what was got and what is wanted.
func TestStepRefuses(t *testing.T) {
	type mistake struct {
		name, id      string
		state, params any // nil: the right ones
		action        *graph.Array
		want          string
	}
	for _, c := range []mistake{
		{name: "logits", id: "CartPole-v1", action: graph.Float32s([]float32{1, 2}),
			want: "the action is f32[2], want an integer scalar of Discrete(2): use graph.ArgMax"},
		{name: "float", id: "Acrobot-v1", action: graph.Scalar(1), want: "want an integer scalar of Discrete(3)"},
		{name: "scalar for a box", id: "Pendulum-v1", action: graph.Scalar(1),
			want: "the action is f32[], want f32[1] of Box(-2, 2, [1], "},
		{name: "integers for a box", id: "MountainCarContinuous-v0", action: graph.Int32s([]int32{1}),
			want: "the action is i32[1], want f32[1]"},
		{name: "no action", id: "MountainCar-v0", want: "the action is nil, want Discrete(3)"},
		{name: "another state", id: "CartPole-v1", state: classic.PendulumState{}, action: envs.Steps(1),
			want: "got classic.PendulumState as state, want classic.CartPoleState"},
		{name: "other parameters", id: "CartPole-v1", params: graph.None{}, action: envs.Steps(1),
			want: "got graph.None as parameters, want classic.CartPoleParams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, err := envs.Make(c.id)
			require.NoError(t, err)
			err = graph.Try(func() {
				params := env.DefaultParams()
				state, _ := env.Reset(random.New(0), params)
				if c.state != nil {
					state = c.state
				}
				if c.params != nil {
					params = c.params
				}
				env.Step(random.New(1), state, c.action, params)
			})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, c.id+": Step")
			require.ErrorContains(t, err, "spec_test.go:", "names the caller's line")
		})
	}
}

// Noise on Acrobot's torque moves the state by no more than its half-width can, and depends on the key.
func TestAcrobotTorqueNoise(t *testing.T) {
	first := func(e classic.Acrobot, seed int64) float64 {
		p := e.DefaultParams()
		s, _ := e.Reset(random.New(0), p)
		next, _, _, _, _ := e.Step(random.New(seed), s, envs.Steps(1), p)
		return floats(t, next.Velocity2)[0]
	}
	still := first(classic.Acrobot{}, 1)
	require.Equal(t, still, first(classic.Acrobot{}, 2))
	require.NotEqual(t, first(classic.Acrobot{TorqueNoise: .5}, 1), first(classic.Acrobot{TorqueNoise: .5}, 2))
	require.InDelta(t, still, first(classic.Acrobot{TorqueNoise: .5}, 1), .2)
}
