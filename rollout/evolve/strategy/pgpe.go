package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("pgpe", &PGPE{LearningRate: settings.Num(.02), Sigma: settings.Num(.1),
		StdLearningRate: settings.Num(.1), Optimizer: pgpeAdam, MaxSpeed: settings.Num(.04),
		Shaped: Shaped{Shaping: shapeRanks}})
}

// PGPE is "Parameter-exploring policy gradients" of Sehnke et al. (2010) with the formulas of evosax 0.3.2: antithetic
// pairs mean ± std·z with one standard deviation for each parameter, centered ranks or another Shaping, and Adam for
// the mean, or ClipUp of Toklu et al., "ClipUp: a simple and powerful optimizer for distribution-based policy
// evolution" (2020), evosax's default. The standard deviations follow their own gradient, by at most 20 % a generation.
type PGPE struct {
	antithetic
	normal[PGPEState]
	LearningRate    settings.Number `set:"learning-rate" above:"0" help:"step size of the mean's optimizer"`
	Sigma           settings.Number `set:"sigma" above:"0" help:"standard deviation of every parameter's noise at first"`
	StdLearningRate settings.Number `set:"std-learning-rate" above:"0" help:"step size of the standard deviations"`
	Optimizer       string          `set:"optimizer" oneof:"adam,clipup" help:"optimizer of the mean: adam, or clipup, whose steps are of the length of the learning rate with momentum, max-speed at most"`
	MaxSpeed        settings.Number `set:"max-speed" above:"0" needs:"optimizer=clipup" help:"longest step of clipup"`
	Shaped
}

// PGPEState is the state of PGPE.
type PGPEState struct {
	Mean *graph.Array // f32[n]
	Std  *graph.Array // f32[n]: of the next generation's noise
	Adam Adam         // of the optimizer adam; its arrays are nil for clipup
	// Velocity is the last step of the optimizer clipup, f32[n]; nil for adam.
	Velocity *graph.Array `tree:"optional"`
}

func (s PGPEState) mean() *graph.Array { return s.Mean }

// Values of PGPE.Optimizer.
const (
	pgpeAdam   = "adam"
	pgpeClipUp = "clipup"
)

// pgpeMaxChange is the largest relative change of a standard deviation in one generation.
const pgpeMaxChange = .2

// Traits say that it has pairs and takes immigrants.
func (e *PGPE) Traits() (t Traits[PGPEState, *graph.Array, *graph.Array]) {
	t.GroupSize, t.Immigrant = 2, e.Immigrant
	return t
}

// Init starts at the genome with Sigma for every parameter.
func (e *PGPE) Init(mean *graph.Array, _ int) PGPEState {
	s := PGPEState{Mean: mean, Std: e.Sigma.Array().BroadcastTo(mean.Dims()...)}
	if e.Optimizer == pgpeClipUp {
		s.Velocity = graph.ZerosLike(mean)
	} else {
		s.Adam = newAdam(mean)
	}
	return s
}

// Member returns mean + std·z on side 0, mean - std·z on side 1.
func (e *PGPE) Member(s PGPEState, noise, side *graph.Array) *graph.Array {
	return s.Mean.Add(s.Std.Mul(e.sign(side)).Mul(noise))
}

// Tell moves the mean along Σ (rank₊ - rank₋)·std·z / population by one Adam step, and the standard deviations along
// Σ (rank₊ + rank₋ - 2·mean rank)·std·(z² - 1) / population.
func (e *PGPE) Tell(s PGPEState, v Evaluation, noise Draws[*graph.Array]) PGPEState {
	ranks := shape(e.Shaped, e, s, v.Fitness, noise)
	plus, minus := e.sides(ranks)
	scale := s.Std.Div(float32(v.Fitness.Dim(0)))
	next := e.move(s, scale.Mul(noise.Sum(plus.Sub(minus))))
	baseline := graph.Mul(2, ranks.Mean())
	gradient := scale.Mul(SumOf(noise, plus.Add(minus).Sub(baseline),
		func(z *graph.Array) *graph.Array {
			return z.Square().Sub(1)
		}))
	std := s.Std.Add(e.StdLearningRate.Array().Mul(gradient))
	std = graph.Clamp(s.Std.Mul(float32(1-pgpeMaxChange)), std, s.Std.Mul(float32(1+pgpeMaxChange)))
	next.Std = std
	return next
}

// move makes one step of the optimizer along the mean's gradient.
func (e *PGPE) move(s PGPEState, gradient *graph.Array) PGPEState {
	if e.Optimizer != pgpeClipUp {
		adam, update := s.Adam.step(gradient, e.LearningRate.Array())
		return PGPEState{Mean: s.Mean.Add(update), Adam: adam}
	}
	length := gradient.Square().Sum().Sqrt().Add(float32(1e-8))
	velocity := graph.Mul(float32(.9), s.Velocity).Add(e.LearningRate.Array().Mul(gradient.Div(length)))
	speed := velocity.Square().Sum().Sqrt()
	most := e.MaxSpeed.Array()
	velocity = velocity.Mul(graph.Select(speed.Gt(most), most.Div(speed), float32(1)))
	return PGPEState{Mean: s.Mean.Add(velocity), Velocity: velocity}
}

// Immigrant is (genome - mean)/std.
func (*PGPE) Immigrant(s PGPEState, genome *graph.Array) *graph.Array {
	return noiseOf(genome, s.Mean, s.Std)
}
