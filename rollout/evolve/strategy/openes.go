package strategy

import "xlarun/rollout/population"

func init() {
	MustRegister("openes", func() Strategy {
		return &OpenES{gaussian: defaultGaussian(), Shaped: Shaped{Shaping: shapeRanks}}
	})
}

// OpenES is the evolution strategy of Salimans et al., "Evolution strategies as a scalable alternative to reinforcement
// learning" (2017), with the formulas of evosax 0.3.2's Open_ES: antithetic pairs mean ± σ·z, centered ranks (or
// another Shaping), Adam.
type OpenES struct {
	gaussian
	Shaped
}

// Tell makes one step of Adam along the gradient of fitness, estimated as Σ shaped fitness·z / (population·σ).
func (e *OpenES) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(GaussianState)
	plus, minus := e.sides(e.shape(e, s, v.Fitness, noise))
	sum := sumOf(noise, plus.Sub(minus), nil)
	return e.ascend(s, sum.Div(s.Sigma.Mul(float32(v.Fitness.Dim(0)))))
}
