package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("iamalgam", &IAMaLGaM{amalgam{Sigma: settings.Num(1)}})
}

// IAMaLGaM is the incremental AMaLGaM of Bosman, Grahl and Thierens, "Benchmarking parameter-free AMaLGaM on functions
// with and without noise" (2013): members are drawn from a normal distribution, and its mean and covariance follow the
// better half of them. About half as many members are moved along the mean's shift (anticipated mean shift). The
// covariance is scaled by a multiplier, which rises while better members lie far from the mean and falls while there
// are none (adaptive variance scaling). Constants are evosax 0.3.2's. evosax adds a constant to the covariance and
// leaves out the multiplier when it draws members. For n parameters the state has two matrices of n² numbers.
type IAMaLGaM struct{ amalgam }

// amalgam is shared by IAMaLGaM and UnivariateIAMaLGaM.
type amalgam struct {
	Sigma settings.Number `set:"sigma" above:"0" max:"1e4" help:"standard deviation of the members at first"`
}

// AMaLGaMState is the state of IAMaLGaM and UnivariateIAMaLGaM.
type AMaLGaMState struct {
	Mean       *graph.Array // f32[n]
	Covariance *graph.Array // f32[n, n], or its diagonal, f32[n]
	// Root is a root of the covariance times the multiplier: a lower triangle, f32[n, n], or of the diagonal, f32[n].
	Root       *graph.Array
	Shift      *graph.Array // f32[n]: running mean of the mean's changes
	Multiplier *graph.Array // f32[]
	// Stagnation is the number of generations without a better member in which the multiplier was at most 1, since
	// the last generation with one, i32[].
	Stagnation *graph.Array
	Best       *graph.Array // f32[]: highest fitness so far
	Shifts     *graph.Array // i32[]: members that are moved along the shift
}

// amalgamDraw is a member's noise, z, and 1 if the member is moved along the shift, else 0.
type amalgamDraw struct{ Z, Shift *graph.Array }

// Constants of the paper, and those of evosax.
const (
	amalgamShiftLength = 2  // length of the anticipated shift
	amalgamDistance    = 1  // standard deviations beyond which better members raise the multiplier
	amalgamDecay       = .9 // factor of the multiplier; it rises by the inverse
	amalgamPatience    = 50 // the count Stagnation from which on the multiplier falls below 1
	amalgamElites      = .5 // part of the members that the distribution follows
)

// Init starts at the genome with Sigma in all directions.
func (e *IAMaLGaM) Init(genome *graph.Array, population int) AMaLGaMState {
	n := genome.Dim(0)
	return e.start(genome, population, graph.Eye(graph.Float32, n))
}

// Traits say that it ranks members.
func (*amalgam) Traits() (t Traits[AMaLGaMState, *graph.Array, amalgamDraw]) {
	t.LeastPopulation, t.Steady = 2, true
	return t
}

// start returns the first state, given a covariance of 1.
func (e *amalgam) start(mean *graph.Array, population int, one *graph.Array) AMaLGaMState {
	sigma := e.Sigma.Array()
	return AMaLGaMState{mean, one.Mul(sigma.Square()), one.Mul(sigma), graph.ZerosLike(mean), graph.Scalar(1),
		graph.Scalar(0, graph.Int32), graph.Scalar(math.Inf(-1)),
		graph.Of(int32(amalgamElites * float64(population-1)))}
}

// Sample draws for a member. The first ones are moved.
func (*amalgam) Sample(key random.Key, s AMaLGaMState, member *graph.Array) amalgamDraw {
	return amalgamDraw{random.Normal(key, s.Mean.Shape()), member.Lt(s.Shifts).Convert(graph.Float32)}
}

// full says whether the covariance is a matrix.
func (s AMaLGaMState) full() bool { return s.Covariance.Rank() == 2 }

// offset returns a member less the mean.
func (s AMaLGaMState) offset(d amalgamDraw) *graph.Array {
	shift := d.Shift.Mul(graph.Mul(float32(amalgamShiftLength), s.Multiplier)).Mul(s.Shift)
	step := d.Z
	if s.full() {
		step = s.Root.Dot(step)
	} else {
		step = s.Root.Mul(step)
	}
	return step.Add(shift).Clamp(-maxValue, maxValue) // its square is finite
}

// Member returns mean + root·z, and twice the shift times the multiplier for those that are moved.
func (*amalgam) Member(s AMaLGaMState, draw amalgamDraw, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.offset(draw))
}

// Tell moves mean, covariance, shift and multiplier.
func (*amalgam) Tell(s AMaLGaMState, v Evaluation, draws Draws[amalgamDraw]) AMaLGaMState {
	members, n := v.Fitness.Dim(0), float64(s.Mean.Dim(0))
	elites := max(1, int(amalgamElites*float64(members)))
	failed, fitness := v.Fitness.IsNaN(), WorstIfNaN(v.Fitness)
	rank := graph.ArgSort(graph.ArgSort(fitness.Neg(), 0), 0)
	elite := rank.Lt(elites).And(failed.Not())
	better := elite.And(fitness.Gt(s.Best))
	share := func(mask *graph.Array) *graph.Array {
		one := mask.Convert(graph.Float32)
		return one.Div(one.Sum().Max(1))
	}
	mean := func(w *graph.Array) *graph.Array { return SumOf(draws, w, s.offset) }
	// The covariance is that of the elites around their own mean.
	rate := func(a, b, c float64) float32 {
		return float32(1 - math.Exp(a*math.Pow(float64(elites), b)/math.Pow(n, c)))
	}
	mix := func(rate float32, old, new *graph.Array) *graph.Array {
		return graph.Mul(1-rate, old).Add(graph.Mul(rate, new))
	}
	change := mean(share(elite))
	next := s
	next.Mean, next.Shift = s.Mean.Add(change), mix(rate(-1.2, .31, .5), s.Shift, change)
	next.Shift = next.Shift.Clamp(-maxDeviation, maxDeviation) // it is a part of later changes
	around := func(d amalgamDraw) *graph.Array { return s.offset(d).Sub(change) }
	covariance := rate(-1.1, 1.2, 1.6)
	if s.full() {
		squares := draws.Outer(share(elite), around)
		next.Covariance = conditioned(mix(covariance, s.Covariance, squares))
	} else {
		squares := SumOf(draws, share(elite), func(d amalgamDraw) *graph.Array { return around(d).Square() })
		next.Covariance = mix(covariance, s.Covariance, squares).Clamp(minVariance, maxDeviation)
	}
	next.scale(better.Any(), s.deviation(mean(share(better))))
	next.Root = next.root()
	next.Best = s.Best.Max(fitness.ReduceMax())
	return next
}

// deviation returns the most standard deviations that an offset has in a direction of the root, f32[].
func (s AMaLGaMState) deviation(offset *graph.Array) *graph.Array {
	if s.full() {
		offset = linalg.TriangularSolve(s.Root, offset.ExpandDims(1)).Reshape(offset.Dim(0))
	} else {
		offset = offset.Div(s.Root)
	}
	return offset.Abs().ReduceMax()
}

// scale moves the multiplier, given whether there is a better member and how far such members lie from the mean.
func (s *AMaLGaMState) scale(better, deviation *graph.Array) {
	m := s.Multiplier
	increase := m.Max(1)
	increase = graph.Select(deviation.Gt(float32(amalgamDistance)), increase.Div(float32(amalgamDecay)), increase)
	stagnation := graph.Select(m.Le(1), s.Stagnation.Add(1), s.Stagnation)
	waits := stagnation.Lt(amalgamPatience)
	decrease := graph.Select(m.Gt(1).Or(waits.Not()), m.Mul(float32(amalgamDecay)), m)
	decrease = graph.Select(waits, decrease.Max(1), decrease)
	s.Multiplier = graph.Select(better, increase, decrease).Min(maxDeviation)
	s.Stagnation = graph.Select(better, graph.ZerosLike(stagnation), stagnation)
}

// root returns a root of the covariance times the multiplier. If rounding has made the covariance indefinite, it is
// that of its diagonal.
func (s AMaLGaMState) root() *graph.Array {
	scaled := s.Covariance.Mul(s.Multiplier)
	if !s.full() {
		return scaled.Sqrt()
	}
	root := linalg.Cholesky(scaled)
	diagonal := scaled.Mul(graph.Eye(graph.Float32, scaled.Dim(0))).Sqrt()
	return graph.Select(root.IsFinite().All(), root, diagonal)
}

// Mean returns the mean of the distribution.
func (*amalgam) Mean(state AMaLGaMState) *graph.Array { return state.Mean }
