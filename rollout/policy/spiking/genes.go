// Package spiking holds the neurons of spiking policies: one genotype of unbounded numbers, one map from it to physical
// values (ms, mV), and the dynamics, each of which maps the physical values to its own parameters. The same genes play
// under any dynamics.
package spiking

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Genes are the genes of one layer of neurons: unbounded float32 numbers, which Settings.Neurons maps to physical
// values. They are the same for all dynamics, so that a member can play under another one. A dynamics may ignore some.
type Genes struct {
	W          *graph.Array // [in, units]: weights from the layer before
	Wh         *graph.Array `tree:"optional"` // [units, units]: from the layer's spikes to itself; nil: none
	B          *graph.Array // [units]: a constant current
	Membrane   *graph.Array // [units]: time constants of the membrane,
	Synapse    *graph.Array // [units]: of the synapses,
	Adaptation *graph.Array // [units]: of the adaptation
	Threshold  *graph.Array // [units]
	Jump       *graph.Array // [units]: what a spike adds to the adaptation
	Delay      *graph.Array `tree:"optional"` // [units]: of the layer's spikes; nil: none
}

// Draw draws a layer's genes: weights with variance 1/in, time constants and delays with variance 1. The others are
// zero.
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
	Rest, Reset                   *graph.Array // mV: potential without input, and after a spike
	Threshold                     *graph.Array // mV, above Rest
	Jump                          *graph.Array // mV: how far a spike raises the threshold, or lowers the drive
	Drive                         *graph.Array // mV: the constant current times the membrane's resistance
}

// Neurons maps genes to physical values, together with Weight and Steps. For a gene g,
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
// A weight, weight-scale*g mV, is how far one spike lifts a potential without a leak, whether it arrives at once or
// through a synapse's current. See Weight for weights, and Steps for delays.
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

// Weight maps genes of weights, or sums of them, to weight-scale*g mV.
func (s *Settings) Weight(g *graph.Array) *graph.Array { return g.Mul(s.WeightScale.Array()) }

// Steps maps genes of delays to substeps, whole numbers in float32: round(delay*sigmoid(g)).
func (s *Settings) Steps(g *graph.Array) *graph.Array {
	return nn.Sigmoid(g).Mul(float32(s.Delay)).Round()
}

func between(g, least, most *graph.Array) *graph.Array {
	return least.Mul(nn.Sigmoid(g).Mul(most.Div(least).Log()).Exp())
}

// Keep returns the decay factor in a substep of a leaky integrator, by its gene of the membrane:
// exp(-dt/between(g, tau-min, tau-max)).
func (s *Settings) Keep(g *graph.Array) *graph.Array {
	return decay(s, between(g, s.TauMin.Array(), s.TauMax.Array()))
}

// decay returns exp(-dt/tau), the decay factor in a substep.
func decay(s *Settings, tau *graph.Array) *graph.Array {
	return s.DT.Array().Div(tau).Neg().Exp()
}
