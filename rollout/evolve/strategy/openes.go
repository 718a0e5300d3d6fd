package strategy

import "xlarun/graph"

func init() {
	MustRegister("openes", &OpenES{gaussian: defaultGaussian(), Shaped: Shaped{Shaping: shapeRanks}})
}

// OpenES is the evolution strategy of Salimans et al., "Evolution strategies as a scalable alternative to reinforcement
// learning" (2017), with the formulas of evosax 0.3.2's Open_ES: antithetic pairs mean ± σ·z, centered ranks (or
// another Shaping), Adam.
type OpenES struct {
	gaussian
	Shaped
}

// Tell makes one step of Adam along the gradient of fitness, estimated as Σ shaped fitness·z / (population·σ).
func (e *OpenES) Tell(s GaussianState, v Evaluation, noise Draws[*graph.Array]) GaussianState {
	plus, minus := e.sides(shape(e.Shaped, e, s, v.Fitness, noise))
	sum := noise.Sum(plus.Sub(minus))
	return e.ascend(s, sum.Div(s.Sigma.Mul(float32(v.Fitness.Dim(0)))))
}
