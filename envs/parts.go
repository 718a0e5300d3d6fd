package envs

import (
	"fmt"
	"image"
	"reflect"

	"xlarun/graph"
)

// Drawer is an Env whose states can be drawn.
type Drawer interface {
	// Draw paints one concrete state of one member as an image of size pixels; package draw has a canvas and colors
	// for it. Errors: a state of another environment, a traced state, the state of a whole population, a size below 1
	// or above draw.MaxSide.
	Draw(state any, size image.Point) (image.Image, error)
}

// Describer is an Env with a behavior descriptor, for quality-diversity search (Mouret and Clune, "Illuminating search
// spaces by mapping elites", 2015).
type Describer[S, P any] interface {
	// Describe is the behavior descriptor of an episode: f32[d], the shape of Spec().Descriptor and within its bounds.
	// state is the last state of the episode.
	Describe(state S, p P) *graph.Array
}

// StepDescriber is an Env whose behavior descriptor is a mean over the steps of an episode: a mean speed, the share of
// steps to the north, berries a step. An Env is a Describer or a StepDescriber, not both.
type StepDescriber[S, P any] interface {
	// DescribeStep is what the descriptor is the mean of: f32[d], the shape of Spec().Descriptor, finite. The step
	// leads from state to next and gives reward, f32[]. A mean outside of the bounds counts as the nearest one inside.
	DescribeStep(state, next S, reward *graph.Array, p P) *graph.Array
}

// Scorer is an Env with several objectives, for multi-objective search.
type Scorer[S, P any] interface {
	// Objectives are the scores of an episode, f32[k], in the order of Spec().Objectives; higher is better. state is
	// the last state of the episode.
	Objectives(state S, p P) *graph.Array
}

// Reporter is an Env that reports numbers of its own about an episode: whether it was a success, a Sharpe ratio. Gymnax
// and Brax have them in Step's info and in metrics. Its state holds what they are computed from.
type Reporter[S, P any] interface {
	// Report returns the numbers of an episode, f32[len(Spec().Reports)]. state is the last state of the episode. A
	// number that is not finite counts in no mean.
	Report(state S, p P) *graph.Array
}

// Masker is an Env in which some actions can be illegal.
type Masker[S, P any] interface {
	// Legal is the mask of the legal actions of a state: bool[n] for the actions Discrete{n}, bool[sum of N] for
	// MultiDiscrete, one mask after the other for each choice. Each choice has at least one legal action, even after
	// the end of an episode, so that a masked softmax is always finite. Callers evaluate it once before each Step, only
	// if Spec().LegalMask is true.
	Legal(state S, p P) *graph.Array
}

// Resizer is an Env with sizes: whole numbers that the shapes of its arrays depend on. Unlike a parameter, a size is
// not data: each value makes another program.
type Resizer interface {
	// Sizes lists the sizes with their values.
	Sizes() []Size
	// Resize returns the environment with another value of one size. Errors: a value that the environment cannot have.
	Resize(name string, value int) (Environment, error)
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

// SizeOf returns a size of e by its name, if e is a Resizer that has it.
func SizeOf(e Environment, name string) (Size, bool) {
	if r := PartsOf(e).Resizer; r != nil {
		for _, s := range r.Sizes() {
			if s.Name == name {
				return s, true
			}
		}
	}
	return Size{}, false
}

// Game is an Env of two or more players who move one at a time, for self-play and tree search. It follows the
// conventions of pgx (Koyama et al., "Pgx: Hardware-accelerated parallel game simulators for reinforcement learning",
// 2023).
//
// Step's observation is for the player who moves next. Its reward is for the player who moved: element Player of the
// old state in Rewards of the next state. An illegal action ends the game: the mover gets -1, the others share 1. A
// finished game stays finished, because a tree search can look beyond the end: Step returns terminated and zero rewards
// again. Referee implements both rules.
type Game[S, P any] interface {
	Masker[S, P]
	// Player is the player to move: an int32 scalar below Spec().Players. A player can move several times in a row; a
	// search negates a value only where the player changes.
	Player(state S, p P) *graph.Array
	// Rewards are each player's rewards in the step that led to a state, f32[players], 0 in the first state. Their sum
	// is 0.
	Rewards(state S, p P) *graph.Array
}

// Parts are the optional interfaces of an Env; nil: it does not have this one. An environment has a part if it has its
// methods; a Wrapper returns its parts.
type Parts[S, P any] struct {
	_             [0]func() // no comparison: the compiler would make one for each environment
	Drawer        Drawer
	Describer     Describer[S, P]
	StepDescriber StepDescriber[S, P]
	Scorer        Scorer[S, P]
	Reporter      Reporter[S, P]
	Masker        Masker[S, P]
	Game          Game[S, P] // has the same Legal as Masker
	Resizer       Resizer
}

// Wrapper is an Env around another. Its parts are those that Parts returns, whatever methods its type has. Through
// makes them from the parts of the wrapped environment.
type Wrapper[S, P any] interface {
	Env[S, P]
	Parts() Parts[S, P]
}

// PartsOf returns the parts of e.
func PartsOf[S, P any](e Env[S, P]) (p Parts[S, P]) {
	if w, ok := e.(interface{ Parts() Parts[S, P] }); ok { // a Wrapper
		return w.Parts()
	}
	p.Drawer, _ = e.(Drawer)
	p.Describer, _ = e.(Describer[S, P])
	p.StepDescriber, _ = e.(StepDescriber[S, P])
	p.Scorer, _ = e.(Scorer[S, P])
	p.Reporter, _ = e.(Reporter[S, P])
	p.Masker, _ = e.(Masker[S, P])
	p.Game, _ = e.(Game[S, P])
	p.Resizer, _ = e.(Resizer)
	return p
}

// DrawerOf is e as a Drawer, if it is one. A type assertion is not enough: wrappers have all methods.
func DrawerOf[S, P any](e Env[S, P]) (Drawer, bool) {
	d := PartsOf(e).Drawer
	return d, d != nil
}

// DescriberOf is e as a Describer, if it is one.
func DescriberOf[S, P any](e Env[S, P]) (Describer[S, P], bool) {
	d := PartsOf(e).Describer
	return d, d != nil
}

// ScorerOf is e as a Scorer, if it is one.
func ScorerOf[S, P any](e Env[S, P]) (Scorer[S, P], bool) {
	s := PartsOf(e).Scorer
	return s, s != nil
}

// ReportOf returns the numbers that e reports of an episode whose last state is given; nil if it is no Reporter. It
// throws an error if their number is not that of Spec().Reports.
func ReportOf(e Environment, state, p any) *graph.Array {
	names, reporter := e.Spec().Reports, PartsOf(e).Reporter
	if len(names) == 0 {
		return nil
	}
	if reporter == nil {
		refuse(e.Spec().ID+": Report", "got %q in the Spec's Reports and no method Report, want both", names)
	}
	out := reporter.Report(state, p)
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

// MaskerOf is e as a Masker, if it is one; every Game is.
func MaskerOf[S, P any](e Env[S, P]) (Masker[S, P], bool) {
	m := PartsOf(e).Masker
	return m, m != nil
}

// GameOf is e as a Game, if it is one.
func GameOf[S, P any](e Env[S, P]) (Game[S, P], bool) {
	g := PartsOf(e).Game
	return g, g != nil
}

// Through turns the parts of an inner environment into the parts of its wrapper with states T and parameters Q. state
// and params get the inner state and parameters from the wrapper's. The Resizer is left out: it would return the inner
// environment without the wrapper.
func Through[T, Q, S, P any](inner Parts[S, P], state func(T) S, params func(Q) P) (p Parts[T, Q]) {
	t := &through[T, Q, S, P]{inner, state, params}
	if inner.Drawer != nil {
		p.Drawer = t
	}
	if inner.Describer != nil {
		p.Describer = t
	}
	if inner.StepDescriber != nil {
		p.StepDescriber = t
	}
	if inner.Scorer != nil {
		p.Scorer = t
	}
	if inner.Reporter != nil {
		p.Reporter = t
	}
	if inner.Masker != nil {
		p.Masker = t
	}
	if inner.Game != nil {
		p.Game = t
	}
	return p
}

type through[T, Q, S, P any] struct {
	inner  Parts[S, P]
	state  func(T) S
	params func(Q) P
}

// Draw takes a state of the wrapper or of the inner environment.
func (t *through[T, Q, S, P]) Draw(state any, size image.Point) (image.Image, error) {
	if outer, ok := state.(T); ok {
		state = t.state(outer)
	}
	return t.inner.Drawer.Draw(state, size)
}

func (t *through[T, Q, S, P]) Describe(s T, p Q) *graph.Array {
	return t.inner.Describer.Describe(t.state(s), t.params(p))
}

func (t *through[T, Q, S, P]) DescribeStep(s, next T, reward *graph.Array, p Q) *graph.Array {
	return t.inner.StepDescriber.DescribeStep(t.state(s), t.state(next), reward, t.params(p))
}

func (t *through[T, Q, S, P]) Objectives(s T, p Q) *graph.Array {
	return t.inner.Scorer.Objectives(t.state(s), t.params(p))
}

func (t *through[T, Q, S, P]) Report(s T, p Q) *graph.Array {
	return t.inner.Reporter.Report(t.state(s), t.params(p))
}

func (t *through[T, Q, S, P]) Legal(s T, p Q) *graph.Array {
	return t.inner.Masker.Legal(t.state(s), t.params(p))
}

func (t *through[T, Q, S, P]) Player(s T, p Q) *graph.Array {
	return t.inner.Game.Player(t.state(s), t.params(p))
}

func (t *through[T, Q, S, P]) Rewards(s T, p Q) *graph.Array {
	return t.inner.Game.Rewards(t.state(s), t.params(p))
}

// Parts implements Wrapper.
func (e *erased) Parts() (p Parts[any, any]) {
	part := func(name string) (*erasedPart, bool) {
		v := e.parts.FieldByName(name)
		return &erasedPart{e, v.Interface()}, !v.IsNil()
	}
	// A Drawer takes a state of any type and returns errors.
	p.Drawer, _ = e.parts.FieldByName("Drawer").Interface().(Drawer)
	p.Resizer, _ = e.parts.FieldByName("Resizer").Interface().(Resizer)
	if t, ok := part("Describer"); ok {
		p.Describer = t
	}
	if t, ok := part("StepDescriber"); ok {
		p.StepDescriber = t
	}
	if t, ok := part("Scorer"); ok {
		p.Scorer = t
	}
	if t, ok := part("Reporter"); ok {
		p.Reporter = t
	}
	if t, ok := part("Masker"); ok {
		p.Masker = t
	}
	if t, ok := part("Game"); ok {
		p.Game = t
	}
	return p
}

// erasedPart is a part of an environment whose types are hidden.
type erasedPart struct {
	*erased
	part any // such as a Describer[S, P]
}

func (t *erasedPart) Describe(s, p any) *graph.Array   { return t.call("Describe", s, p) }
func (t *erasedPart) Objectives(s, p any) *graph.Array { return t.call("Objectives", s, p) }
func (t *erasedPart) Report(s, p any) *graph.Array     { return t.call("Report", s, p) }
func (t *erasedPart) Legal(s, p any) *graph.Array      { return t.call("Legal", s, p) }
func (t *erasedPart) Player(s, p any) *graph.Array     { return t.call("Player", s, p) }
func (t *erasedPart) Rewards(s, p any) *graph.Array    { return t.call("Rewards", s, p) }

func (t *erasedPart) DescribeStep(state, next any, reward *graph.Array, p any) *graph.Array {
	return array(call(t.part, "DescribeStep", t.argument("", "state", state, t.state),
		t.argument("", "state", next, t.state), reflect.ValueOf(reward), t.argument("", "parameters", p, t.params))[0])
}

func (t *erasedPart) call(method string, state, p any) *graph.Array {
	return array(call(t.part, method, t.argument("", "state", state, t.state),
		t.argument("", "parameters", p, t.params))[0])
}
