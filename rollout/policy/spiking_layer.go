package policy

import (
	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/graph/nn"
	"xlarun/rollout/policy/spiking"
)

// synapses are matrices as Prepare lays them out: whole, or what excites and what inhibits apart.
type synapses struct {
	Sum  *Weight
	Plus *Weight // the positive weights, the others 0
	Less *Weight // the negative ones, without their sign
}

// spikingLayer is a layer as Prepare lays it out.
type spikingLayer struct {
	In      synapses
	Own     *synapses // from the layer's spikes to itself; nil: none
	Neurons any
	Delay   *nn.Delay    // nil: none
	Idle    *graph.Array // f32[units]: zeros
	Born    *graph.Array `tree:"optional"` // f32[in, units]: the weights that plasticity starts from; nil: they stay
}

// spikingLayerState is what a layer carries.
type spikingLayerState struct {
	Neurons  any
	UnderWay *nn.DelayState    // nil: without delays
	Sent     *graph.Array      // f32[units]: spikes so far that arrived
	Plastic  *neuron.STDPState // of what the weights changed by; nil: they stay
}

// layer lays one out, with so many more inputs and neurons, which are zero.
func (s *Spiking) layer(lay laying, g spiking.Genes, before, more int) spikingLayer {
	l := spikingLayer{In: s.synapses(lay, g.W, before, more)}
	if g.Wh != nil {
		own := s.synapses(lay, g.Wh, more, more)
		l.Own = &own
	}
	if g.Delay != nil {
		l.Delay = &nn.Delay{Steps: padded(s.Steps(single(g.Delay)), more), Longest: s.Delay}
	}
	if s.plastic() {
		l.Born = single(lay.whole(g.W, before, more))
	}
	for _, each := range []**graph.Array{&g.B, &g.Membrane, &g.Synapse, &g.Adaptation, &g.Threshold, &g.Jump} {
		*each = padded(single(*each), more)
	}
	l.Neurons, l.Idle = s.dynamics.Prepare(&s.Settings, s.Settings.Neurons(g)), graph.ZerosLike(g.B)
	return l
}

// synapses lays a matrix of genes out.
func (s *Spiking) synapses(lay laying, genes *graph.Array, before, more int) synapses {
	if !s.dynamics.BySign() {
		w := lay.weight(genes, before, more)
		return synapses{Sum: &w}
	}
	whole := lay.whole(genes, before, more) // signs are those of the sum, so that what members share has to be formed
	return synapses{Plus: &Weight{W: whole.Max(0)}, Less: &Weight{W: whole.Neg().Max(0)}}
}

// whole is a matrix with what a member has of its own of it.
func (l laying) whole(genes *graph.Array, more ...int) *graph.Array {
	w := l.weight(genes, more...)
	if own := w.Own; own.A != nil {
		return w.W.Add(own.A.Transpose(1, 0).Dot(own.B).Mul(own.Scale))
	}
	return w.W
}

// drives is what arrives at a layer in a substep, f32[units] in genes of weights.
type drives struct {
	Sum, Plus, Less *graph.Array `tree:"optional"`
}

func (w synapses) drives(spikes *graph.Array) drives {
	if w.Sum != nil {
		return drives{Sum: single(w.Sum.Times(spikes))}
	}
	return drives{Plus: single(w.Plus.Times(spikes)), Less: single(w.Less.Times(spikes))}
}

// and adds what arrives by another way.
func (d drives) and(more drives) drives {
	return graph.MapTree2(func(a, b *graph.Array) *graph.Array { return a.Add(b) }, d, more)
}

func (s *Spiking) startLayer(l spikingLayer) spikingLayerState {
	state := spikingLayerState{Neurons: s.dynamics.Start(l.Neurons), Sent: l.Idle}
	if l.Delay != nil {
		under := l.Delay.Start(l.Idle.Dim(0))
		state.UnderWay = &under
	}
	if l.Born != nil {
		plastic := s.stdp().Start(graph.ZerosLike(l.Born))
		state.Plastic = &plastic
	}
	return state
}

// substep takes a layer through one: its next state, its spikes as they arrive at who listens, and as they leave.
func (s *Spiking) substep(l spikingLayer, was spikingLayerState,
	arrives drives) (next spikingLayerState, spikes, fired *graph.Array) {
	fired = s.dynamics.Spikes(l.Neurons, was.Neurons)
	spikes = fired
	// A potential that is no finite number reaches everything that the neuron does.
	for _, leaf := range graph.Leaves(was.Neurons) {
		spikes = spikes.Add(leaf.Mul(0))
	}
	if l.Delay != nil {
		var under nn.DelayState
		under, spikes = l.Delay.Step(*was.UnderWay, spikes)
		next.UnderWay = &under
	}
	if l.Own != nil {
		arrives = arrives.and(l.Own.drives(spikes))
	}
	in := graph.MapTree(s.Weight, arrives)
	next.Neurons = s.dynamics.Step(l.Neurons, was.Neurons, fired, spiking.Input{Sum: in.Sum, Excitation: in.Plus,
		Inhibition: in.Less})
	next.Sent = was.Sent.Add(spikes)
	return next, spikes, fired
}
