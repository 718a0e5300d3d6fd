// Package spiking holds what spiking policies are made of beside their network: one genotype of numbers without bounds,
// one mapping of it to physical values (ms, mV), and the dynamics, each of which maps those to numbers of its own. The
// same genes play under any dynamics.
package spiking

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Genes are those of one layer of neurons: float32 of any size, which Settings.Neurons maps to physical values. All
// dynamics have the same, so that what was evolved under one plays under another; what a dynamics does not look at
// drifts.
type Genes struct {
	W          *graph.Array // [in, units]: weights from the layer before
	Wh         *graph.Array `tree:"optional"` // [units, units]: from the layer's spikes to itself; nil: none
	B          *graph.Array // [units]: a constant current
	Membrane   *graph.Array // [units]: time constants of the membrane,
	Synapse    *graph.Array // [units]: of the synapses,
	Adaptation *graph.Array // [units]: of the adaptation
	Threshold  *graph.Array // [units]
	Jump       *graph.Array // [units]: what a spike adds to the adaptation
	Delay      *graph.Array `tree:"optional"` // [units]: what the layer's spikes take to arrive; nil: nothing
}

// Draw draws a layer's genes: weights from the normal distribution of variance 1/in, those of time constants and delays
// from that of variance 1; the others are zero.
func (s *Settings) Draw(key random.Key, in, units int) Genes {
	k := random.SplitN(key, 6)
	weights := nn.VarianceScaling(1, nn.FanIn, nn.NormalDraws)
	matrix := func(key random.Key, in int) *graph.Array {
		return weights(key, graph.ShapeOf(graph.Float32, in, units))
	}
	each := graph.ShapeOf(graph.Float32, units)
	g := Genes{W: matrix(k[0], in), B: graph.Zeros(each), Membrane: random.Normal(k[2], each),
		Synapse:    random.Normal(k[3], each),
		Adaptation: random.Normal(k[4], each), Threshold: graph.Zeros(each), Jump: graph.Zeros(each)}
	if s.Recurrent {
		g.Wh = matrix(k[1], units)
	}
	if s.Delay > 0 {
		g.Delay = random.Normal(k[5], each)
	}
	return g
}

// Neurons are a layer's genes as physical values, f32[units] each.
type Neurons struct {
	Membrane, Synapse, Adaptation *graph.Array // ms: time constants
	Rest, Reset                   *graph.Array // mV: where a potential comes to without input, and after a spike
	Threshold                     *graph.Array // mV, above Rest
	// mV: what a spike raises the threshold by, or the current of adaptation takes off the drive
	Jump *graph.Array
	// mV: what the constant current, times the membrane's resistance, lifts a resting potential by at last
	Drive *graph.Array
}

// Neurons maps genes to physical values; this is the only place that does, with Weight and Steps. For a gene g,
//
//	between(g, min, max) = min*(max/min)^sigmoid(g)        g = 0: the geometric mean of the bounds
//
//	Membrane   = between(g, tau-min, tau-max) ms
//	Synapse    = between(g, synapse-min, synapse-max) ms
//	Adaptation = between(g, adaptation-min, adaptation-max) ms
//	Threshold  = rest + between(g, threshold-min, threshold-max) mV
//	Jump       = between(g, jump-min, jump-max) mV
//	Drive      = weight-scale*g mV
//
// A weight is what one spike lifts a potential by where nothing leaks meanwhile, weight-scale*g mV, whether it comes at
// once or through a synapse's current. See Weight for those, and Steps for delays.
func (s *Settings) Neurons(g Genes) Neurons {
	each := func(n *graph.Array) *graph.Array { return graph.ZerosLike(g.B).Add(n) }
	rest := s.Rest.Array()
	return Neurons{
		Membrane:   between(g.Membrane, s.TauMin.Array(), s.TauMax.Array()),
		Synapse:    between(g.Synapse, s.SynapseMin.Array(), s.SynapseMax.Array()),
		Adaptation: between(g.Adaptation, s.AdaptationMin.Array(), s.AdaptationMax.Array()),
		Threshold:  rest.Add(between(g.Threshold, s.ThresholdMin.Array(), s.ThresholdMax.Array())),
		Jump:       between(g.Jump, s.JumpMin.Array(), s.JumpMax.Array()),
		Rest:       each(rest), Reset: each(s.Reset.Array()), Drive: s.Weight(g.B),
	}
}

// Weight is what genes of weights, or sums over them, stand for: weight-scale*g mV.
func (s *Settings) Weight(g *graph.Array) *graph.Array { return g.Mul(s.WeightScale.Array()) }

// Steps are the delays of genes in substeps, whole numbers in float32: round(delay*sigmoid(g)).
func (s *Settings) Steps(g *graph.Array) *graph.Array {
	return nn.Sigmoid(g).Mul(float32(s.Delay)).Round()
}

func between(g, least, most *graph.Array) *graph.Array {
	return least.Mul(nn.Sigmoid(g).Mul(most.Div(least).Log()).Exp())
}

// Keep is what leaky integrators of these genes of a membrane keep in a substep: exp(-dt/between(g, tau-min, tau-max)).
func (s *Settings) Keep(g *graph.Array) *graph.Array {
	return kept(s, between(g, s.TauMin.Array(), s.TauMax.Array()))
}

// kept is what is left behind a substep of what decays with a time constant.
func kept(s *Settings, tau *graph.Array) *graph.Array {
	return s.DT.Array().Div(tau).Neg().Exp()
}
