package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

// hostTree is a tree on the host, for tests.
type hostTree struct {
	rows    []float64
	actions int
}

func (h hostTree) columns() int { return columns(h.actions) }
func (h hostTree) head(node, k int) float64 {
	return h.rows[node*h.columns()+k]
}
func (h hostTree) block(node, k int) []float64 {
	at := node*h.columns() + fields + k*padded(h.actions)
	return h.rows[at : at+h.actions]
}
func (h hostTree) used() int { return int(h.head(0, usedNodes)) }

// sound fails where the tree's numbers do not agree with each other.
func (h hostTree) sound(t *testing.T, maxDepth int) {
	t.Helper()
	for n := range h.used() {
		for a, c := range h.block(n, childNodes) {
			if c < 0 {
				continue
			}
			require.Greater(t, int(c), n)
			require.Less(t, int(c), h.used())
			require.EqualValues(t, n, h.head(int(c), parentNode))
			require.EqualValues(t, a, h.head(int(c), parentAction))
			require.Equal(t, h.head(n, depth)+1, h.head(int(c), depth))
			require.Equal(t, h.head(int(c), nodeVisits), h.block(n, childVisits)[a])
		}
		// The best line of play ends below the node, where there is no child, or as deep as it may go.
		leaf, action := int(h.head(n, leafNode)), int(h.head(n, leafAction))
		if h.block(leaf, childNodes)[action] >= 0 {
			require.GreaterOrEqual(t, int(h.head(leaf, depth))+1, maxDepth)
		}
		for leaf > n {
			leaf = int(h.head(leaf, parentNode))
		}
		require.Equal(t, n, leaf)
	}
}

// Below the action that is played a tree stays as it is; the next search counts on. XLARUN_LONG=1 compiles it.
func TestReroot(t *testing.T) {
	var v vectors
	require.NoError(t, oracles.Read("testdata/mctx_trees.json.gz", &v))
	m := tables(v.Model)
	const actions, simulations = 6, 40
	games := 6
	type searchCase struct {
		nodes, depth int
		gumbel       bool
	}
	cases := []searchCase{{81, 3, true}, {41, 0, false}}
	if long.On() {
		games = 9
		cases = append(cases, searchCase{81, 0, true}, searchCase{81, 2, false}, searchCase{200, 40, false})
	}
	for number, c := range cases {
		puct, gumbel := DefaultPUCT(simulations), DefaultGumbel(simulations)
		puct.Nodes, puct.MaxDepth, gumbel.Nodes, gumbel.MaxDepth = c.nodes, c.depth, c.nodes, c.depth
		var p Policy = puct
		if c.gumbel {
			p = gumbel
		}
		type trees struct{ Before, After, Next, Share, States, Played *graph.Array }
		f := func(m table, x [2]*graph.Array) trees {
			start, action := x[0], x[1]
			root := func(state *graph.Array) Root[*graph.Array] {
				return Root[*graph.Array]{PriorLogits: graph.SliceAxis(graph.DynamicIndex(m.Logits, state, 0), 0, 0,
					actions), Value: graph.DynamicIndex(m.Value, state, 0), Embedding: state}
			}
			before := Run(p, m, random.FoldIn(random.New(0), start), root(start), step(actions))
			action = graph.Select(graph.Lt(action, 0), before.Action, action)
			reused := Reroot(before.Tree, action)
			state := graph.DynamicIndex(graph.DynamicIndex(m.Next, start, 0), action, 0)
			next := Run(p, m, random.New(1), root(state), step(actions), reused)
			return trees{before.Tree.Rows, reused.Tree.Rows, next.Tree.Rows, reused.Share, reused.Tree.Embedding,
				action}
		}
		starts, played := make([]int32, games), make([]int32, games)
		for g := range games {
			starts[g], played[g] = int32(3*g), int32(g%actions) // -1: what the search says
			if g%3 > 0 {
				played[g] = -1
			}
		}
		mapped := func(m table, x [2]*graph.Array) trees {
			return graph.VMap(func(x [2]*graph.Array) trees { return f(m, x) })(x)
		}
		var b xlabridge.Backend = &xlabridge.Reference{}
		if long.On() {
			b = client(t)
		}
		got, err := xlabridge.Jit2(b, mapped)(m, [2]*graph.Array{graph.Int32s(starts), graph.Int32s(played)})
		require.NoError(t, err)
		read := func(a *graph.Array) []float64 { return graphtest.Floats(t, a) }
		chosen := read(got.Played)
		before, after, next, share, states := read(got.Before), read(got.After), read(got.Next), read(got.Share),
			read(got.States)
		maxDepth := c.depth
		if maxDepth == 0 {
			maxDepth = simulations
		}
		kept := 0
		for g := range games {
			size := c.nodes * columns(actions)
			old := hostTree{before[g*size : (g+1)*size], actions}
			now := hostTree{after[g*size : (g+1)*size], actions}
			then := hostTree{next[g*size : (g+1)*size], actions}
			old.sound(t, maxDepth)
			then.sound(t, maxDepth)
			child := int(old.block(0, childNodes)[int(chosen[g])])
			if child < 0 {
				require.Zero(t, share[g], "case %d", number)
				require.EqualValues(t, simulations+1, then.head(0, nodeVisits))
				continue
			}
			kept++
			now.sound(t, maxDepth)
			count := 0
			var same func(was, is int)
			same = func(was, is int) {
				count++
				for _, k := range []int{nodeVisits, nodeValue, rawValue, rewardField, discountField} {
					require.Equal(t, old.head(was, k), now.head(is, k))
				}
				for _, k := range []int{priorLogits, priorProbs, childVisits, childQValues} {
					require.Equal(t, old.block(was, k), now.block(is, k))
				}
				for a, c := range old.block(was, childNodes) {
					if below := now.block(is, childNodes)[a]; c < 0 {
						require.EqualValues(t, -1, below)
					} else {
						same(int(c), int(below))
					}
				}
			}
			same(child, 0)
			require.Equal(t, now.used(), count, "case %d", number)
			require.InDelta(t, float64(count)/float64(old.used()), share[g], 1e-6)
			require.EqualValues(t, v.Model["next"].Ints()[int(starts[g])*13+int(chosen[g])], states[g*c.nodes])
			require.Equal(t, old.head(child, nodeVisits)+simulations, then.head(0, nodeVisits), "case %d", number)
		}
		require.Greater(t, kept, games/2, "case %d", number)
	}
}

// A tree is dropped where a new game began.
func TestDrop(t *testing.T) {
	r := Reused[graph.None]{Share: graph.Scalar(.5)}
	for _, over := range []bool{false, true} {
		x, err := graph.Float(r.Drop(graph.Of(over)).Share)
		require.NoError(t, err)
		require.Equal(t, map[bool]float64{false: .5, true: 0}[over], x)
	}
}
