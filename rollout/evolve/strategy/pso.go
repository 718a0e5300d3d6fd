package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("pso", func() Strategy {
		return &PSO{Sigma: settings.Num(1), Inertia: settings.Num(.75), Cognitive: settings.Num(1.5),
			Social: settings.Num(2)}
	})
}

// PSO is the particle swarm optimization of Kennedy and Eberhart (1995) with inertia, with the formulas and defaults of
// evosax 0.3.2: every member is a particle. Its velocity turns towards its own best place and the best of all, by
// random numbers that all its parameters share. The first particles are start + σ·z, at rest.
type PSO struct {
	single
	Vectors
	Sigma     settings.Number `set:"sigma" above:"0" help:"standard deviation of the first particles around the start"`
	Inertia   settings.Number `set:"inertia" min:"0" help:"part of its velocity that a particle keeps"`
	Cognitive settings.Number `set:"cognitive" min:"0" help:"pull of a particle's own best place"`
	Social    settings.Number `set:"social" min:"0" help:"pull of the best place of all"`
}

// PSOState is the state of PSO. Row i belongs to particle i.
type PSOState struct {
	Position, Velocity *graph.Array // f32[population, n]
	Best               *graph.Array // f32[population, n]: best place so far; the start before the first generation
	Fitness            *graph.Array // f32[population]: at Best; -Inf before the first generation
	Generation         *graph.Array // i32[]: generations so far
}

// psoMove is a group's draw: the next position and velocity of its particle.
type psoMove struct{ Position, Velocity *graph.Array }

// Keeps returns three places a particle: its position, its velocity and its best place.
func (*PSO) Keeps(population int) int { return 3 * population }

// Init puts all particles on the genome.
func (*PSO) Init(genome any, population int) any {
	start := genome.(*graph.Array)
	all := start.BroadcastTo(population, start.Dim(0))
	return PSOState{all, graph.ZerosLike(all), all, graph.Full(graph.ShapeOf(graph.Float32, population), math.Inf(-1)),
		graph.Scalar(0, graph.Int32)}
}

// Sample moves particle 0.
func (e *PSO) Sample(key random.Key, state any) any {
	return e.SampleAt(key, state, graph.Scalar(0, graph.Int32))
}

// SampleAt moves one particle.
func (e *PSO) SampleAt(key random.Key, state any, particle *graph.Array) any {
	s := state.(PSOState)
	best := graph.DynamicIndex(s.Best, s.Fitness.ArgMax(0), 0)
	row := func(rows *graph.Array) *graph.Array { return graph.Take(rows, particle, 0) }
	r := random.Uniform(key, graph.ShapeOf(graph.Float32, 2), 0, 1)
	position := row(s.Position)
	pull := func(strength settings.Number, i int, to *graph.Array) *graph.Array {
		return strength.Array().Mul(r.Index(i)).Mul(to.Sub(position))
	}
	velocity := e.Inertia.Array().Mul(row(s.Velocity)).Add(pull(e.Cognitive, 0, row(s.Best)))
	velocity = velocity.Add(pull(e.Social, 1, best))
	// The first places. The key differs from that of the numbers above.
	z := random.Normal(random.FoldIn(key, 1), position.Shape())
	first := s.Generation.Eq(0)
	velocity = graph.Select(first, graph.ZerosLike(velocity), velocity.Clamp(-maxValue, maxValue))
	return psoMove{graph.Select(first, position.Add(e.Sigma.Array().Mul(z)),
		position.Add(velocity).Clamp(-maxValue, maxValue)), velocity}
}

// Member returns the particle's next position.
func (*PSO) Member(_, move any, _ *graph.Array) any { return move.(psoMove).Position }

// Tell moves the particles. A place that is no worse becomes the particle's best; one with NaN fitness does not.
func (e *PSO) Tell(state any, v Evaluation, moves population.Draws) any {
	s := state.(PSOState)
	all := moves.All().(psoMove)
	better := v.Fitness.Ge(s.Fitness) // false for NaN
	return PSOState{
		Position: all.Position, Velocity: all.Velocity,
		Best:       graph.Select(better.ExpandDims(1), all.Position, s.Best),
		Fitness:    graph.Select(better, v.Fitness, s.Fitness),
		Generation: s.Generation.Add(1),
	}
}

// Mean returns the best place that a particle has had.
func (*PSO) Mean(state any) any {
	s := state.(PSOState)
	return graph.DynamicIndex(s.Best, s.Fitness.ArgMax(0), 0)
}

// Immigrant is a particle at rest.
func (*PSO) Immigrant(_, genome any) any {
	return psoMove{genome.(*graph.Array), graph.ZerosLike(genome.(*graph.Array))}
}

// Parent is the particle itself.
func (*PSO) Parent(_ random.Key, _ any, group *graph.Array) *graph.Array { return group }

// Places is the number of particles.
func (*PSO) Places(population int) int { return population }

// Survivors are all particles.
func (*PSO) Survivors(_ any, fitness *graph.Array) *graph.Array { return graph.Iota(fitness.Dim(0)) }

// Standing is the fitness of a particle's best place.
func (*PSO) Standing(state any, fitness *graph.Array) *graph.Array {
	return WorstIfNaN(fitness).Max(state.(PSOState).Fitness)
}
