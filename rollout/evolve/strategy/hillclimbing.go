package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("hillclimbing", func() Strategy {
		return &HillClimbing{climber{Sigma: settings.Num(1), SigmaDecay: settings.Num(1)}}
	})
}

// HillClimbing draws members around the best one so far, best + σ·z: the (1 + population) evolution strategy without
// adaptation, evosax 0.3.2's HillClimbing.
type HillClimbing struct{ climber }

// climber is shared by strategies that move from one member to another: HillClimbing, Gradientless and
// SimulatedAnnealing.
type climber struct {
	single
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

// Init starts at the genome with Sigma.
func (e *climber) Init(genome any, _ int) any {
	return ClimberState{genome.(*graph.Array), graph.Scalar(math.Inf(-1)), e.Sigma.Array(),
		graph.Scalar(0, graph.Int32)}
}

// Member returns mean + σ·z.
func (*climber) Member(state, noise any, _ *graph.Array) any {
	s := state.(ClimberState)
	return s.Mean.Add(s.Sigma.Mul(noise.(*graph.Array)))
}

// Tell moves to the best member if it is better than the best so far.
func (e *climber) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(ClimberState)
	found := e.found(s, v, noise)
	return e.move(s, found, found.Fitness.Gt(s.Fitness))
}

// found returns the best member, the first among equal ones, with the state's other parts.
func (e *climber) found(s ClimberState, v Evaluation, noise population.Draws) ClimberState {
	fitness := WorstIfNaN(v.Fitness)
	number := fitness.ArgMax(0)
	one := graph.Iota(noise.Items()).Eq(number).Convert(graph.Float32)
	mean := e.Member(s, sumOf(noise, one, nil), nil).(*graph.Array)
	return ClimberState{mean, graph.DynamicIndex(fitness, number, 0), s.Sigma, s.Generation}
}

// move goes to the member that was found, if it is accepted, bool[].
func (e *climber) move(s, found ClimberState, accepted *graph.Array) ClimberState {
	next := graph.SelectTree(accepted, found, s)
	next.Sigma, next.Generation = decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Generation), s.Generation.Add(1)
	return next
}

// Immigrant is (genome - mean)/σ.
func (*climber) Immigrant(state, genome any) any {
	s := state.(ClimberState)
	return noiseOf(genome, s.Mean, s.Sigma)
}
