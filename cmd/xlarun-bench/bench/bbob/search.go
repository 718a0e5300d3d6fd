package bbob

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/population"
)

// Search runs a strategy on functions: a run on each instance of each function, all at a time.
type Search struct {
	Strategy    *strategy.Erased
	Functions   []Function
	Dims        int
	Population  int
	Generations int
	Seeds       int // runs of each function, each with another instance
}

// The run of seed s has the instance of the key New(s), and starts at the same point on all functions.
const startKey = 77

// Start draws the start of the run of a seed, f32[d]: uniform in [-4, 4).
func Start(seed *graph.Array, d int) *graph.Array {
	return random.Uniform(random.FoldIn(random.New(startKey), seed), graph.ShapeOf(graph.Float32, d), -4, 4)
}

// Inputs are the arguments of the program of a search. They are no constants of the program.
type Inputs struct {
	Key       random.Key   // of all draws of the strategies
	Instances Instance     // leaves [seeds, …]
	Starts    *graph.Array // f32[seeds, d]
}

// NewInputs draws the instances and starts of a search.
func (s Search) NewInputs(seed int64) Inputs {
	instances := make([]Instance, s.Seeds)
	starts := make([]*graph.Array, s.Seeds)
	for i := range instances {
		instances[i] = NewInstance(random.New(int64(i)), s.Dims)
		starts[i] = Start(graph.Of(int32(i)), s.Dims)
	}
	first, tree := graph.Flatten(instances[0])
	stacked := make([]*graph.Array, len(first))
	for leaf := range stacked {
		leaves := make([]*graph.Array, s.Seeds)
		for i, in := range instances {
			leaves[i] = graph.Leaves(in)[leaf]
		}
		stacked[leaf] = graph.Stack(leaves, 0)
	}
	return Inputs{random.New(seed), tree.Unflatten(stacked).(Instance), graph.Stack(starts, 0)}
}

// loop is the carry of the generations, leaves [lanes, …]: lane f·seeds + s is seed s on function f.
type loop struct {
	State any
	Best  *graph.Array // f32[lanes]: the smallest value so far
}

// Run is the program: it returns the smallest value of all members, f32[functions, seeds]. Strategies are mapped over
// all lanes, functions over the seeds.
func (s Search) Run(in Inputs) *graph.Array {
	lanes := len(s.Functions) * s.Seeds
	starts := graph.Reshape(graph.BroadcastTo(in.Starts, len(s.Functions), s.Seeds, s.Dims), lanes, s.Dims)
	first := loop{
		State: graph.VMap(func(start *graph.Array) any { return s.Strategy.Init(start, s.Population) })(starts),
		Best:  graph.Full(graph.ShapeOf(graph.Float32, lanes), math.Inf(1)),
	}
	end, _ := graph.Scan(func(l loop, generation *graph.Array) (loop, graph.None) {
		ofGeneration := random.FoldIn(in.Key, generation)
		keys := graph.VMap(func(lane *graph.Array) random.Key {
			return random.FoldIn(ofGeneration, lane)
		})(graph.Iota(lanes))
		draws := graph.Once(graph.VMap2(s.ask)(l.State, keys))
		members := graph.Once(graph.VMap2(s.members)(l.State, draws)) // f32[lanes, population, d]
		values := graph.Once(s.values(in, members))
		state := graph.VMap(s.tell)(told{l.State, draws, values})
		best := graph.ReduceMin(graph.Select(graph.IsFinite(values), values, math.Inf(1)), 1)
		return loop{state, graph.Min(l.Best, best)}, graph.None{}
	}, first, graph.Iota(s.Generations))
	return graph.Reshape(end.Best, len(s.Functions), s.Seeds)
}

// ask draws for all groups of a lane.
func (s Search) ask(state any, key random.Key) any {
	return graph.VMap(func(group *graph.Array) any {
		return s.Strategy.Sample(random.FoldIn(key, group), state, group)
	})(graph.Iota(s.Population / s.Strategy.GroupSize))
}

// members returns the members of a lane, f32[population, d], side after side.
func (s Search) members(state, draws any) *graph.Array {
	all := graph.VMap(func(side *graph.Array) any {
		return graph.VMap(func(draw any) any { return s.Strategy.Member(state, draw, side) })(draws)
	})(graph.Iota(s.Strategy.GroupSize)).(*graph.Array)
	return graph.Reshape(all, s.Population, s.Dims)
}

// values returns the function values of the members, f32[lanes, population].
func (s Search) values(in Inputs, members *graph.Array) *graph.Array {
	byFunction := graph.Reshape(members, len(s.Functions), s.Seeds, s.Population, s.Dims)
	all := make([]*graph.Array, len(s.Functions))
	for i, f := range s.Functions {
		all[i] = graph.VMap2(func(members *graph.Array, in Instance) *graph.Array {
			in = in.For(f)
			return graph.VMap(func(x *graph.Array) *graph.Array { return f.Value(x, in) })(members)
		})(graph.Index(byFunction, i), in.Instances)
	}
	return graph.Reshape(graph.Stack(all, 0), len(s.Functions)*s.Seeds, s.Population)
}

// told is what a strategy learns from.
type told struct {
	State, Draws any
	Values       *graph.Array
}

// tell updates the strategy of a lane. Strategies maximize, so the fitness is the negative value.
func (s Search) tell(t told) any {
	fitness := graph.Select(graph.IsFinite(t.Values), graph.Neg(t.Values), math.NaN())
	return s.Strategy.Tell(t.State, strategy.Evaluation{Fitness: fitness, Length: graph.ZerosLike(fitness)},
		population.Whole(t.Draws))
}
