package spiking

import (
	"math"

	"xlarun/rollout/settings"
)

// Settings are those by which genes become neurons and neurons spike; times are in ms, potentials in mV. A policy embeds them, so that its
// Numbers are inputs of a program; start from Defaults.
type Settings struct {
	Dynamics      string          `set:"dynamics" help:"what the neurons are: fast (LIF), fast:alif, fast:cubalif, or by their physics mechanistic:lif, :expif, :adex, :izhikevich, :hh,\nwhose synapses are currents without time, or :current with it, or conductances, :shunt and :conductance, as in mechanistic:adex:conductance"`
	DT            settings.Number `set:"dt" above:"0" help:"ms of the network's time in a substep"`
	Surrogate     string          `set:"surrogate" oneof:"fast-sigmoid,arctan,triangular,boxcar,straight-through" help:"what stands in for the derivative of a spike where a gradient is asked for"`
	Recurrent     bool            `set:"recurrent" help:"whether each layer's spikes go to itself too"`
	Delay         int             `set:"delay" min:"0" max:"1024" help:"substeps that a spike may take to arrive, at most; each neuron has its own number, which is a gene; 0: none takes any"`
	WeightScale   settings.Number `set:"weight-scale" above:"0" help:"mV that a weight's gene of 1 stands for"`
	Rest          settings.Number `set:"rest" help:"potential of neurons without input, in mV"`
	Reset         settings.Number `set:"reset" help:"potential of neurons after a spike, in mV; the fast dynamics take rest"`
	Refractory    float64         `set:"refractory" min:"0" help:"ms behind a spike in which a neuron's potential stays; the fast dynamics and hh take 0"`
	ReversalE     settings.Number `set:"reversal-excitatory" help:"mV that excitatory conductances pull a potential to"`
	ReversalI     settings.Number `set:"reversal-inhibitory" help:"mV that inhibitory conductances pull a potential to"`
	TauMin        settings.Number `set:"tau-min" above:"0" help:"least time constant of a membrane, in ms; at least dt"`
	TauMax        settings.Number `set:"tau-max" above:"0" help:"greatest time constant of a membrane, in ms"`
	SynapseMin    settings.Number `set:"synapse-min" above:"0" help:"least time constant of a synapse, in ms; at least dt"`
	SynapseMax    settings.Number `set:"synapse-max" above:"0" help:"greatest time constant of a synapse, in ms"`
	AdaptationMin settings.Number `set:"adaptation-min" above:"0" help:"least time constant of an adaptation, in ms; at least dt"`
	AdaptationMax settings.Number `set:"adaptation-max" above:"0" help:"greatest time constant of an adaptation, in ms"`
	ThresholdMin  settings.Number `set:"threshold-min" above:"0" help:"mV from rest to the threshold, at least"`
	ThresholdMax  settings.Number `set:"threshold-max" above:"0" help:"mV from rest to the threshold, at most"`
	JumpMin       settings.Number `set:"jump-min" above:"0" help:"mV that a spike adds to the adaptation, at least"`
	JumpMax       settings.Number `set:"jump-max" above:"0" help:"mV that a spike adds to the adaptation, at most"`
}

// Defaults are a membrane of about 20 ms that rests 15 mV below its threshold, synapses of about 5 ms and adaptation of about 100 ms.
func Defaults() Settings {
	return Settings{Dynamics: "fast", DT: settings.Num(1), Surrogate: "fast-sigmoid", WeightScale: settings.Num(15),
		Rest: settings.Num(-65), Reset: settings.Num(-65), ReversalE: settings.Num(0), ReversalI: settings.Num(-80),
		TauMin: settings.Num(5), TauMax: settings.Num(80), SynapseMin: settings.Num(1.25), SynapseMax: settings.Num(20),
		AdaptationMin: settings.Num(25), AdaptationMax: settings.Num(400), ThresholdMin: settings.Num(5), ThresholdMax: settings.Num(45),
		JumpMin: settings.Num(.5), JumpMax: settings.Num(12.5)}
}

const (
	mostSubsteps  = 1e6   // of a time constant
	mostPotential = 10000 // mV
)

// Check finds what does not fit together, those of the dynamics included. Its errors are *settings.Error, their keys behind a prefix.
func (s *Settings) Check(prefix string) (Dynamics, error) {
	d, ok := lookup(s.Dynamics)
	if !ok {
		return nil, settings.Unknown(prefix+"dynamics", s.Dynamics, Names())
	}
	for _, pair := range []struct {
		name        string
		least, most settings.Number
		time        bool
	}{
		{"tau", s.TauMin, s.TauMax, true}, {"synapse", s.SynapseMin, s.SynapseMax, true}, {"adaptation", s.AdaptationMin, s.AdaptationMax, true},
		{"threshold", s.ThresholdMin, s.ThresholdMax, false}, {"jump", s.JumpMin, s.JumpMax, false},
	} {
		if pair.time && s.DT.Value > pair.least.Value {
			return nil, settings.Wrong(prefix+"dt", s.DT.Value, "at most %s%s-min, %g: a substep that is longer than a time constant oversteps it", prefix, pair.name, pair.least.Value)
		}
		if most := s.DT.Value * mostSubsteps; pair.time && pair.most.Value > most {
			return nil, settings.Wrong(prefix+pair.name+"-max", pair.most.Value, "at most %.6g, a million substeps of %sdt: float32 does not tell what is left of a longer one after a substep from all of it", most, prefix)
		}
		if pair.most.Value < pair.least.Value {
			return nil, settings.Wrong(prefix+pair.name+"-max", pair.most.Value, "at least %s%s-min, %g", prefix, pair.name, pair.least.Value)
		}
	}
	for _, potential := range []struct {
		name string
		settings.Number
	}{{"rest", s.Rest}, {"reset", s.Reset}, {"reversal-excitatory", s.ReversalE}, {"reversal-inhibitory", s.ReversalI}, {"threshold-max", s.ThresholdMax},
		{"jump-max", s.JumpMax}, {"weight-scale", s.WeightScale}} {
		if math.Abs(potential.Value) > mostPotential {
			return nil, settings.Wrong(prefix+potential.name, potential.Value, "at most %d mV from 0: no neuron is as far, and float32 has few digits there", int(mostPotential))
		}
	}
	if most := s.DT.Value * mostSubsteps; s.Refractory > most {
		return nil, settings.Wrong(prefix+"refractory", s.Refractory, "at most %.6g ms, a million substeps of %sdt", most, prefix)
	}
	if top := s.Rest.Value + s.ThresholdMin.Value; s.Reset.Value >= top {
		return nil, settings.Wrong(prefix+"reset", s.Reset.Value, "less than the least threshold, %srest + %sthreshold-min = %g: a neuron above it spikes without end", prefix, prefix, top)
	}
	return d, d.Check(s, prefix)
}
