package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
)

// edgeCase is a game of few states with numbers at the edges of what a search may meet: one legal action or none, equal
// priors and values, an end, values that are tiny or huge.
type edgeCase struct {
	next                             []int32
	reward, discount, logits, values []float32
	legal                            []bool
	noise                            []float32
	wild                             bool // it has NaN or infinities: there is no tree to compare with
	kind                             string
}

const edgeStates = 7

func drawEdgeCase(r *rand.Rand, actions int) edgeCase {
	n := edgeStates * actions
	c := edgeCase{next: make([]int32, n), reward: make([]float32, n), discount: make([]float32, n),
		logits: make([]float32, n), values: make([]float32, edgeStates), legal: make([]bool, actions),
		noise: make([]float32, actions)}
	scale := []float64{0, .25, 1, 1e6, 1e-6, 1e-12, 1e20}[r.IntN(7)]
	gamma, fixed, priors, ends := []float32{0, 1, -1, .97}, r.IntN(5), r.IntN(4), r.IntN(2) == 0
	for i := range n {
		c.next[i], c.reward[i] = int32(r.IntN(edgeStates)), float32(scale*r.NormFloat64())
		c.discount[i] = gamma[r.IntN(4)]
		if fixed < 4 {
			c.discount[i] = gamma[fixed]
		}
		c.logits[i] = float32(r.NormFloat64())
		switch closed := r.IntN(2) == 0; {
		case priors == 0:
			c.logits[i] = .5
		case priors == 1 && closed:
			c.logits[i] = illegalLogit
		case priors == 2 && closed:
			c.logits[i] = float32(math.Inf(-1))
		}
	}
	for s := range edgeStates {
		c.values[s] = float32(scale * r.NormFloat64())
		for a := range actions {
			if at := s*actions + a; ends && s%3 == 1 { // the end of the game: no action is legal
				c.logits[at], c.reward[at], c.discount[at] = illegalLogit, 0, 0
			}
		}
	}
	legal, one := r.IntN(4), r.IntN(actions) // all, one, some, none
	for a := range actions {
		c.legal[a] = legal == 0 || legal == 1 && a == one || legal == 2 && (r.IntN(2) == 0 || a == one)
		c.noise[a] = r.Float32() / float32(actions)
	}
	c.kind = fmt.Sprintf("scale %g, discount %d, priors %d, ends %v, legal %d", scale, fixed, priors, ends, legal)
	if c.wild = r.IntN(6) == 0; c.wild {
		bad := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32}[r.IntN(4)]
		where := [][]float32{c.reward, c.discount, c.logits, c.values}[r.IntN(4)]
		for i := range where {
			if r.IntN(3) == 0 {
				where[i] = bad
			}
		}
	}
	return c
}

// Searches of games at these edges equal Plain's: equal visits, the same Q-values and weights. No illegal action is
// searched, weighed or played, weights sum up to 1, and what is NaN in one game stays in it. The long form has more
// games, of one action and of several, compiled and interpreted.
func TestSearchesAtTheEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes, games, backends := []int{1, 5}, 40, []xlabridge.Backend{&xlabridge.Reference{}}
	limits := []Options{{Simulations: 1}, {Simulations: 12, MaxDepth: 2, Nodes: 9}}
	if long.On() {
		sizes, games, backends = []int{1, 2, 5, 9}, 600, append(backends, client(t))
		limits = append(limits, Options{Simulations: 24, MaxDepth: 3}, Options{Simulations: 24, Nodes: 5},
			Options{Simulations: 17, MaxDepth: 1}, Options{Simulations: 24})
	}
	bounds := [2]float64{-1, 1}
	for _, actions := range sizes {
		cases := make([]edgeCase, games)
		for i := range cases {
			cases[i] = drawEdgeCase(r, actions)
		}
		in := edgeGamesOf(cases, actions)
		for _, o := range limits {
			for _, policy := range []Policy{
				PUCT{Options: o, Fraction: .25, Alpha: .3, Init: 1.25, Base: 19652},
				PUCT{Options: o, Alpha: .3, Init: 1.25, Base: 19652, Transform: ByMixedValue},
				PUCT{Options: o, Fraction: 1, Alpha: .3, Init: 1.25, Base: 19652, Transform: ByMinMax, Bounds: bounds},
				Gumbel{Options: o, Considered: 4, Scale: 1, Transform: ByMixedValue},
				Gumbel{Options: o, Considered: 16, Scale: 1},
				Gumbel{Options: o, Considered: 1, Scale: 1, Transform: ByMinMax, Bounds: bounds},
			} {
				for _, b := range backends {
					if b == backends[0] && o.Simulations > 17 {
						continue // the interpreter takes a while
					}
					searchEdges(t, b, policy, o.Simulations, in, cases)
				}
			}
		}
	}
}

// edgeGames are games side by side.
type edgeGames struct {
	Table        table // [games, …]
	Legal, Noise *graph.Array
}

func edgeGamesOf(cases []edgeCase, actions int) edgeGames {
	var all edgeCase
	for _, c := range cases {
		all.next, all.reward = append(all.next, c.next...), append(all.reward, c.reward...)
		all.discount, all.logits = append(all.discount, c.discount...), append(all.logits, c.logits...)
		all.values, all.legal = append(all.values, c.values...), append(all.legal, c.legal...)
		all.noise = append(all.noise, c.noise...)
	}
	n := len(cases)
	of := func(v []float32) *graph.Array { return graph.Float32s(v, n, edgeStates, actions) }
	return edgeGames{table{graph.Int32s(all.next, n, edgeStates, actions), of(all.reward), of(all.discount),
		of(all.logits), graph.Float32s(all.values, n, edgeStates)}, graph.Of(all.legal).Reshape(n, actions),
		graph.Float32s(all.noise, n, actions)}
}

// searchEdges searches all games and compares each with Plain.
func searchEdges(t *testing.T, b xlabridge.Backend, policy Policy, simulations int, in edgeGames, cases []edgeCase) {
	t.Helper()
	actions := in.Noise.Dim(1)
	type result struct{ Visits, Values, Weights, Action, Value *graph.Array }
	got, err := xlabridge.Jit(b, graph.VMap(func(in edgeGames) result {
		root := Root[*graph.Array]{PriorLogits: in.Table.Logits.Index(0), Value: in.Table.Value.Index(0),
			Embedding: graph.Of(int32(0)), Legal: in.Legal, Noise: in.Noise}
		r := Run(policy, in.Table, random.New(0), root, step(actions))
		return result{r.Tree.RootVisits(), r.Tree.ChildValues().Index(0), r.ActionWeights, r.Action, r.Tree.RootValue()}
	}))(in)
	require.NoError(t, err)
	read := func(a *graph.Array) []float64 { return graphtest.Floats(t, a) }
	var ties []float32
	for _, x := range read(DrawsOf(policy, random.New(0), actions).Ties) {
		ties = append(ties, float32(x))
	}
	allVisits, allValues, allWeights := read(got.Visits), read(got.Values), read(got.Weights)
	action, value := read(got.Action), read(got.Value)
	for i, c := range cases {
		name := fmt.Sprintf("%T %+v, %d actions, game %d: %s", policy, policy, actions, i, c.kind)
		own := func(x []float64) []float64 { return x[i*actions : (i+1)*actions] }
		visits, values, weights := own(allVisits), own(allValues), own(allWeights)
		total, count, open := 0., 0., slices.Contains(c.legal, true)
		for a, w := range weights {
			require.True(t, !open || c.legal[a] || w == 0 && visits[a] == 0, name)
			total, count = total+w, count+visits[a]
		}
		require.InDelta(t, 1, total, 1e-5, name)
		require.EqualValues(t, simulations, count, name)
		require.True(t, !open || c.legal[int(action[i])], name)
		if c.wild {
			continue
		}
		p := Plain[int]{Policy: policy, Step: func(s, action int) (float32, float32, []float32, float32, int) {
			at := s*actions + action
			n := int(c.next[at])
			return c.reward[at], c.discount[at], c.logits[n*actions : (n+1)*actions], c.values[n], n
		}}
		want := p.Run(PlainRoot[int]{PriorLogits: c.logits[:actions], Value: c.values[0], Legal: c.legal,
			Noise: c.noise, Ties: ties})
		// Sums of numbers of both signs round by the largest of them.
		near := 1e-4 * (1 + float64(slices.Max(c.magnitudes())))
		for a, n := range want.Visits {
			require.EqualValues(t, n, visits[a], name)
			require.InDelta(t, want.Values[a], values[a], near, name)
			if open { // Plain gives all visits of no legal action to the first
				require.InDelta(t, want.ActionWeights[a], weights[a], 1e-4, name)
			}
		}
		require.InDelta(t, want.Value, value[i], near, name)
		if _, ok := policy.(Gumbel); ok {
			require.EqualValues(t, want.Action, action[i], name)
		}
	}
}

// magnitudes returns the sizes of all values and rewards.
func (c edgeCase) magnitudes() (sizes []float32) {
	for _, x := range slices.Concat(c.values, c.reward) {
		sizes = append(sizes, max(x, -x))
	}
	return sizes
}
