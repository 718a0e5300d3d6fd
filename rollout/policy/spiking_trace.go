package policy

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/spiking"
)

// LayerTrace records a layer of spiking neurons, for pictures.
type LayerTrace struct {
	Spikes    *graph.Array `tree:"optional"` // f32[substeps, units]: 1 for a spike that arrived, else 0
	Potential *graph.Array `tree:"optional"` // f32[substeps, units], mV; nil without a spiking.Voltmeter
}

// Tracer is a Policy whose neurons can be recorded.
type Tracer interface {
	Policy
	// Trace runs the policy over an episode's observations, [steps, …], with the keys that Act took, [steps]. It
	// returns a trace of each layer, leaves [steps*substeps, units]. params are one member's, as Init returns them.
	Trace(params any, observations *graph.Array, keys random.Key) []LayerTrace
	// Weights returns the weights from each layer to the next, f32[in, units] in mV, and their names. A layer's
	// recurrent weights follow the weights to the layer.
	Weights(params any) (names []string, weights []*graph.Array)
	// SubstepMS returns the time of a row of a trace, ms.
	SubstepMS() float64
}

// TracerOf returns p, or the policy of a Normalizing, as a Tracer. own returns the Tracer's parameters and
// observations, given those of p.
func TracerOf(p Policy) (t Tracer, own func(params any, observations *graph.Array) (any, *graph.Array), ok bool) {
	t, ok = Unwrap(p).(Tracer)
	n, normalizes := p.(*Normalizing)
	return t, func(params any, observations *graph.Array) (any, *graph.Array) {
		if !normalizes {
			return params, observations
		}
		inner := n.params("Trace", params)
		return inner.Own, graph.VMap(inner.Observation.Apply)(observations)
	}, ok
}

// Trace implements Tracer.
func (s *Spiking) Trace(params any, observations *graph.Array, keys random.Key) []LayerTrace {
	p, ok := params.(SpikingParams)
	if !ok {
		graph.Throw("policy.Spiking", "got parameters of type %T, want policy.SpikingParams", params)
	}
	meter, shows := s.dynamics.(spiking.Voltmeter)
	watch := func(i int, state spikingLayerState, spikes *graph.Array) LayerTrace {
		t := LayerTrace{Spikes: spikes}
		if shows {
			t.Potential = meter.Potential(s.Settings.Neurons(p.Layers[i]), state.Neurons)
		}
		return t
	}
	return traceEpisode(observations, keys, s.Start(params),
		func(carry any, observation *graph.Array, key random.Key) (any, []LayerTrace) {
			next, _, trace := s.act(params, carry, observation, key, watch)
			return next, trace
		})
}

// traceEpisode runs act over an episode's steps. Its traces, leaves [substeps, units], are joined to
// [steps*substeps, units].
func traceEpisode(observations *graph.Array, keys random.Key, start any,
	act func(carry any, observation *graph.Array, key random.Key) (any, []LayerTrace)) []LayerTrace {
	type step struct {
		Observation *graph.Array
		Key         random.Key
	}
	_, all := graph.Scan(func(carry any, now step) (any, []LayerTrace) {
		return act(carry, now.Observation, now.Key)
	}, start, step{observations, keys})
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.Reshape(a.Dim(0)*a.Dim(1), a.Dim(2)) }, all)
}

// Weights implements Tracer.
func (s *Spiking) Weights(params any) (names []string, weights []*graph.Array) {
	p, _ := params.(SpikingParams)
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

// SubstepMS implements Tracer.
func (s *Spiking) SubstepMS() float64 { return s.DT.Value }
