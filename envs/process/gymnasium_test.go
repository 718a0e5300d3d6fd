package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// The script of examples/gymnasium steps Gymnasium's CartPole as our own steps, from the same states. It needs a
// Python with gymnasium.
func TestGymnasiumScript(t *testing.T) {
	python := os.Getenv("XLARUN_GYMNASIUM")
	if python == "" {
		t.Skip("XLARUN_GYMNASIUM names no Python with gymnasium")
	}
	command := python + " ../../examples/gymnasium/env.py CartPole-v1"
	Allow(command)
	env, err := envs.Make("exec:" + command)
	require.NoError(t, err)
	ours := classic.CartPole{}
	require.Equal(t, ours.Spec().MaxSteps, env.Spec().MaxSteps)
	require.Equal(t, ours.Spec().RewardThreshold, env.Spec().RewardThreshold)
	require.Equal(t, "Discrete(2)", env.Spec().Action.String())
	const members, steps = 8, 12
	all, err := xlabridge.Jit(&xlabridge.Reference{}, graph.VMap(episode(env, steps)))(
		random.Split(random.New(1), members))
	require.NoError(t, err)
	for i := range members {
		for k := 1; k < steps; k++ {
			before, after := all.Observation.Index(i).Index(k-1), all.Observation.Index(i).Index(k)
			ended, err := graph.Float(all.Terminated.Index(i).Index(k - 1).Convert(graph.Float32))
			require.NoError(t, err)
			if ended == 1 {
				break
			}
			state := classic.CartPoleState{X: before.Index(0), XDot: before.Index(1), Theta: before.Index(2),
				ThetaDot: before.Index(3), Time: envs.Steps(k)}
			_, obs, reward, _, _ := ours.Step(random.New(0), state, graph.Of(int32(k%2)), ours.DefaultParams())
			want := graphtest.Floats(t, obs)
			got := graphtest.Floats(t, after)
			require.InDeltaSlice(t, want, got, 1e-5, "member %d, step %d", i, k)
			same := graphtest.Floats(t, graph.Stack([]*graph.Array{reward, all.Reward.Index(i).Index(k)}, 0))
			require.Equal(t, same[0], same[1])
		}
	}
}
