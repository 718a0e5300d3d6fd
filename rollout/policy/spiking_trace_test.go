package policy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// A trace equals the episode: its spikes add up to those that Act counts, and without adaptation a neuron spikes
// exactly after its potential crossed the threshold in the substep before. The same holds with normalized observations.
func TestTraceIsWhatIsPlayed(t *testing.T) {
	const steps = 15
	xs := random.Uniform(random.New(4), graph.ShapeOf(graph.Float32, steps, 3), -1, 1)
	keys := graph.VMap(func(t *graph.Array) random.Key { return random.FoldIn(random.New(9), t) })(graph.Iota(steps))
	for i, c := range []struct {
		spec      string
		threshold bool
	}{{"fast", true}, {"fast:cubalif", true}, {"fast:alif", false}, {"mechanistic:lif", false}} {
		s := newSpikingOf(t, c.spec)
		params := s.Init(random.New(2))
		carry := s.Start(params)
		for k := range steps {
			carry, _ = s.Act(params, carry, xs.Index(k), random.Key{Data: keys.Data.Index(k)})
		}
		all := s.Trace(params, xs, keys)
		require.Len(t, all, 2, c.spec)
		spikes := 0.
		for l, of := range all {
			require.Equal(t, []int{steps * s.Substeps, s.Hidden[l]}, of.Spikes.Dims(), c.spec)
			require.Equal(t, of.Spikes.Dims(), of.Potential.Dims(), c.spec)
			require.Equal(t, floats(t, carry.Layers[l].Sent), floats(t, of.Spikes.Sum(0)),
				"%d: %s", i+1, c.spec)
			sent, v := floats(t, of.Spikes), floats(t, of.Potential)
			top := floats(t, s.Settings.Neurons(params.Layers[l]).Threshold)
			units := s.Hidden[l]
			for at := units; c.threshold && at < len(sent); at++ {
				apart := v[at-units] - top[at%units]
				if apart > 1e-3 || apart < -1e-3 {
					require.Equal(t, apart > 0, sent[at] == 1, "%d: %s: substep %d, neuron %d at %g mV", i+1, c.spec,
						at/units, at%units, v[at-units])
				}
			}
			for _, x := range sent {
				spikes += x
			}
		}
		require.Greater(t, spikes, 10., c.spec)
		names, weights := s.Weights(params)
		require.Equal(t, []string{"inputs to layer 1", "layer 1 to layer 2"}, names)
		require.Equal(t, []int{6, 5}, weights[0].Dims())
		require.InDelta(t, 15*floats(t, params.Layers[0].W)[3], floats(t, weights[0])[3], 1e-5)

		normal := &Normalizing{Inner: Erase(s), dims: []int{3}}
		scaled := Normalized{Own: params, Observation: Scale{graph.Float32s([]float32{1, 2, 3}),
			graph.Float32s([]float32{2, 2, 2})}}
		again := normal.Traits().Tracer.Trace(scaled, xs.Mul(2).Add(graph.Float32s([]float32{1, 2, 3})), keys)
		require.InDelta(t, floats(t, all[0].Spikes.Sum())[0], floats(t, again[0].Spikes.Sum())[0], 2)
	}
	require.Nil(t, (&MLP{}).Traits().Tracer)
}

// The neurons of a policy that draws its actions, as ppo's members do, send the spikes that Act counts. They could not
// be recorded: the tracer got the parameters of the Sampling.
func TestSamplingTracesItsNeurons(t *testing.T) {
	const steps = 5
	own := settings.Values{"encoder": "rate", "rate": 900}
	made, _, err := Make("spiking:5,4", own, observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	s, err := NewSampling(made, Sampled, envs.Discrete{N: 2})
	require.NoError(t, err)
	xs := random.Uniform(random.New(1), graph.ShapeOf(graph.Float32, steps, 3), -1, 1)
	keys, params := random.Split(random.New(2), steps), s.Init(random.New(3))
	carry := s.Start(params)
	for k := range steps {
		carry, _ = s.Act(params, carry, xs.Index(k), random.Key{Data: keys.Data.Index(k)})
	}
	tracer := s.Traits().Tracer
	for i, layer := range tracer.Trace(params, xs, keys) {
		require.Equal(t, floats(t, carry.(spikingState).Layers[i].Sent), floats(t, layer.Spikes.Sum(0)))
	}
	names, _ := tracer.Weights(params)
	require.Equal(t, []string{"inputs to layer 1", "layer 1 to layer 2"}, names)
}

func newSpikingOf(t *testing.T, dynamics string) *Spiking {
	t.Helper()
	maker, ok := registry.New("spiking")
	require.True(t, ok)
	m := maker.(*SpikingSettings)
	m.Dynamics, m.Hidden, m.Gain.Value = dynamics, []int{5, 4}, 3
	p, err := m.Make(envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}, 2)
	require.NoError(t, err, fmt.Sprint(dynamics))
	return NetworkOf(p).(*Spiking)
}
