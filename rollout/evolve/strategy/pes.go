package strategy

import "xlarun/graph"

func init() {
	MustRegister("pes", &PES{unrolled{gaussian: defaultGaussian(),
		Shaped: Shaped{Shaping: shapeRanks}, Generations: 10}})
}

// PES is the persistent evolution strategy of Vicol, Metz and Sohl-Dickstein, "Unbiased gradient estimation in unrolled
// computation graphs with persistent evolution strategies" (2021), with the formulas of evosax 0.3.2: OpenES whose
// gradient weighs the sum of a pair's noise over some generations. It was made for members that play a part of their
// episode in each generation. Here each generation plays whole episodes, so the sum's older parts only add variance.
type PES struct{ unrolled }

// Tell makes one step of Adam along Σ shaped fitness·(summed σ·z) / (population·σ²). The sums are cleared at the end of
// a history.
func (e *PES) Tell(s UnrolledState, v Evaluation, noise Draws[*graph.Array]) UnrolledState {
	plus, minus := e.sides(shape(e.Shaped, e, s, v.Fitness, noise))
	sum := s.Noise.Add(s.Search.Sigma.Mul(noise.All()))
	variance := s.Search.Sigma.Square().Max(minDivisor)
	gradient := plus.Sub(minus).Dot(sum).Div(variance.Mul(float32(v.Fitness.Dim(0))))
	ends := e.turn(s).Eq(e.Generations - 1)
	return UnrolledState{e.ascend(s.Search, gradient), graph.Select(ends, graph.ZerosLike(sum), sum),
		s.Generation.Add(1)}
}
