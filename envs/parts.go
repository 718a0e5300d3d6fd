package envs

import (
	"image"

	"xlarun/graph"
)

// Drawer is an Env whose states can be drawn.
type Drawer interface {
	// Draw paints one concrete state, as Reset or Step gave it for one member, as an image of size pixels; package draw
	// has a canvas and colours for it. Errors: a state of another environment, one without a value, a whole
	// population's, a size below 1 or above draw.MaxSide.
	Draw(state any, size image.Point) (image.Image, error)
}

// Describer is an Env that says how an episode was played: what quality-diversity search spreads its members over, as
// in Mouret and Clune, "Illuminating search spaces by mapping elites" (2015).
type Describer[S, P any] interface {
	// Describe is the behaviour descriptor of an episode by its last state, the one that the step returned that ended
	// it: f32[d], the shape of Spec().Descriptor and within its bounds.
	Describe(state S, p P) *graph.Array
}

// Scorer is an Env with several objectives, for multi-objective search.
type Scorer[S, P any] interface {
	// Objectives are those of an episode by its last state, the one that the step returned that ended it: f32[k], in
	// the order of Spec().Objectives; of each, more is better.
	Objectives(state S, p P) *graph.Array
}

// Masker is an Env in which some actions can be illegal.
type Masker[S, P any] interface {
	// Legal tells which actions may be played from a state: bool[n] for the actions Discrete{n}; for MultiDiscrete
	// bool[sum of N], the choices one after the other, each of which is masked by itself. At least one of each choice
	// may, also where an episode is over, so that a masked softmax is always finite. It is asked of the state that Step
	// is then played from, once a step, where Spec().LegalMask is true alone.
	Legal(state S, p P) *graph.Array
}

// Game is an Env of two or more players who move one at a time, for self-play and tree search; the conventions are
// those of pgx (Koyama et al., "Pgx: Hardware-accelerated parallel game simulators for reinforcement learning", 2023).
//
// Step's observation is for the player who moves next, its reward is what the player who moved got: Rewards of the next
// state at Player of the state before. An illegal action ends the game: the mover gets -1, the others share 1. A game
// that is over stays so, which a search that looks beyond the end relies on: Step from there is terminated again, and
// all rewards are 0. Referee does both.
type Game[S, P any] interface {
	Masker[S, P]
	// Player is whose move it is: an int32 scalar below Spec().Players. Players may move several times in a row, and a
	// search negates a value only where the player changes.
	Player(state S, p P) *graph.Array
	// Rewards are what the step that led to a state gave each player, f32[players], 0 in the first state. Their sum is
	// 0: of two players, what one wins the other loses.
	Rewards(state S, p P) *graph.Array
}

// Parts are what an Env can do beyond its methods; nil where it cannot. They are optional interfaces: an environment
// has a part by having its methods, a Wrapper by saying so.
type Parts[S, P any] struct {
	Drawer    Drawer
	Describer Describer[S, P]
	Scorer    Scorer[S, P]
	Masker    Masker[S, P]
	Game      Game[S, P] // its Legal is that of Masker
}

// Wrapper is an Env around another, which has the parts that it says, whatever methods its type has: mostly those of
// the environment inside, by Through.
type Wrapper[S, P any] interface {
	Env[S, P]
	Parts() Parts[S, P]
}

// PartsOf finds out what e can do.
func PartsOf[S, P any](e Env[S, P]) (p Parts[S, P]) {
	if w, ok := e.(Wrapper[S, P]); ok {
		return w.Parts()
	}
	p.Drawer, _ = e.(Drawer)
	p.Describer, _ = e.(Describer[S, P])
	p.Scorer, _ = e.(Scorer[S, P])
	p.Masker, _ = e.(Masker[S, P])
	p.Game, _ = e.(Game[S, P])
	return p
}

// DrawerOf is e as a Drawer, if it is one. (A type assertion does not do: an erased environment may be one or not.)
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

// Through gives a wrapper with states T and parameters Q the parts of the environment inside, whose states and
// parameters are found in the wrapper's.
func Through[T, Q, S, P any](inner Parts[S, P], state func(T) S, params func(Q) P) (p Parts[T, Q]) {
	t := through[T, Q, S, P]{inner, state, params}
	if inner.Drawer != nil {
		p.Drawer = t
	}
	if inner.Describer != nil {
		p.Describer = t
	}
	if inner.Scorer != nil {
		p.Scorer = t
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

// Draw takes a state of the wrapper or of the environment inside.
func (t through[T, Q, S, P]) Draw(state any, size image.Point) (image.Image, error) {
	if outer, ok := state.(T); ok {
		state = t.state(outer)
	}
	return t.inner.Drawer.Draw(state, size)
}

func (t through[T, Q, S, P]) Describe(s T, p Q) *graph.Array {
	return t.inner.Describer.Describe(t.state(s), t.params(p))
}

func (t through[T, Q, S, P]) Objectives(s T, p Q) *graph.Array {
	return t.inner.Scorer.Objectives(t.state(s), t.params(p))
}

func (t through[T, Q, S, P]) Legal(s T, p Q) *graph.Array {
	return t.inner.Masker.Legal(t.state(s), t.params(p))
}

func (t through[T, Q, S, P]) Player(s T, p Q) *graph.Array {
	return t.inner.Game.Player(t.state(s), t.params(p))
}

func (t through[T, Q, S, P]) Rewards(s T, p Q) *graph.Array {
	return t.inner.Game.Rewards(t.state(s), t.params(p))
}
