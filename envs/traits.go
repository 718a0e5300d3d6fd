package envs

import (
	"fmt"
	"image"
	"reflect"
	"slices"

	"xlarun/graph"
	"xlarun/internal/erase"
)

// Traits are what an Env[S, P] can do beyond its methods. A nil function means that it does not. An environment has a
// trait if it has the method of its name; TraitsOf finds it, also in an environment that Erase or AutoReset has
// wrapped.
type Traits[S, P any] struct {
	_ [0]func() // no comparison: the compiler would make one for each environment

	// Draw paints one concrete state of one member as an image of size pixels; package draw has a canvas and colors
	// for it. Errors: a state of another environment, a traced state, the state of a whole population, a size below 1
	// or above draw.MaxSide. Several goroutines may call it at the same time.
	Draw func(state any, size image.Point) (image.Image, error)
	// Describe returns the behavior descriptor of an episode, for quality-diversity search (Mouret and Clune,
	// "Illuminating search spaces by mapping elites", 2015): f32[d], the shape of Spec().Descriptor and within its
	// bounds. state is the last state of the episode.
	Describe func(state S, p P) *graph.Array
	// DescribeStep returns what the behavior descriptor is the mean of, over the steps of an episode: a speed, 1 for a
	// step to the north, berries. It is f32[d], the shape of Spec().Descriptor, and finite. The step leads from state
	// to next and gives reward, f32[]. A mean outside of the bounds counts as the nearest one inside. An environment
	// has Describe or DescribeStep, not both.
	DescribeStep func(state, next S, reward *graph.Array, p P) *graph.Array
	// Objectives returns the scores of an episode, f32[k], in the order of Spec().Objectives, for multi-objective
	// search; higher is better. state is the last state of the episode.
	Objectives func(state S, p P) *graph.Array
	// Report returns numbers of the environment's own about an episode, f32[len(Spec().Reports)]: whether it was a
	// success, a Sharpe ratio. Gymnax and Brax have them in Step's info and in metrics. state is the last state of the
	// episode. A number that is not finite counts in no mean.
	Report func(state S, p P) *graph.Array
	// Legal returns the mask of the legal actions of a state: bool[n] for the actions Discrete{n}, bool[sum of N] for
	// MultiDiscrete, one mask after the other for each choice. Each choice has at least one legal action, even after
	// the end of an episode, so that a masked softmax is always finite. Callers evaluate it once before each Step, only
	// if Spec().LegalMask is true.
	Legal func(state S, p P) *graph.Array

	// A game has Legal, Player and Rewards: two or more players move one at a time, for self-play and tree search. It
	// follows the conventions of pgx (Koyama et al., "Pgx: Hardware-accelerated parallel game simulators for
	// reinforcement learning", 2023). Step's observation is for the player who moves next. Its reward is for the player
	// who moved: element Player of the old state in Rewards of the next state. An illegal action ends the game: the
	// mover gets -1, the others share 1. A finished game stays finished, because a tree search can look beyond the end:
	// Step returns terminated and zero rewards again. Referee implements both rules.
	//
	// Player returns the player to move: an int32 scalar below Spec().Players. A player can move several times in a
	// row; a search negates a value only where the player changes.
	Player func(state S, p P) *graph.Array
	// Rewards returns each player's rewards in the step that led to a state, f32[players], 0 in the first state. Their
	// sum is 0.
	Rewards func(state S, p P) *graph.Array

	// Sizes lists the sizes with their values: whole numbers that the shapes of the environment's arrays depend on.
	// Unlike a parameter, a size is not data: each value makes another program.
	Sizes func() []Size
	// Resize returns the environment with another value of one size. Errors: a value that the environment cannot have.
	Resize func(name string, value int) (Environment, error)
}

// Size is a size of an environment.
type Size struct {
	Name  string // as on the command line: "view"
	Value int
	Wants string // the possible values: "an odd number from 3 to 31"
	// Room is true if the size is room for a parameter with the same name: parameters up to Value are data, and only
	// larger ones need another size.
	Room bool
}

// SizeOf returns a size of e by its name, if e has it.
func SizeOf(e Environment, name string) (Size, bool) {
	if sizes := TraitsOf(e).Sizes; sizes != nil {
		for _, s := range sizes() {
			if s.Name == name {
				return s, true
			}
		}
	}
	return Size{}, false
}

// TraitsOf returns the traits of e. Those of an environment with a method Traits, as one around another has, are what
// that returns, whatever other methods it has; Through makes them from the traits of the wrapped environment.
func TraitsOf[S, P any](e Env[S, P]) (t Traits[S, P]) {
	if w, ok := e.(interface{ Traits() Traits[S, P] }); ok {
		return w.Traits()
	}
	findTraits(reflect.ValueOf(&t).Elem(), e, reflect.TypeFor[S](), reflect.TypeFor[P](), nil)
	return t
}

// findTraits sets the fields of Traits to the methods of env with their names, whose states and parameters have the
// given types. In the Traits of an erased environment they get arguments of these types, or refuse is called.
func findTraits(t reflect.Value, env described, state, params reflect.Type, refuse func(any, reflect.Type)) {
	own := reflect.TypeOf(env)
	has := func(name string) bool {
		m, ok := methods[name](own)
		return ok && isTrait(m.Type, t.FieldByName(name).Type(), state, params)
	}
	for _, names := range [][]string{{"Draw"}, {"Describe"}, {"DescribeStep"}, {"Objectives"}, {"Report"}, {"Legal"},
		{"Player", "Rewards", "Legal"}, {"Sizes", "Resize"}} {
		if all := !slices.ContainsFunc(names, func(name string) bool { return !has(name) }); !all {
			continue
		}
		for _, name := range names {
			m, _ := methods[name](own)
			erase.Method(t.FieldByName(name), reflect.ValueOf(env), m, refuse)
		}
	}
}

// isTrait reports whether a method has the type of a trait. In that of an erased environment the last any stands for
// the parameters, and others for the state; Draw takes any state.
func isTrait(method, want, state, params reflect.Type) bool {
	if method.NumIn() != want.NumIn()+1 || method.NumOut() != want.NumOut() {
		return false
	}
	for i := range want.NumIn() {
		in := want.In(i)
		if in == reflect.TypeFor[any]() && want.NumOut() == 1 {
			in = state
			if i == want.NumIn()-1 {
				in = params
			}
		}
		if method.In(i+1) != in {
			return false
		}
	}
	for i := range want.NumOut() {
		if method.Out(i) != want.Out(i) {
			return false
		}
	}
	return true
}

// Through turns the traits of an inner environment into those of one around it with states T and parameters Q. state
// and params get the inner state and parameters from the outer ones. Sizes are left out: Resize would return the inner
// environment alone. Draw takes a state of either environment.
func Through[T, Q, S, P any](inner Traits[S, P], state func(T) S, params func(Q) P) (t Traits[T, Q]) {
	of := func(f func(S, P) *graph.Array) func(T, Q) *graph.Array {
		if f == nil {
			return nil
		}
		return func(s T, p Q) *graph.Array { return f(state(s), params(p)) }
	}
	t = Traits[T, Q]{Describe: of(inner.Describe), Objectives: of(inner.Objectives), Report: of(inner.Report),
		Legal: of(inner.Legal), Player: of(inner.Player), Rewards: of(inner.Rewards)}
	if inner.Draw != nil {
		t.Draw = func(s any, size image.Point) (image.Image, error) {
			if outer, ok := s.(T); ok {
				s = state(outer)
			}
			return inner.Draw(s, size)
		}
	}
	if inner.DescribeStep != nil {
		t.DescribeStep = func(s, next T, reward *graph.Array, p Q) *graph.Array {
			return inner.DescribeStep(state(s), state(next), reward, params(p))
		}
	}
	return t
}

// ReportOf returns the numbers that e reports of an episode whose last state is given; nil if it reports none. It
// throws an error if their number is not that of Spec().Reports.
func ReportOf(e Environment, state, p any) *graph.Array {
	names, report := e.Spec().Reports, TraitsOf(e).Report
	if len(names) == 0 {
		return nil
	}
	if report == nil {
		refuse(e.Spec().ID+": Report", "got %q in the Spec's Reports and no method Report, want both", names)
	}
	out := report(state, p)
	if want := graph.ShapeOf(graph.Float32, len(names)); out == nil || !out.Shape().Equal(want) {
		got := "nil"
		if out != nil {
			got = out.Shape().String()
		}
		panic(&graph.Error{Where: Line(e, "Report"), Op: e.Spec().ID + ": Report",
			Msg: fmt.Sprintf("got %s, want %s: a number for each of %q", got, want, names)})
	}
	return out
}
