package strategy

import (
	"math"

	"xlarun/graph"
)

// rankWeights weights a member's place, 0 for the best. With w = log(top) - log(place + 1) the weight is gain·w for
// w >= 0, else loss·w, plus offset.
type rankWeights struct{ top, gain, loss, offset float64 }

// weight returns the weight of a place.
func (p rankWeights) weight(place int) float64 {
	w := math.Log(p.top) - math.Log(float64(place+1))
	if w >= 0 {
		return p.gain*w + p.offset
	}
	return p.loss*w + p.offset
}

// apply returns the weights of members, f32[population]. As in evosax, equal members share the weight of the mean of
// their ranks, rounded down. NaN is the worst, and never gets more than the middle weight. If no fitness is a number,
// all weights are 0.
func (p rankWeights) apply(fitness *graph.Array) *graph.Array {
	n := fitness.Dim(0)
	rank := graph.Quo(graph.Sub(2*(n-1), twiceRanks(fitness)), 2)
	w := graph.Sub(float32(math.Log(p.top)), rank.Convert(graph.Float32).Add(1).Log())
	w = w.Mul(graph.Select(rank.Ge(p.firstLoss(n)), float32(p.loss), float32(p.gain))).Add(float32(p.offset))
	return graph.Select(fitness.IsNaN().All(), graph.ZerosLike(w), w)
}

// firstLoss returns the first place with w < 0, or n.
func (p rankWeights) firstLoss(n int) int { return min(n, int(math.Floor(p.top))) }

// naturalWeights returns the utilities of natural evolution strategies (Wierstra et al., "Natural evolution
// strategies", 2014): max(0, log(population/2 + 1) - log(place + 1)), divided by their sum, minus 1/population.
func naturalWeights(population int) rankWeights {
	p := rankWeights{top: float64(population)/2 + 1, gain: 1}
	sum := 0.
	for i := range population {
		sum += p.weight(i)
	}
	return rankWeights{top: p.top, gain: 1 / sum, offset: -1 / float64(population)}
}

// recombination holds the constants of CMA-ES, which follow from the sizes of population and genome (Hansen, "The CMA
// evolution strategy: a tutorial", 2016, table 1 and equations 48 to 58).
type recombination struct {
	weights   rankWeights
	sum       float64 // of all weights
	effective float64 // mu_eff
	cPath     float64 // c_c
	cOne, cMu float64
	cSigma    float64
	damping   float64 // d_sigma
	length    float64 // the expected length of a standard normal vector
}

// recombine returns the constants. Without negative weights the worse half has weight 0.
func recombine(population, n int, negative bool) recombination {
	p := rankWeights{top: float64(population+1) / 2, gain: 1, loss: 1}
	parents, d := max(1, population/2), float64(n)
	var better, worse, betterSquares, worseSquares, gains, losses float64
	for i := range population {
		w := p.weight(i)
		if i < parents {
			better, betterSquares = better+w, betterSquares+w*w
		} else {
			worse, worseSquares = worse+w, worseSquares+w*w
		}
		gains, losses = gains+max(w, 0), losses+max(-w, 0)
	}
	r := recombination{effective: better * better / betterSquares}
	m := r.effective
	r.cPath = (4 + m/d) / (d + 4 + 2*m/d)
	r.cOne = 2 / ((d+1.3)*(d+1.3) + m)
	r.cMu = min(1-r.cOne-1e-8, 2*(m+1/m-2)/((d+2)*(d+2)+m))
	r.cSigma = (m + 2) / (d + m + 5)
	r.damping = 1 + 2*max(0, math.Sqrt((m-1)/(d+1))-1) + r.cSigma
	r.length = normalLength(n)
	r.weights = rankWeights{top: p.top, gain: 1 / gains}
	r.sum = 1
	if negative {
		alpha := 1 + 2*(worse*worse/worseSquares)/(m+2)
		if r.cMu > 0 {
			alpha = min(alpha, 1+r.cOne/r.cMu, (1-r.cOne-r.cMu)/(d*r.cMu))
		}
		r.weights.loss = alpha / losses
		r.sum -= alpha
	}
	return r
}

// normalLength returns Hansen's approximation of the expected length of a standard normal vector of n numbers.
func normalLength(n int) float64 {
	d := float64(n)
	return math.Sqrt(d) * (1 - 1/(4*d) + 1/(21*d*d))
}

// pathStep returns the factor √(c·(2-c)·mu_eff) with which a step enters a path that forgets at rate c.
func (r recombination) pathStep(c float64) float32 {
	return float32(math.Sqrt(c * (2 - c) * r.effective))
}

// paths holds the two evolution paths of CMA-ES after a generation, and the step size.
type paths struct {
	sigma, ofSigma, path *graph.Array // f32[], f32[n], f32[n]
	stalled              *graph.Array // f32[]: 1 - h_sigma
}

// follow returns a path that forgets at a rate, after a step.
func (r recombination) follow(rate float64, path, step *graph.Array) *graph.Array {
	return graph.Mul(float32(1-rate), path).Add(graph.Mul(r.pathStep(rate), step))
}

// stepSize moves the path of the step size, and the step size by its length (equations 43 and 44). white is the
// recombined step in coordinates in which the distribution is a ball.
func (r recombination) stepSize(sigma, ofSigma, white *graph.Array) (path, next *graph.Array) {
	path = r.follow(r.cSigma, ofSigma, white)
	length := path.Square().Sum().Sqrt()
	change := graph.Mul(float32(r.cSigma/r.damping), length.Div(float32(r.length)).Sub(1)).Exp()
	return path, sigma.Mul(change).Min(maxDeviation)
}

// advance moves the paths (equations 43 to 45). step is the recombined step in units of sigma, white the same in
// coordinates in which the distribution is a ball, and generation is the number of generations so far.
func (r recombination) advance(sigma, ofSigma, path, step, white, generation *graph.Array) paths {
	var p paths
	p.ofSigma, p.sigma = r.stepSize(sigma, ofSigma, white)
	length := p.ofSigma.Square().Sum().Sqrt()
	// The tutorial counts generations from 1, evosax from 2.
	age := generation.Convert(graph.Float32).Add(2).Mul(2)
	unbiased := length.Div(graph.Sub(1, graph.Pow(float32(1-r.cSigma), age)).Sqrt())
	n := float64(step.Dim(0))
	moving := unbiased.Lt(float32((1.4 + 2/(n+1)) * r.length)).Convert(graph.Float32)
	p.stalled = graph.Sub(1, moving)
	p.path = graph.Mul(float32(1-r.cPath), path).Add(moving.Mul(r.pathStep(r.cPath)).Mul(step))
	return p
}

// covariance returns the next covariance (equation 47), given the old one, the square of the path, and the weighted sum
// of the members' squares: matrices, or their diagonals.
func (r recombination) covariance(old, one, mu, stalled *graph.Array) *graph.Array {
	keep := graph.Add(float32(1-r.cOne-r.cMu*r.sum), graph.Mul(float32(r.cOne*r.cPath*(2-r.cPath)), stalled))
	return keep.Mul(old).Add(graph.Mul(float32(r.cOne), one).Add(graph.Mul(float32(r.cMu), mu)))
}
