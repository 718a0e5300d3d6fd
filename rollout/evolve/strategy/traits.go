package strategy

import (
	"fmt"
	"reflect"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/erase"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Traits are what a Strategy[S, G, D] can do beyond its methods. A zero value or a nil function means that it does not.
type Traits[S, G, D any] struct {
	GroupSize       int // members that share a draw, 2 for antithetic pairs, 0 for 1. The population is a multiple
	LeastPopulation int // members that the strategy needs; 0: one group
	// Steady strategies keep their state where no member is better than another: all fitness is equal, or none is a
	// number. They move a distribution by the ranks of the members. evosax's follow the order of equal members: they
	// drift, and the step size shrinks or grows.
	Steady bool
	// Fit prepares the strategy for a policy, if it is for policies of one kind. Its error, a *settings.Error, says
	// which policy it takes.
	Fit func(p policy.Policy) error
	// Keeps returns the number of genomes that the state holds. The strategy needs all draws at once.
	Keeps func(population int) int
	// Shared returns the member of Member, with matrices from the state that all members share, except for changes of
	// low rank. A policy with Form.Shared plays members without forming each one's matrices.
	Shared func(state S, draw D, side *graph.Array) policy.Shared

	// Immigrant returns the draw whose side 0 is the member with a genome, or the nearest likely one: the strategy
	// takes in immigrants, members of another search, instead of some of its own.
	//
	// For strategies that keep genomes (simplega, samrga, de, pso) an immigrant is one more member to choose from. For
	// a strategy with a distribution it is the noise that would have drawn it, as in Hansen, "Injecting external
	// solutions into CMA-ES" (2011, arXiv 1110.4181): the inverse of Member, cut to a likely length, so that a distant
	// immigrant does not throw the search off.
	Immigrant func(state S, genome G) D
	// Parent returns the number of the genome in the state from which a group's member descends, an int32 scalar. key
	// and group are those of Sample. Places and Survivors belong to it.
	Parent func(key random.Key, state S, group *graph.Array) *graph.Array
	// Places returns the number of genomes that members descend from.
	Places func(population int) int
	// Survivors returns the member that Tell puts in each place, i32[Places]; -1: the genome there stays.
	Survivors func(state S, fitness *graph.Array) *graph.Array
	// Standing returns the fitness of each group's place in the state after a generation, f32[population]. A member
	// takes its group's place only if it is better. Immigrants replace the groups with the worst places.
	Standing func(state S, fitness *graph.Array) *graph.Array

	// Reports are the names of the strategy's own numbers about a generation, as metrics are named. Report returns
	// them, f32[len(Reports)], given what Tell returned.
	Reports []string
	Report  func(state S) *graph.Array
	// Goal is the report that must reach the target of a run whose result is one of its members: the others are
	// trials, and the population's mean says little. Unreached says what has to happen before Goal has a number.
	Goal, Unreached string
	// Refusals is the report that counts what a generation had no capacity for. Capacity and Wider belong to it.
	Refusals string
	// Capacity returns the settings of the policy that give more capacity where the padded members of a state, on the
	// host, have used it up; none where they have not.
	Capacity func(state S) (settings.Values, error)
	// Wider returns the state of a strategy of less capacity, whose Member is narrow, with the capacity of this one.
	Wider func(state S, narrow func(state S, draw D, side *graph.Array) G) S
}

// Erased is a strategy whose types are hidden: what runs work with. Init to Mean are its methods.
type Erased struct {
	Traits[any, any, any]
	Settings any  // the Strategy, a pointer to its settings
	Flat     bool // genomes are vectors

	Init   func(genome any, population int) any
	Sample func(key random.Key, state any, group *graph.Array) any
	Member func(state, draw any, side *graph.Array) any
	// Tell is the strategy's Tell, or keeps the state where a Steady one does.
	Tell func(state any, e Evaluation, draws population.Draws) any
	Mean func(state any) any
}

// Bind returns the strategy with inputs of a program instead of its Numbers, by name; see settings.Bind.
func (e *Erased) Bind(in map[string]*graph.Array) *Erased {
	return erased(settings.Bind(e.Settings, in, "strategy."))
}

// SampleEach draws for groups, given each one's key and number: leaves [groups, …].
func (e *Erased) SampleEach(keys random.Key, state any, groups *graph.Array) any {
	return graph.Once(graph.VMap2(func(key random.Key, group *graph.Array) any {
		return e.Sample(key, state, group)
	})(keys, groups))
}

// Members returns the members of groups, given their draws, each as a function of its genome: leaves [population, …].
func (e *Erased) Members(state, draws any, of func(genome any) any) any {
	members := graph.VMap(func(side *graph.Array) any {
		return graph.VMap(func(draw any) any { return of(e.Member(state, draw, side)) })(draws)
	})(graph.Iota(e.GroupSize))
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.MergeAxes(0, 2) }, members)
}

// Erase hides the types of a strategy.
func Erase[S, G, D any](s Strategy[S, G, D]) *Erased { return erased(s) }

// erased is Erase for a Strategy of any types. The names of methods are constants, so that the linker keeps no others.
func erased(s any) *Erased {
	v := reflect.ValueOf(s)
	mean := v.MethodByName("Mean")
	tell := to[func(state any, e Evaluation, draws Draws[any]) any](v.MethodByName("Tell"), s, "Tell")
	e := &Erased{Settings: s, Flat: mean.Type().Out(0) == reflect.TypeFor[*graph.Array](),
		Traits: to[func() Traits[any, any, any]](v.MethodByName("Traits"), s, "Traits")(),
		Init:   to[func(genome any, population int) any](v.MethodByName("Init"), s, "Init"),
		Sample: to[func(key random.Key, state any, group *graph.Array) any](v.MethodByName("Sample"), s, "Sample"),
		Member: to[func(state, draw any, side *graph.Array) any](v.MethodByName("Member"), s, "Member"),
		Mean:   to[func(state any) any](mean, s, "Mean")}
	e.Tell = func(state any, v Evaluation, draws population.Draws) any {
		next := tell(state, v, Draws[any]{draws})
		if e.Steady {
			return graph.SelectTree(saysNothing(v.Fitness), state, next)
		}
		return next
	}
	if e.GroupSize == 0 {
		e.GroupSize = 1
	}
	return e
}

// to returns a method of the strategy s. It throws an error, with the line of the method, for a tree of another type,
// such as the genome of another policy.
func to[T any](method reflect.Value, s any, name string) T {
	return erase.To[T](method.Interface(), func(tree any, want reflect.Type) {
		panic(envs.ResultError(s, "strategy", name, fmt.Sprintf("got a tree of type %T, want %s", tree, want)))
	})
}

// everyone is the Keeps of a strategy that keeps the whole population.
func everyone(population int) int { return population }

// itself is the Immigrant of a strategy whose draws are genomes.
func itself[S, G any](_ S, genome G) G { return genome }
