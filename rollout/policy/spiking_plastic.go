package policy

import (
	"xlarun/graph"
	"xlarun/graph/neuron"
)

// plastic reports whether the weights between layers change within an episode.
func (s *Spiking) plastic() bool { return s.Plasticity == "stdp" || s.Plasticity == "rewarded" }

// learns reports whether rewards change the weights.
func (s *Spiking) learns() bool { return s.Plasticity == "rewarded" }

// stdp returns the plasticity of all weights between layers. Its state is the change of the weights, so that each
// episode starts from the genes.
func (s *Spiking) stdp() neuron.STDP {
	return neuron.STDP{DT: s.DT.Value, APlus: s.PlasticityRate, AMinus: 1.05 * s.PlasticityRate, TauPlus: 20,
		TauMinus: 20,
		Least:    -s.PlasticityBound, Most: s.PlasticityBound, Modulated: s.learns(), TauC: s.PlasticityTau}
}

// arriving returns the input of a layer through its current weights.
func (s *Spiking) arriving(l spikingLayer, now spikingLayerState, sent *graph.Array) drives {
	if now.Plastic == nil {
		return l.In.drives(sent)
	}
	w := l.InitialW.Add(now.Plastic.W)
	if !s.dynamics.BySign() {
		return drives{Sum: sent.Dot(w)}
	}
	return drives{Plus: sent.Dot(w.Max(0)), Minus: sent.Dot(w.Neg().Max(0))}
}

// Learn changes the eligible weights by the reward of a step.
func (s *Spiking) Learn(c spikingState, reward *graph.Array) spikingState {
	layers := make([]spikingLayerState, len(c.Layers))
	for i, l := range c.Layers {
		changed := s.stdp().Reward(*l.Plastic, reward)
		l.Plastic = &changed
		layers[i] = l
	}
	c.Layers = layers
	return c
}
