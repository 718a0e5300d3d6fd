package minatar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
)

// floats returns the numbers of an array.
var floats = graphtest.Floats

// With sticky actions the last one is played again as often as asked for, and the one that was played is what is
// remembered; each member may have a probability of its own.
func TestStickyActions(t *testing.T) {
	const n = 2000
	type input struct {
		Key         random.Key
		Probability *graph.Array
	}
	share := func(p float64) float64 {
		played, err := graph.Eval(graph.VMap(func(in input) *graph.Array {
			return stickyAction(in.Key, envs.Steps(2), envs.Steps(1), in.Probability)
		})(input{random.Split(random.New(3), n), graph.Full(graph.ShapeOf(graph.Float32, n), p)}))
		require.NoError(t, err)
		again := 0.
		for _, a := range floats(t, played) {
			require.Contains(t, []float64{1, 2}, a)
			again += 2 - a
		}
		return again / n
	}
	require.Equal(t, 0., share(0))
	require.Equal(t, 1., share(1))
	require.InDelta(t, .1, share(.1), .02)
	require.InDelta(t, .5, share(.5), .04)

	for _, env := range []envs.Environment{envs.Erase(Asterix{}), envs.Erase(Breakout{}), envs.Erase(Freeway{}),
		envs.Erase(Seaquest{}), envs.Erase(SpaceInvaders{})} {
		last := func(sticky float64) float64 {
			p := env.DefaultParams()
			s, _ := env.Reset(random.New(1), p)
			if sticky > 0 {
				p = graph.MapTree(func(a *graph.Array) *graph.Array { // Sticky is the only float
					if a.DType() == graph.Float32 {
						return graph.Scalar(sticky)
					}
					return a
				}, p)
			}
			next, _, _, _, _ := env.Step(random.New(2), s, envs.Steps(2), p)
			leaves := graph.Leaves(next)
			return floats(t, leaves[len(leaves)-2])[0] // LastAction stands before Time
		}
		require.Equal(t, 2., last(0), env.Spec().ID)
		require.Equal(t, 0., last(1), "%s: the action before the first is to stay", env.Spec().ID)
	}
}

// Without Ramping the game stays as it is where it would become harder.
func TestRamping(t *testing.T) {
	asterix, invaders, seaquest := Asterix{}, SpaceInvaders{}, Seaquest{}
	for _, c := range []struct {
		number int
		what   string
		index  func(on *graph.Array) *graph.Array // RampIndex after a step that makes the game harder
	}{
		{1, "Asterix, when the interval is over", func(on *graph.Array) *graph.Array {
			p := asterix.DefaultParams()
			p.Ramping = on
			s, _ := asterix.Reset(random.New(1), p)
			s.RampTimer = envs.Steps(-1)
			next, _, _, _, _ := asterix.Step(random.New(2), s, envs.Steps(0), p)
			return next.RampIndex
		}},
		{2, "SpaceInvaders, when the last alien is shot", func(on *graph.Array) *graph.Array {
			p := invaders.DefaultParams()
			p.Ramping = on
			s, _ := invaders.Reset(random.New(1), p)
			s.Aliens, s.Friendly = line(envs.Steps(3), envs.Steps(8)), line(envs.Steps(4), envs.Steps(8))
			next, _, reward, _, _ := invaders.Step(random.New(2), s, envs.Steps(0), p)
			require.Equal(t, []float64{1}, floats(t, reward))
			require.Equal(t, []float64{24}, floats(t, graph.PopCount(next.Aliens).Sum()), "a new wave")
			return next.RampIndex
		}},
		{3, "Seaquest, when the submarine comes up", func(on *graph.Array) *graph.Array {
			p := seaquest.DefaultParams()
			p.Ramping = on
			s, _ := seaquest.Reset(random.New(1), p)
			s.Y, s.Surface, s.DiverCount = envs.Steps(1), envs.False(), envs.Steps(2)
			next, _, _, over, _ := seaquest.Step(random.New(2), s, envs.Steps(2), p)
			require.Equal(t, []float64{0}, floats(t, over))
			require.Equal(t, []float64{1}, floats(t, next.DiverCount))
			return next.RampIndex
		}},
	} {
		require.Equal(t, []float64{1}, floats(t, c.index(envs.False().Not())), "case %d: %s", c.number, c.what)
		require.Equal(t, []float64{0}, floats(t, c.index(envs.False())), "case %d: %s", c.number, c.what)
	}
}

// New objects are lost if all slots are full; objects in slots are not lost.
func TestSeaquestSlotsAreFull(t *testing.T) {
	e := Seaquest{}
	p := e.DefaultParams()
	s, _ := e.Reset(random.New(1), p)
	full := func(rows, slots int) *graph.Array {
		x := graph.Full(graph.ShapeOf(graph.Int32, 1, slots), 7)
		rest := graph.Full(graph.ShapeOf(graph.Int32, rows-1, slots), 3) // row 3, to the right, in three steps
		return graph.Concatenate(0, x, graph.Select(graph.Iota(rows-1).Reshape(rows-1, 1).Eq(1), 1, rest))
	}
	s.Fish, s.Divers, s.SpawnTimer, s.DiverTimer = full(4, fishSlots), full(4, diverSlots), envs.Steps(0), envs.Steps(0)
	next, _, reward, over, _ := e.Step(random.New(2), s, envs.Steps(0), p)
	require.Equal(t, []float64{0, 0}, append(floats(t, reward), floats(t, over)...))
	for _, slots := range []*graph.Array{next.Fish, next.Divers} {
		for _, x := range floats(t, slots.Index(0)) {
			require.Equal(t, 7., x)
		}
	}
}
