package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("annealing", &SimulatedAnnealing{climber: climber{Sigma: settings.Num(1), SigmaDecay: settings.Num(1)},
		Temperature: settings.Num(5), Decay: settings.Num(.999)})
}

// SimulatedAnnealing is "Optimization by simulated annealing" of Kirkpatrick, Gelatt and Vecchi (1983), with the
// formulas and defaults of evosax 0.3.2: members are drawn around the present one, and the best of them follows it if
// it is better, and else with probability exp(difference/temperature) (Metropolis et al., 1953). The temperature falls
// to a tenth of the first one. evosax has it as a temperature times Boltzmann's constant, which is 5 there.
type SimulatedAnnealing struct {
	climber
	Temperature settings.Number `set:"temperature" above:"0" help:"loss of fitness that is accepted seldom, at first"`
	Decay       settings.Number `set:"temperature-decay" above:"0" max:"1" help:"factor of the temperature from one generation to the next"`
}

// coldest is the part of the first temperature at which it stays.
const coldest = .1

// annealingDraw is a member's noise. That of member 0 also decides by chance, which is uniform in [0, 1).
type annealingDraw struct{ Z, Chance *graph.Array }

// Traits say that it takes immigrants.
func (e *SimulatedAnnealing) Traits() (t Traits[ClimberState, *graph.Array, annealingDraw]) {
	t.Immigrant = e.Immigrant
	return t
}

// Sample draws both.
func (*SimulatedAnnealing) Sample(key random.Key, state ClimberState, _ *graph.Array) annealingDraw {
	k := random.SplitN(key, 2)
	return annealingDraw{random.Normal(k[0], state.Mean.Shape()),
		random.Uniform(k[1], graph.ShapeOf(graph.Float32), 0, 1)}
}

// Member returns mean + σ·z.
func (e *SimulatedAnnealing) Member(state ClimberState, draw annealingDraw, side *graph.Array) *graph.Array {
	return e.climber.Member(state, draw.Z, side)
}

// Tell moves to the best member if it is better, or by chance.
func (e *SimulatedAnnealing) Tell(s ClimberState, v Evaluation, draws Draws[annealingDraw]) ClimberState {
	found := e.found(s, v.Fitness, func(weights *graph.Array) *graph.Array {
		return SumOf(draws, weights, func(d annealingDraw) *graph.Array { return d.Z })
	})
	cooling := e.Decay.Array().Pow(s.Generation.Convert(graph.Float32)).Max(float32(coldest))
	temperature := e.Temperature.Array().Mul(cooling)
	loss := found.Fitness.Sub(s.Fitness)
	first := graph.Iota(draws.Items()).Eq(0).Convert(graph.Float32)
	chance := SumOf(draws, first, func(d annealingDraw) *graph.Array { return d.Chance })
	return e.move(s, found, loss.Gt(0).Or(chance.Lt(loss.Div(temperature).Exp())))
}

// Immigrant is (genome - mean)/σ. It never is accepted by chance.
func (e *SimulatedAnnealing) Immigrant(state ClimberState, genome *graph.Array) annealingDraw {
	return annealingDraw{e.climber.Immigrant(state, genome), graph.Scalar(1)}
}
