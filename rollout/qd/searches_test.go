package qd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Rankings of a search: stages first, then values; members that are not valid are the worst.
func TestRanks(t *testing.T) {
	mask := func(v ...bool) *graph.Array { return graph.Of(v) }
	s := oneSearch{Direction: graph.Float32s([]float32{-1, 0}), Batch: Batch{
		Fitness: graph.Float32s([]float32{5, 1, 9, 4, 7}), Valid: mask(true, true, true, true, false),
		Unit: graph.Float32s([]float32{0, 0, .2, 0, .4, 0, .6, 0, 0, 0}, 5, 2)}, Change: Change{
		Accepted: mask(true, true, false, true, false), Empty: mask(false, true, true, false, true),
		Improvement: graph.Float32s([]float32{3, 1, -1, 2, float32(math.Inf(-1))})}}
	for kind, want := range map[int][]float64{
		kindImprovement: {3, 4, 1, 2, 0}, kindOptimization: {3, 1, 4, 2, 0}, kindDirection: {4, 3, 1, 2, 0},
	} {
		s.Kind = graph.Of(int32(kind))
		require.Equal(t, want, floats(t, s.ranks()), "kind %d", kind)
	}
}

// The bandit tries each kind once, then takes what was accepted most. Searches that go on keep their kind.
func TestBandit(t *testing.T) {
	e := &Searches{Number: 3, Explore: settings.Num(.1)}
	s := SearchesState{Kind: graph.Of([]int32{0, 1, 2}), Evaluated: graph.Float32s([]float32{10, 10, 0, 10}),
		Accepted: graph.Float32s([]float32{1, 9, 0, 3})}
	restart := graph.Of([]bool{true, false, true})
	require.Equal(t, []float64{kindDirection, 1, kindOptimization}, floats(t, e.choose(s, restart, 10)))
}

// The members of the first generation came from the policy's Init, and yet counted for the bandit.
func TestBanditDoesNotCountTheFirstGeneration(t *testing.T) {
	c := small()
	c.Emitter, c.Strategy = "searches", "snes"
	c.Parted = c.Parted.With("emitter.ranking", "bandit").With("emitter.searches", "4")
	s := start(t, &xlabridge.Reference{}, c)
	for generation, want := range []float64{0, 24, 48} {
		_, err := s.Step(t.Context())
		require.NoError(t, err)
		snapshot, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		state, err := s.state(snapshot)
		require.NoError(t, err)
		of := state.Emitter.(SearchesState)
		require.Equal(t, "f64[4] f64[4]", of.Evaluated.Shape().String()+" "+of.Accepted.Shape().String(),
			"float32 would stand still at 2^24")
		require.Equal(t, want, floats(t, of.Evaluated.Sum())[0], "generation %d", generation)
		require.LessOrEqual(t, floats(t, of.Accepted.Sum())[0], want)
	}
}

// centered is an emitter of one's own that searches with the run's strategy: all members are its mean.
type centered struct {
	s     *strategy.Erased
	batch int
}

func (c *centered) Traits() EmitterTraits {
	return EmitterTraits{Strategy: func() *strategy.Erased { return c.s },
		SetStrategy: func(s *strategy.Erased, batch int) { c.s, c.batch = s, batch }}
}
func (c *centered) Init(genome *graph.Array, _ int, _ Archive) any { return c.s.Init(genome, c.batch) }

func (c *centered) Ask(_ random.Key, _ *graph.Array, state any, _ Archive) Child {
	return Child{c.s.Mean(state).(*graph.Array), graph.None{}}
}

func (c *centered) Tell(_ random.Key, state any, _ Archive, _ Child, _ Batch, _ Change) any {
	return state
}

func init() { MustRegisterEmitter("centered", &centered{}) }

// Only the emitter searches could have a strategy. An own one has it, with its settings.
func TestOwnEmitterHasTheStrategy(t *testing.T) {
	c := small()
	c.Emitter, c.Strategy, c.Parted = "centered", "snes", c.Parted.With("strategy.sigma", "0.25")
	s := start(t, &xlabridge.Reference{}, c)
	_, err := s.Step(t.Context())
	require.NoError(t, err)
	e := s.program.Emitter.(*centered)
	require.Equal(t, c.Batch, e.batch)
	sigma, ok := settings.Lookup(e.s.Settings, "sigma")
	require.True(t, ok)
	require.Equal(t, "0.25", sigma.Text())
}

// Every other strategy searches for the archive.
func TestAllStrategiesEmit(t *testing.T) {
	for _, name := range strategy.Names() {
		if name == "neat" {
			continue
		}
		c := small()
		c.Emitter, c.Strategy, c.Batch, c.Tile = "searches", name, 32, 0
		c.Parted = c.Parted.With("emitter.searches", "2")
		r, err := c.Start(t.Context(), &xlabridge.Reference{})
		require.NoError(t, err, name)
		require.NoError(t, r.Close(), name)
	}
}
