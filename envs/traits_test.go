package envs_test

import (
	"errors"
	"fmt"
	"image"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
)

// able is a Corridor with every trait.
type able struct{ Corridor }

func (able) Draw(any, image.Point) (image.Image, error) { return nil, errors.New("drawn") }

func (able) Describe(s CorridorState, _ CorridorParams) *graph.Array {
	return s.X.Reshape(1)
}

func (able) Objectives(s CorridorState, p CorridorParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.X, p.Stride}, 0)
}

func (able) Report(s CorridorState, _ CorridorParams) *graph.Array { return s.X.Reshape(1) }

func (able) Legal(CorridorState, CorridorParams) *graph.Array {
	return graph.Ones(graph.ShapeOf(graph.Bool, 2))
}

func (able) Player(s CorridorState, _ CorridorParams) *graph.Array { return s.Time.Mod(2) }

func (able) Rewards(s CorridorState, _ CorridorParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.X, s.X.Neg()}, 0)
}

// some is able with some of its traits: bit i of keep is the one of number i.
type some struct {
	able
	keep int
}

func (s some) Traits() (t envs.Traits[CorridorState, CorridorParams]) {
	all := envs.TraitsOf(envs.Env[CorridorState, CorridorParams](s.able))
	if s.keep&1 != 0 {
		t.Draw = all.Draw
	}
	if s.keep&2 != 0 {
		t.Describe = all.Describe
	}
	if s.keep&4 != 0 {
		t.Objectives = all.Objectives
	}
	if s.keep&8 != 0 {
		t.Legal = all.Legal
	}
	if s.keep&16 != 0 {
		t.Player, t.Rewards = all.Player, all.Rewards
	}
	if s.keep&32 != 0 {
		t.Report = all.Report
	}
	return t
}

// has reports which traits there are.
func has[S, P any](e envs.Env[S, P]) (traits int) {
	t := envs.TraitsOf(e)
	for i, yes := range []bool{t.Draw != nil, t.Describe != nil, t.Objectives != nil, t.Legal != nil,
		t.Player != nil && t.Rewards != nil, t.Report != nil} {
		if yes {
			traits |= 1 << i
		}
	}
	return traits
}

// Any choice of traits goes through every wrapper, no more and no less.
func TestWrappersKeepTraits(t *testing.T) {
	require.Equal(t, 63, has(able{}))
	require.Equal(t, 0, has(Corridor{}))
	for keep := range 64 {
		e := some{keep: keep}
		erased := envs.Erase(e)
		require.Equal(t, keep, has(e), "itself")
		require.Equal(t, keep, has(erased), "erased")
		require.Equal(t, keep, has(envs.Erase(erased)), "erased twice")
		require.Equal(t, keep, has(envs.AutoReset(e)), "auto-reset")
		require.Equal(t, keep, has(envs.AutoReset(erased)), "erased, auto-reset")
		require.Equal(t, keep, has(envs.Erase(envs.AutoReset(envs.AutoReset(e)))), "auto-reset twice, erased")
	}
}

// What is known by the last state of an episode outlives the reset; what play goes on from is of the new one.
func TestAutoResetKeepsWhatTheLastStateSays(t *testing.T) {
	auto := envs.Erase(envs.AutoReset(able{}))
	traits, p := envs.TraitsOf(auto), auto.DefaultParams()
	state, _ := auto.Reset(random.New(0), p)
	first, _ := able{}.Reset(random.New(0), able{}.DefaultParams())
	require.Equal(t, floats(t, first.X)[0], floats(t, traits.Describe(state, p))[0])
	x := floats(t, first.X)[0]
	for i := 1; ; i++ {
		var obs, terminated *graph.Array
		state, obs, _, terminated, _ = auto.Step(random.New(int64(i)), state, envs.Steps(1), p)
		x += .25
		require.InDelta(t, x, floats(t, traits.Describe(state, p))[0], 1e-6, "step %d", i)
		require.InDelta(t, x, floats(t, traits.Objectives(state, p))[0], 1e-6)
		require.InDelta(t, x, floats(t, traits.Report(state, p))[0], 1e-6)
		require.InDeltaSlice(t, []float64{x, -x}, floats(t, traits.Rewards(state, p)), 1e-6)
		require.Equal(t, []float64{1, 1}, floats(t, traits.Legal(state, p)))
		player := floats(t, traits.Player(state, p))[0]
		if floats(t, terminated)[0] == 1 {
			require.Less(t, floats(t, obs)[0], .2, "the new episode's")
			require.Zero(t, player, "the new episode's")
			return
		}
		require.Equal(t, float64(i%2), player)
	}
}

func TestErasedTraitsRefuse(t *testing.T) {
	e := envs.Erase(able{})
	describe := envs.TraitsOf(e).Describe
	require.ErrorContains(t, graph.Try(func() {
		describe(3, e.DefaultParams())
	}), "Corridor-v0: got int as state, want envs_test.CorridorState")
	require.ErrorContains(t, graph.Try(func() {
		describe(CorridorState{}, 3)
	}), "Corridor-v0: got int as parameters, want envs_test.CorridorParams")
	_, err := envs.TraitsOf(envs.AutoReset(e)).Draw(3, image.Pt(1, 1))
	require.EqualError(t, err, "drawn", "which state may be drawn is the environment's affair")
}

// A refusal names the line that called the environment, not one inside of it.
func TestRefuseNamesTheCaller(t *testing.T) {
	e := envs.Erase(Corridor{})
	state, _ := e.Reset(random.New(0), e.DefaultParams())
	_, file, line, _ := runtime.Caller(0)
	err := graph.Try(func() { e.Step(random.New(0), state, graph.Scalar(1), e.DefaultParams()) })
	require.ErrorContains(t, err, fmt.Sprintf("%s:%d: Corridor-v0: Step: the action is f32[], want an integer scalar",
		filepath.Base(file), line+1))
	_, _, line, _ = runtime.Caller(0)
	auto := graph.Try(func() {
		envs.AutoReset(e).Step(random.New(0), envs.Episode[any]{State: state}, nil, e.DefaultParams())
	})
	require.ErrorContains(t, auto, fmt.Sprintf("%s:%d: Corridor-v0: Step: the action is nil", filepath.Base(file), line+
		2))
}

// floats returns the numbers of an array.
var floats = graphtest.Floats

// walker is a Corridor that describes its steps.
type walker struct{ Corridor }

func (walker) Spec() envs.Spec {
	s := Corridor{}.Spec()
	s.Descriptor, s.Descriptors = envs.Positive(1), []string{"x"}
	return s
}

func (walker) DescribeStep(_, next CorridorState, _ *graph.Array, _ CorridorParams) *graph.Array {
	return next.X.Reshape(1)
}

// Under AutoReset DescribeStep was gone, and its descriptor was still in the Spec.
func TestAutoResetHasNoDescribeStep(t *testing.T) {
	auto := envs.AutoReset(walker{})
	require.Nil(t, envs.TraitsOf(auto).DescribeStep)
	require.Empty(t, auto.Spec().Descriptor.Dims)
	require.Empty(t, auto.Spec().Descriptors)
	require.NoError(t, auto.Spec().Check())
	require.NotEmpty(t, walker{}.Spec().Descriptor.Dims)
}
