package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("gradientless", &Gradientless{climber: climber{Sigma: settings.Num(.2), SigmaDecay: settings.Num(1)},
		Least: settings.Num(.001), Halving: settings.Num(5)})
}

// Gradientless is "Gradientless descent: high-dimensional zeroth-order optimization" of Golovin et al. (2020) with the
// formulas and defaults of evosax 0.3.2: hill climbing whose members have noise of different lengths. Member i has the
// standard deviation least + 2^(-i/halving)·(sigma - least).
type Gradientless struct {
	climber
	Least   settings.Number `set:"sigma-min" min:"0" help:"standard deviation below which no member's falls"`
	Halving settings.Number `set:"halving" above:"0" help:"members from one standard deviation to half of it"`
}

// Check refuses a least standard deviation above the largest.
func (e *Gradientless) Check() error {
	if e.Least.Value > e.Sigma.Value {
		return settings.Wrong("strategy.sigma-min", e.Least.Value, "at most strategy.sigma, %g", e.Sigma.Value)
	}
	return nil
}

// Sample draws a member's noise in units of sigma.
func (e *Gradientless) Sample(key random.Key, s ClimberState, member *graph.Array) *graph.Array {
	share := graph.Pow(float32(2), member.Convert(graph.Float32).Neg().Div(e.Halving.Array()))
	least := e.Least.Array().Div(e.Sigma.Array())
	return least.Add(share.Mul(graph.Sub(1, least))).Mul(random.Normal(key, s.Mean.Shape()))
}
