package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// rules is a policy with whole numbers among its parameters: it compares one element of the observation, whose number
// is a parameter, with a float.
type rules struct {
	policy.Stateless[rule]
	inputs int
}

type rule struct {
	Element *graph.Array // i32[]: from 0 on, modulo the number of elements
	Bound   *graph.Array // f32[]
	Flip    *graph.Array // i32[1]: odd for the other action
}

func (*rules) Traits() (t policy.Traits[rule, graph.None]) { return t }

func (*rules) Init(key random.Key) rule {
	return rule{graph.Of(int32(1)), random.Normal(key, graph.ShapeOf(graph.Float32)), graph.Int32s([]int32{0})}
}

func (r *rules) Act(p rule, none graph.None, observation *graph.Array, _ random.Key) (graph.None, policy.Output) {
	x := graph.DynamicIndex(observation, p.Element.Abs().Rem(r.inputs), 0)
	right := x.Gt(p.Bound).Xor(p.Flip.Index(0).Abs().Rem(2).Eq(1))
	y := graph.Select(right, 1., -1.)
	return none, policy.Output{Action: graph.Stack([]*graph.Array{y.Neg(), y}, 0)}
}

// hops moves to the best member: whole numbers by whole numbers, floats by floats.
type hops struct {
	Width settings.Number `set:"width" above:"0" help:"standard deviation of the floats"`
	Hop   int             `set:"hop" min:"1" max:"9" help:"most that a whole number moves"`
}

type hopsState struct {
	Mean rule
	Last rule // the draw of the best member
}

func (*hops) Traits() (t strategy.Traits[hopsState, rule, rule]) { return t }

func (*hops) Init(genome rule, _ int) hopsState {
	return hopsState{genome, graph.MapTree(graph.ZerosLike, genome)}
}

func (h *hops) Sample(key random.Key, state hopsState, _ *graph.Array) rule {
	z := strategy.Noise(key, state.Mean)
	hop := func(i int, like *graph.Array) *graph.Array {
		return like.Add(random.Randint(random.FoldIn(key, 100+i), like.Shape(), -h.Hop, h.Hop+1))
	}
	return rule{hop(0, z.Element), z.Bound.Mul(h.Width.Array()), hop(1, z.Flip)}
}

func (h *hops) Member(state hopsState, draw rule, _ *graph.Array) rule {
	return strategy.Move(state.Mean, graph.Scalar(1), draw)
}

func (h *hops) Tell(state hopsState, e strategy.Evaluation, draws strategy.Draws[rule]) hopsState {
	at := strategy.WorstIfNaN(e.Fitness).ArgMax(0)
	best := graph.Iota(draws.Items()).Eq(at).Convert(graph.Float32)
	last := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.DynamicIndex(a, at, 0) }, draws.All())
	return hopsState{strategy.Move(state.Mean, graph.Scalar(1), draws.Sum(best)), last}
}

func (*hops) Mean(state hopsState) rule { return state.Mean }

// trees starts a run of hops over rules, which are not registered, so that other tests do not see them.
func trees(b xlabridge.Backend, s *strategy.Erased, devices int, redraw bool) (*Evolution, error) {
	c := DefaultConfig()
	c.Policy, c.Strategy, c.Population, c.Steps, c.Tile, c.Devices = "linear", "simplega", 14, 30, 4, devices
	x, err := c.setup(plan.MachineOf(b, devices))
	if err != nil {
		return nil, err
	}
	x.Rollout.Policy, x.Strategy, x.Params, x.Regenerate = policy.Erase(&rules{inputs: 4}), s, 3, redraw
	x.Lay(x.Layout)
	return c.build(b, x, plan.Choice{})
}

func newHops() *hops { return &hops{Width: settings.Num(.1), Hop: 3} }

func startTrees(t *testing.T, b xlabridge.Backend, devices int, redraw bool) *Evolution {
	t.Helper()
	e, err := trees(b, strategy.Erase(newHops()), devices, redraw)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Genomes are the policy's trees, and draws any trees. Results equal a loop over the members.
func TestTreesAreGenomes(t *testing.T) {
	e := startTrees(t, &xlabridge.Reference{}, 1, false)
	c, r, h := e.Config(), e.Rollout(), newHops()
	keys := random.SplitN(random.New(c.Seed), 2)
	state, err := graph.Eval(h.Init(r.Policy.Init(keys[0]).(rule), c.Population))
	require.NoError(t, err)
	for generation := range 3 {
		ask, play := random.FoldIn(keys[1], 2*generation), random.FoldIn(keys[1], 2*generation+1)
		best, bestDraw := -1., rule{}
		for i := range c.Population {
			draw := h.Sample(random.FoldIn(ask, i), state, nil)
			reached, err := graph.Float(r.Member(h.Member(state, draw, nil), random.FoldIn(play, i)).Return)
			require.NoError(t, err)
			if reached > best {
				best, bestDraw = reached, draw
			}
		}
		state, err = graph.Eval(hopsState{h.Member(state, bestDraw, nil), bestDraw})
		require.NoError(t, err)

		m := steps(t, e, 1)[0]
		require.Equal(t, best, of(t, m, "best_fitness"))
		now, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		leaves, tree := graph.Flatten(state)
		for i, want := range leaves {
			name := run.LeafName(".Strategy" + tree.Path(i))
			got := now.Arrays[name]
			require.NotNil(t, got, name)
			require.Equal(t, want.Shape().String(), got.Shape().String(), name)
			a, err := graph.Floats(want)
			require.NoError(t, err)
			b, err := graph.Floats(got)
			require.NoError(t, err)
			require.InDeltaSlice(t, a, b, 1e-6, name)
		}
		candidates, err := e.Candidates(now)
		require.NoError(t, err)
		require.Equal(t, graph.Int32, candidates[0].Params.(rule).Element.DType())
	}
}

// Trees of several dtypes give the same results with stored and regenerated noise, and in the long form on one device
// and two, compiled and interpreted. In the short form TestDeterminismMatrix has trees.
func TestTreesAreTheSameHoweverTheyAreComputed(t *testing.T) {
	after := func(e *Evolution) map[string]string {
		steps(t, e, 4)
		return bytesOf(t, e)
	}
	interpreted := after(startTrees(t, &xlabridge.Reference{}, 1, false))
	sameBytes(t, interpreted, after(startTrees(t, &xlabridge.Reference{}, 1, true)), "redrawn")
	if !long.On() {
		return
	}
	b := xlatest.Open(t, 2)
	want := after(startTrees(t, b, 1, false))
	sameBytes(t, want, after(startTrees(t, b, 2, false)), "two devices")
	sameBytes(t, want, after(startTrees(t, b, 1, true)), "redrawn")
	sameBytes(t, want, after(startTrees(t, b, 2, true)), "redrawn on two devices")
	for _, name := range []string{"strategy.mean.element", "strategy.mean.flip", "strategy.last.element",
		"best.genome.flip", "best.fitness"} {
		require.Contains(t, want, name)
		require.Equal(t, interpreted[name], want[name], name)
	}
}

// A strategy of flat vectors refuses parameters that are not float32.
func TestFlatStrategiesRefuseWholeNumbers(t *testing.T) {
	_, err := trees(&xlabridge.Reference{}, strategy.Erase(&strategy.OpenES{}), 1, false)
	require.ErrorContains(t, err, "parameter .Element is i32[], want float32")
}
