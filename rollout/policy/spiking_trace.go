package policy

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
)

// LayerTrace records a layer of spiking neurons, for pictures.
type LayerTrace struct {
	Spikes    *graph.Array `tree:"optional"` // f32[substeps, units]: 1 for a spike that arrived, else 0
	Potential *graph.Array `tree:"optional"` // f32[substeps, units], mV; nil if spiking.Dynamics has none
}

// Tracer records the neurons of a policy with parameters P.
type Tracer[P any] struct {
	// Trace runs the policy over an episode's observations, [steps, …], with the keys that Act took, [steps]. It
	// returns a trace of each layer, leaves [steps*substeps, units]. params are one member's, as Init returns them.
	Trace func(params P, observations *graph.Array, keys random.Key) []LayerTrace
	// Weights returns the weights from each layer to the next, f32[in, units] in mV, and their names. A layer's
	// recurrent weights follow the weights to the layer.
	Weights func(params P) (names []string, weights []*graph.Array)
	// SubstepMS is the time of a row of a trace, ms.
	SubstepMS float64
}

// Trace is Tracer.Trace.
func (s *Spiking) Trace(p SpikingParams, observations *graph.Array, keys random.Key) []LayerTrace {
	r := s.ready(p)
	watch := func(i int, state spikingLayerState, spikes *graph.Array) LayerTrace {
		return LayerTrace{spikes, s.dynamics.Potential(s.Settings.Neurons(p.Layers[i]), state.Neurons)}
	}
	return traceEpisode(observations, keys, s.start(r),
		func(carry spikingState, observation *graph.Array, key random.Key) (spikingState, []LayerTrace) {
			next, _, trace := s.act(r, carry, observation, key, watch)
			return next, trace
		})
}

// traceEpisode runs act over an episode's steps. Its traces, leaves [substeps, units], are joined to
// [steps*substeps, units].
func traceEpisode[C any](observations *graph.Array, keys random.Key, start C,
	act func(carry C, observation *graph.Array, key random.Key) (C, []LayerTrace)) []LayerTrace {
	type step struct {
		Observation *graph.Array
		Key         random.Key
	}
	_, all := graph.Scan(func(carry C, now step) (C, []LayerTrace) {
		return act(carry, now.Observation, now.Key)
	}, start, step{observations, keys})
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.Reshape(a.Dim(0)*a.Dim(1), a.Dim(2)) }, all)
}

// Weights is Tracer.Weights.
func (s *Spiking) Weights(p SpikingParams) (names []string, weights []*graph.Array) {
	from := "inputs"
	for i, g := range p.Layers {
		to := fmt.Sprintf("layer %d", i+1)
		names, weights = append(names, from+" to "+to), append(weights, s.Weight(g.W))
		if g.Wh != nil {
			names, weights = append(names, to+" to itself"), append(weights, s.Weight(g.Wh))
		}
		from = to
	}
	return names, weights
}
