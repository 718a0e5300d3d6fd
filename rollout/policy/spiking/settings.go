package spiking

import (
	"math"

	"xlarun/rollout/settings"
)

// Settings are the settings of neurons: the ranges of genes, and the dynamics. Times are in ms, potentials in mV. A
// policy embeds them, so that its Numbers are inputs of a program. Start from Defaults.
type Settings struct {
	Dynamics      string          `set:"dynamics" help:"model of the neurons: fast (LIF), fast:alif, fast:cubalif; or mechanistic:MODEL with lif, expif, adex, izhikevich or hh, and with synapses :current, :shunt or :conductance, as in mechanistic:adex:conductance (default: currents without dynamics)"`
	DT            settings.Number `set:"dt" above:"0" help:"ms of the network's time per substep"`
	Surrogate     string          `set:"surrogate" oneof:"fast-sigmoid,arctan,triangular,boxcar,straight-through" help:"what replaces the derivative of a spike in gradients"`
	Recurrent     bool            `set:"recurrent" help:"whether each layer's spikes are also its own input"`
	Delay         int             `set:"delay" min:"0" max:"1024" help:"most substeps that a spike takes to arrive; each neuron has its own number, a gene; 0: no delays"`
	WeightScale   settings.Number `set:"weight-scale" above:"0" help:"mV that a weight's gene of 1 stands for"`
	Rest          settings.Number `set:"rest" help:"potential of neurons without input, in mV"`
	Reset         settings.Number `set:"reset" help:"potential of neurons after a spike, in mV; the fast dynamics use rest"`
	Refractory    float64         `set:"refractory" min:"0" help:"ms after a spike for which the potential stays; the fast dynamics and hh use 0"`
	ReversalE     settings.Number `set:"reversal-excitatory" needs:"dynamics=*:shunt|*:conductance" help:"reversal potential of excitatory conductances, in mV"`
	ReversalI     settings.Number `set:"reversal-inhibitory" needs:"dynamics=*:shunt|*:conductance" help:"reversal potential of inhibitory conductances, in mV"`
	TauMin        settings.Number `set:"tau-min" above:"0" help:"smallest time constant of a membrane, in ms; at least dt"`
	TauMax        settings.Number `set:"tau-max" above:"0" help:"largest time constant of a membrane, in ms"`
	SynapseMin    settings.Number `set:"synapse-min" above:"0" needs:"dynamics=fast:cubalif|*:current|*:conductance" help:"smallest time constant of a synapse, in ms; at least dt"`
	SynapseMax    settings.Number `set:"synapse-max" above:"0" needs:"dynamics=fast:cubalif|*:current|*:conductance" help:"largest time constant of a synapse, in ms"`
	AdaptationMin settings.Number `set:"adaptation-min" above:"0" needs:"dynamics=fast:alif|*:adex*|*:izhikevich*" help:"smallest time constant of an adaptation, in ms; at least dt"`
	AdaptationMax settings.Number `set:"adaptation-max" above:"0" needs:"dynamics=fast:alif|*:adex*|*:izhikevich*" help:"largest time constant of an adaptation, in ms"`
	ThresholdMin  settings.Number `set:"threshold-min" above:"0" help:"smallest distance from rest to the threshold, in mV"`
	ThresholdMax  settings.Number `set:"threshold-max" above:"0" help:"largest distance from rest to the threshold, in mV"`
	JumpMin       settings.Number `set:"jump-min" above:"0" needs:"dynamics=fast:alif|*:adex*|*:izhikevich*" help:"smallest step of the adaptation at a spike, in mV"`
	JumpMax       settings.Number `set:"jump-max" above:"0" needs:"dynamics=fast:alif|*:adex*|*:izhikevich*" help:"largest step of the adaptation at a spike, in mV"`
}

// Defaults are a membrane of about 20 ms that rests 15 mV below its threshold, synapses of about 5 ms and adaptation of
// about 100 ms.
func Defaults() Settings {
	return Settings{Dynamics: "fast", DT: settings.Num(1), Surrogate: "fast-sigmoid", WeightScale: settings.Num(15),
		Rest: settings.Num(-65), Reset: settings.Num(-65), ReversalE: settings.Num(0), ReversalI: settings.Num(-80),
		TauMin: settings.Num(5), TauMax: settings.Num(80), SynapseMin: settings.Num(1.25), SynapseMax: settings.Num(20),
		AdaptationMin: settings.Num(25), AdaptationMax: settings.Num(400), ThresholdMin: settings.Num(5),
		ThresholdMax: settings.Num(45),
		JumpMin:      settings.Num(.5), JumpMax: settings.Num(12.5)}
}

const (
	mostSubsteps  = 1e6   // of a time constant
	mostPotential = 10000 // mV
)

// Check refuses settings that do not fit together, or not with the dynamics. Its errors are *settings.Error with keys
// that begin with prefix.
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
		{"tau", s.TauMin, s.TauMax, true}, {"synapse", s.SynapseMin, s.SynapseMax, true},
		{"adaptation", s.AdaptationMin, s.AdaptationMax, true},
		{"threshold", s.ThresholdMin, s.ThresholdMax, false}, {"jump", s.JumpMin, s.JumpMax, false},
	} {
		if pair.time && s.DT.Value > pair.least.Value {
			return nil, settings.Wrong(prefix+"dt", s.DT.Value, "at most %s%s-min, %g: a substep that is longer than "+
				"a time constant oversteps it", prefix, pair.name, pair.least.Value)
		}
		if most := s.DT.Value * mostSubsteps; pair.time && pair.most.Value > most {
			return nil, settings.Wrong(prefix+pair.name+"-max", pair.most.Value, "at most %.6g, a million substeps "+
				"of %sdt: float32 does not tell what is left of a longer one after a substep from all of it", most,
				prefix)
		}
		if pair.most.Value < pair.least.Value {
			return nil, settings.Wrong(prefix+pair.name+"-max", pair.most.Value, "at least %s%s-min, %g", prefix,
				pair.name, pair.least.Value)
		}
	}
	for _, potential := range []struct {
		name string
		settings.Number
	}{{"rest", s.Rest}, {"reset", s.Reset}, {"reversal-excitatory", s.ReversalE}, {"reversal-inhibitory", s.ReversalI},
		{"threshold-max", s.ThresholdMax},
		{"jump-max", s.JumpMax}, {"weight-scale", s.WeightScale}} {
		if math.Abs(potential.Value) > mostPotential {
			return nil, settings.Wrong(prefix+potential.name, potential.Value, "at most %d mV from 0: no neuron is "+
				"as far, and float32 has few digits there", int(mostPotential))
		}
	}
	if most := s.DT.Value * mostSubsteps; s.Refractory > most {
		return nil, settings.Wrong(prefix+"refractory", s.Refractory, "at most %.6g ms, a million substeps of %sdt",
			most, prefix)
	}
	if top := s.Rest.Value + s.ThresholdMin.Value; s.Reset.Value >= top {
		return nil, settings.Wrong(prefix+"reset", s.Reset.Value, "less than the least threshold, %srest + "+
			"%sthreshold-min = %g: a neuron above it spikes without end", prefix, prefix, top)
	}
	return d, d.Check(s, prefix)
}
