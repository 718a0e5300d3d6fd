package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("hillclimbing", &HillClimbing{climber{Sigma: settings.Num(1), SigmaDecay: settings.Num(1)}})
}

// HillClimbing draws members around the best one so far, best + σ·z: the (1 + population) evolution strategy without
// adaptation, evosax 0.3.2's HillClimbing.
type HillClimbing struct{ climber }

// climber is shared by strategies that move from one member to another: HillClimbing, Gradientless and
// SimulatedAnnealing.
type climber struct {
	normal[ClimberState]
	Sigma      settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	SigmaDecay settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
}

// ClimberState is the state of a climber.
type ClimberState struct {
	Mean       *graph.Array // f32[n]: a member, or the start
	Fitness    *graph.Array // f32[]: its fitness; -Inf of the start
	Sigma      *graph.Array // f32[]: of the next generation
	Generation *graph.Array // i32[]: generations so far
}

func (s ClimberState) mean() *graph.Array { return s.Mean }

// Traits say that it takes immigrants.
func (e *climber) Traits() (t Traits[ClimberState, *graph.Array, *graph.Array]) {
	t.Immigrant = e.Immigrant
	return t
}

// Init starts at the genome with Sigma.
func (e *climber) Init(genome *graph.Array, _ int) ClimberState {
	return ClimberState{genome, graph.Scalar(math.Inf(-1)), e.Sigma.Array(),
		graph.Scalar(0, graph.Int32)}
}

// Member returns mean + σ·z.
func (*climber) Member(s ClimberState, noise, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(noise))
}

// Tell moves to the best member if it is better than the best so far.
func (e *climber) Tell(s ClimberState, v Evaluation, noise Draws[*graph.Array]) ClimberState {
	found := e.found(s, v.Fitness, noise.Sum)
	return e.move(s, found, found.Fitness.Gt(s.Fitness))
}

// found returns the best member, the first among equal ones, with the state's other parts. noise returns the weighted
// sum of the noise.
func (e *climber) found(s ClimberState, fitness *graph.Array,
	noise func(weights *graph.Array) *graph.Array) ClimberState {
	fitness = WorstIfNaN(fitness)
	number := fitness.ArgMax(0)
	one := graph.Iota(fitness.Dim(0)).Eq(number).Convert(graph.Float32)
	mean := e.Member(s, noise(one), nil)
	return ClimberState{mean, graph.DynamicIndex(fitness, number, 0), s.Sigma, s.Generation}
}

// move goes to the member that was found, if it is accepted, bool[].
func (e *climber) move(s, found ClimberState, accepted *graph.Array) ClimberState {
	next := graph.SelectTree(accepted, found, s)
	next.Sigma, next.Generation = decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Generation), s.Generation.Add(1)
	return next
}

// Immigrant is (genome - mean)/σ.
func (*climber) Immigrant(s ClimberState, genome *graph.Array) *graph.Array {
	return noiseOf(genome, s.Mean, s.Sigma)
}
