package nir

import (
	"fmt"
	"math"
)

// Scale is how differential equations become steps of dt seconds, and back. NIR's neuron is tau*v' = (v_leak - v) +
// r*I, nn's V[t+1] = Beta*V[t] + x[t]. Both are one where
//
//	exact:  Beta = exp(-dt/tau)   exact while I stands still for a step
//	euler:  Beta = 1 - dt/tau     the forward Euler step
//
// and v = (1-Beta)*r*V: what a step adds to v is (1-Beta)*r*I. nn's threshold is therefore v_threshold / ((1-Beta)*r).
// A file that is written has tau from Beta, r = 1/(1-Beta), so that v and V are the same number, and v_threshold =
// Threshold.
//
// A CubaLIF's current, tau_syn*I' = -I + w_in*S, is stepped in the same way, by Alpha from tau_syn, before the
// potential: I = (1-Alpha)*w_in*J for nn's J[t+1] = Alpha*J[t] + x[t], and its threshold is v_threshold /
// ((1-Beta)*r*(1-Alpha)*w_in); w_in is written as 1/(1-Alpha).
//
// NIR sets v to v_reset at a spike, nn (as Spyx) subtracts the threshold: a file does not say, and readers differ.
// v_reset must be 0.
type Scale struct {
	// DT is a step, in seconds; of Spyx's files 1, unless their writer gave another.
	DT float64
	// Rule is "exact" (the default), "euler", or "spyx": what spyx.nir of Spyx 1.0 does, Euler's Beta with r written as
	// Beta and not read, w_in neither. Its files keep their numbers between Spyx and here by this rule alone.
	Rule string
}

func (s Scale) check() error {
	if !(s.DT > 0) || math.IsInf(s.DT, 0) {
		return fmt.Errorf("nir: got the step DT %v, want seconds above 0", s.DT)
	}
	switch s.Rule {
	case "", "exact", "euler", "spyx":
		return nil
	}
	return fmt.Errorf("nir: got the rule %q, want exact, euler or spyx", s.Rule)
}

// decay is what is left after a step.
func (s Scale) decay(tau float64) (float64, error) {
	if s.Rule == "euler" || s.Rule == "spyx" {
		if !(tau >= s.DT) {
			return 0, fmt.Errorf("got the time constant %v s with steps of %v s, want one that is no shorter: take a "+
				"smaller DT, or the rule exact", tau, s.DT)
		}
		return 1 - s.DT/tau, nil
	}
	if !(tau > 0) {
		return 0, fmt.Errorf("got the time constant %v s, want one above 0", tau)
	}
	return math.Exp(-s.DT / tau), nil
}

// tau is the time constant of a decay.
func (s Scale) tau(decay float64) (float64, error) {
	least := 0.
	if s.Rule == "" || s.Rule == "exact" {
		least = math.SmallestNonzeroFloat64
	}
	decay = min(max(decay, 0), 1) // as the cells take it; NaN stays
	if !(decay >= least && decay < 1) {
		return 0, fmt.Errorf("got the decay %v, want one above 0 and below 1: no time constant says it", decay)
	}
	if s.Rule == "euler" || s.Rule == "spyx" {
		return s.DT / (1 - decay), nil
	}
	return -s.DT / math.Log(decay), nil
}

// resistance is what is written for a decay.
func (s Scale) resistance(decay float64) float64 {
	if s.Rule == "spyx" {
		return decay
	}
	return 1 / (1 - decay)
}

// gain is what an input of 1 adds to a file's v in a step.
func (s Scale) gain(decay, r float64) float64 {
	if s.Rule == "spyx" {
		return 1
	}
	return (1 - decay) * r
}
