package nir

import (
	"fmt"
	"math"
)

// Scale converts between NIR's differential equations and nn's steps of dt seconds. NIR's neuron is tau*v' = (v_leak -
// v) + r*I, nn's is V[t+1] = Beta*V[t] + x[t]. They are equal if
//
//	exact:  Beta = exp(-dt/tau)   exact if I is constant during a step
//	euler:  Beta = 1 - dt/tau     the forward Euler step
//
// and v = (1-Beta)*r*V, because a step adds (1-Beta)*r*I to v. So nn's threshold is v_threshold / ((1-Beta)*r). Written
// files have tau from Beta, r = 1/(1-Beta), so that v equals V, and v_threshold = Threshold.
//
// The current of a CubaLIF, tau_syn*I' = -I + w_in*S, has the same steps, with Alpha from tau_syn, before the step of
// the potential: I = (1-Alpha)*w_in*J for nn's J[t+1] = Alpha*J[t] + x[t]. Its threshold is v_threshold /
// ((1-Beta)*r*(1-Alpha)*w_in). Written files have w_in = 1/(1-Alpha).
//
// At a spike NIR sets v to v_reset, nn (like Spyx) subtracts the threshold. Files do not state the kind of reset, and
// readers differ. v_reset must be 0.
type Scale struct {
	// DT is the length of a step in seconds; the default in Spyx's files is 1.
	DT float64
	// Rule is "exact" (the default), "euler", or "spyx", the rule of spyx.nir in Spyx 1.0: Euler's Beta, r written as
	// Beta, r and w_in ignored in files. Use "spyx" for files from and for Spyx.
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

// decay is the decay factor of a step.
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
	decay = min(max(decay, 0), 1) // clipped like in the cells; NaN stays
	if !(decay >= least && decay < 1) {
		return 0, fmt.Errorf("got the decay %v, want one above 0 and below 1: no time constant says it", decay)
	}
	if s.Rule == "euler" || s.Rule == "spyx" {
		return s.DT / (1 - decay), nil
	}
	return -s.DT / math.Log(decay), nil
}

// resistance is the r in written files.
func (s Scale) resistance(decay float64) float64 {
	if s.Rule == "spyx" {
		return decay
	}
	return 1 / (1 - decay)
}

// gain is the change of a file's v in a step by an input of 1.
func (s Scale) gain(decay, r float64) float64 {
	if s.Rule == "spyx" {
		return 1
	}
	return (1 - decay) * r
}
