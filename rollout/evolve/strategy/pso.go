package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("pso", &PSO{Sigma: settings.Num(1), Inertia: settings.Num(.75), Cognitive: settings.Num(1.5),
		Social: settings.Num(2)})
}

// PSO is the particle swarm optimization of Kennedy and Eberhart (1995) with inertia, with the formulas and defaults of
// evosax 0.3.2: every member is a particle. Its velocity turns towards its own best place and the best of all, by
// random numbers that all its parameters share. The first particles are start + σ·z, at rest.
type PSO struct {
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

// Traits say that it keeps the whole population, whose descent is known, and takes immigrants.
func (e *PSO) Traits() (t Traits[PSOState, *graph.Array, psoMove]) {
	t.Keeps = func(population int) int { return 3 * population } // positions, velocities and best places
	t.Immigrant, t.Standing = e.Immigrant, e.Standing
	t.Parent, t.Places, t.Survivors = e.Parent, everyone, e.Survivors
	return t
}

// Init puts all particles on the genome.
func (*PSO) Init(start *graph.Array, population int) PSOState {
	all := start.BroadcastTo(population, start.Dim(0))
	return PSOState{all, graph.ZerosLike(all), all, graph.Full(graph.ShapeOf(graph.Float32, population), math.Inf(-1)),
		graph.Scalar(0, graph.Int32)}
}

// Sample moves one particle.
func (e *PSO) Sample(key random.Key, s PSOState, particle *graph.Array) psoMove {
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
func (*PSO) Member(_ PSOState, move psoMove, _ *graph.Array) *graph.Array { return move.Position }

// Tell moves the particles. A place that is no worse becomes the particle's best; one with NaN fitness does not.
func (e *PSO) Tell(s PSOState, v Evaluation, moves Draws[psoMove]) PSOState {
	all := moves.All()
	better := v.Fitness.Ge(s.Fitness) // false for NaN
	return PSOState{
		Position: all.Position, Velocity: all.Velocity,
		Best:       graph.Select(better.ExpandDims(1), all.Position, s.Best),
		Fitness:    graph.Select(better, v.Fitness, s.Fitness),
		Generation: s.Generation.Add(1),
	}
}

// Mean returns the best place that a particle has had.
func (*PSO) Mean(s PSOState) *graph.Array {
	return graph.DynamicIndex(s.Best, s.Fitness.ArgMax(0), 0)
}

// Immigrant is a particle at rest.
func (*PSO) Immigrant(_ PSOState, genome *graph.Array) psoMove {
	return psoMove{genome, graph.ZerosLike(genome)}
}

// Parent is the particle itself.
func (*PSO) Parent(_ random.Key, _ PSOState, group *graph.Array) *graph.Array { return group }

// Survivors are all particles.
func (*PSO) Survivors(_ PSOState, fitness *graph.Array) *graph.Array {
	return graph.Iota(fitness.Dim(0))
}

// Standing is the fitness of a particle's best place.
func (*PSO) Standing(state PSOState, fitness *graph.Array) *graph.Array {
	return WorstIfNaN(fitness).Max(state.Fitness)
}
