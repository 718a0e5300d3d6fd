package policy

import (
	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/graph/nn"
	"xlarun/rollout/policy/spiking"
)

// synapses holds matrices as Prepare lays them out: Sum, or excitation and inhibition separately.
type synapses struct {
	Sum   *Weight
	Plus  *Weight // max(W, 0)
	Minus *Weight // max(-W, 0)
}

// spikingLayer is a layer as Prepare lays it out.
type spikingLayer struct {
	In       synapses
	Own      *synapses // from the layer's spikes to itself; nil: none
	Neurons  any
	Delay    *nn.Delay    // nil: none
	Idle     *graph.Array // f32[units]: zeros
	InitialW *graph.Array `tree:"optional"` // f32[in, units]: initial plastic weights; nil: weights are constant
}

// spikingLayerState is the carry of a layer.
type spikingLayerState struct {
	Neurons any
	Delayed *nn.DelayState    // delayed spikes; nil: no delays
	Sent    *graph.Array      // f32[units]: number of spikes so far
	Plastic *neuron.STDPState // change of the weights; nil: weights are constant
}

// layer lays a layer out, padded with `before` inputs and `pad` neurons, which are zero.
func (s *Spiking) layer(lay laying, g spiking.Genes, before, pad int) spikingLayer {
	l := spikingLayer{In: s.synapses(lay, g.W, before, pad)}
	if g.Wh != nil {
		recurrent := s.synapses(lay, g.Wh, pad, pad)
		l.Own = &recurrent
	}
	if g.Delay != nil {
		l.Delay = &nn.Delay{Steps: padded(s.Steps(single(g.Delay)), pad), Longest: s.Delay}
	}
	if s.plastic() {
		l.InitialW = single(lay.whole(g.W, before, pad))
	}
	for _, each := range []**graph.Array{&g.B, &g.Membrane, &g.Synapse, &g.Adaptation, &g.Threshold, &g.Jump} {
		*each = padded(single(*each), pad)
	}
	l.Neurons, l.Idle = s.dynamics.Prepare(&s.Settings, s.Settings.Neurons(g)), graph.ZerosLike(g.B)
	return l
}

// synapses lays out a matrix of genes.
func (s *Spiking) synapses(lay laying, genes *graph.Array, before, pad int) synapses {
	if !s.dynamics.BySign() {
		w := lay.weight(genes, before, pad)
		return synapses{Sum: &w}
	}
	whole := lay.whole(genes, before, pad) // the sign is that of the sum, so that a shared matrix is formed
	return synapses{Plus: &Weight{W: whole.Max(0)}, Minus: &Weight{W: whole.Neg().Max(0)}}
}

// whole returns a matrix with a member's own factors added.
func (l laying) whole(genes *graph.Array, pad ...int) *graph.Array {
	w := l.weight(genes, pad...)
	if change := w.Own; change.A != nil {
		return w.W.Add(change.A.Transpose(1, 0).Dot(change.B).Mul(change.Scale))
	}
	return w.W
}

// drives is the input of a layer in a substep, f32[units], in genes of weights.
type drives struct {
	Sum, Plus, Minus *graph.Array `tree:"optional"`
}

func (w synapses) drives(spikes *graph.Array) drives {
	if w.Sum != nil {
		return drives{Sum: single(w.Sum.Times(spikes))}
	}
	return drives{Plus: single(w.Plus.Times(spikes)), Minus: single(w.Minus.Times(spikes))}
}

func (s *Spiking) startLayer(l spikingLayer) spikingLayerState {
	state := spikingLayerState{Neurons: s.dynamics.Start(l.Neurons), Sent: l.Idle}
	if l.Delay != nil {
		under := l.Delay.Start(l.Idle.Dim(0))
		state.Delayed = &under
	}
	if l.InitialW != nil {
		plastic := s.stdp().Start(graph.ZerosLike(l.InitialW))
		state.Plastic = &plastic
	}
	return state
}

// substep computes a layer's substep. The layer before sent spikes, which arrive as drives. It returns the next state,
// and the spikes that arrive at the next layer.
func (s *Spiking) substep(l spikingLayer, prev spikingLayerState, sent *graph.Array,
	arrives drives) (next spikingLayerState, spikes *graph.Array) {
	fired := s.dynamics.Spikes(l.Neurons, prev.Neurons)
	spikes = fired
	// NaN or infinity in a state spreads to the neuron's spikes.
	for _, leaf := range graph.Leaves(prev.Neurons) {
		spikes = spikes.Add(leaf.Mul(0))
	}
	if l.Delay != nil {
		var under nn.DelayState
		under, spikes = l.Delay.Step(*prev.Delayed, spikes)
		next.Delayed = &under
	}
	if l.Own != nil {
		arrives = graph.AddTree(arrives, l.Own.drives(spikes))
	}
	in := graph.MapTree(s.Weight, arrives)
	next.Neurons = s.dynamics.Step(l.Neurons, prev.Neurons, fired, spiking.Input{Sum: in.Sum, Excitation: in.Plus,
		Inhibition: in.Minus})
	next.Sent = prev.Sent.Add(spikes)
	if prev.Plastic != nil { // by the spikes that arrive and those that leave, before their delay
		plastic := s.stdp().Step(*prev.Plastic, sent, fired)
		next.Plastic = &plastic
	}
	return next, spikes
}
