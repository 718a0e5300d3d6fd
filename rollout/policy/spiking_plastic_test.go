package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Plastic weights change within an episode by the timing of spikes, or by timing and rewards, from the genes on.
// Without a reward, a rewarded member equals one with constant weights.
func TestWeightsArePlasticWithinAnEpisode(t *testing.T) {
	const steps = 8
	observations := random.Uniform(random.New(1), graph.ShapeOf(graph.Float32, steps, 3), -1, 1)
	for _, dynamics := range []string{"fast", "mechanistic:lif:conductance"} {
		type result struct{ Out, First, Last *graph.Array }
		play := func(plasticity string, reward float64, prepared bool) result {
			p, _, err := Make("spiking:9,6", settings.Values{"dynamics": dynamics, "plasticity": plasticity,
				"plasticity-rate": .1}, observation, envs.Discrete{N: 4})
			require.NoError(t, err)
			params := p.Init(random.New(2))
			if prepared {
				params = p.Traits().Prepared.Prepare(params)
			}
			learn := p.Traits().Learn
			require.Equal(t, plasticity == "rewarded", learn != nil)
			end, out := graph.Scan(func(carry any, x *graph.Array) (any, *graph.Array) {
				carry, out := p.Act(params, carry, x, random.New(0))
				if learn != nil {
					carry = learn(carry, graph.Scalar(reward))
				}
				return carry, out.Action
			}, p.Start(params), observations)
			r := result{Out: out}
			if layers := end.(spikingState).Layers; layers[0].Plastic != nil {
				r.First, r.Last = layers[0].Plastic.W, layers[1].Plastic.W
			}
			return r
		}
		none := play("none", 0, true)
		require.Nil(t, none.First)
		require.Equal(t, floats(t, none.Out), floats(t, play("rewarded", 0, true).Out), dynamics)
		for _, plasticity := range []string{"stdp", "rewarded"} {
			plastic := play(plasticity, .5, true)
			require.NotEqual(t, floats(t, none.Out), floats(t, plastic.Out), plasticity)
			for _, w := range []*graph.Array{plastic.First, plastic.Last} {
				most := 0.
				for _, x := range floats(t, w) {
					require.LessOrEqual(t, x, 1.)
					require.GreaterOrEqual(t, x, -1.)
					most = max(most, x, -x)
				}
				require.Greater(t, most, .02, plasticity)
			}
			require.InDeltaSlice(t, floats(t, plastic.Out), floats(t, play(plasticity, .5, false).Out), 1e-4,
				"prepared or not")
		}
	}
}

// A delay does not change when a neuron spiked. The weights of the first layer, whose inputs have no delay,
// change in the same way with delays and without; later weights do not.
func TestPlasticityTakesSpikesAsTheyLeave(t *testing.T) {
	x := random.Uniform(random.New(1), graph.ShapeOf(graph.Float32, 6, 3), -1, 1)
	play := func(delay int) (first, last []float64) {
		p, _, err := Make("spiking:9,6", settings.Values{"plasticity": "stdp", "plasticity-rate": .1, "delay": delay},
			observation, envs.Discrete{N: 4})
		require.NoError(t, err)
		params := p.Init(random.New(2))
		end, _ := graph.Scan(func(carry any, x *graph.Array) (any, *graph.Array) {
			carry, out := p.Act(params, carry, x, random.New(0))
			return carry, out.Action
		}, p.Start(params), x)
		layers := end.(spikingState).Layers
		return floats(t, layers[0].Plastic.W), floats(t, layers[1].Plastic.W)
	}
	first, last := play(0)
	late, later := play(6)
	require.Equal(t, first, late)
	require.NotEqual(t, last, later)
}
