package search

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

var (
	mutex sync.Mutex
	cpu   *xlabridge.Client
)

// client is the CPU, which all tests of the package share.
func client(t testing.TB) *xlabridge.Client {
	t.Helper()
	mutex.Lock()
	defer mutex.Unlock()
	if cpu == nil {
		c, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: "cpu", CacheDir: xlatest.CacheDir(t)})
		require.NoError(t, err)
		cpu = c
	}
	return cpu
}

// vectors are written by third_party/oracles/mctx_trees.py; see its docstring.
type vectors struct {
	Model map[string]oracles.Array
	Cases []treeCase
}

type treeCase struct {
	Name, Policy, Transform                                                  string
	Simulations, Actions, Depth, Considered                                  int
	Start, Invalid, Noise, Visits, Values, Qvalues, Parents, Weights, Action oracles.Array
}

// table is a model of states and actions, drawn at random.
type table struct{ Next, Reward, Discount, Logits, Value *graph.Array }

func array(a oracles.Array) *graph.Array {
	if strings.HasPrefix(a.DType, "float") {
		return graph.Float32s(a.Float32s(), a.Shape...)
	}
	var v []int32
	for _, x := range a.Ints() {
		v = append(v, int32(x))
	}
	return graph.Int32s(v, a.Shape...)
}

func tables(m map[string]oracles.Array) table {
	return table{array(m["next"]), array(m["reward"]), array(m["discount"]), array(m["logits"]), array(m["value"])}
}

// step returns the tables as a model with a number of actions.
func step(actions int) Recurrent[table, *graph.Array] {
	return func(m table, _ random.Key, action, state *graph.Array) (Step, *graph.Array) {
		of := func(x *graph.Array) *graph.Array {
			return graph.DynamicIndex(graph.DynamicIndex(x, state, 0), action, 0)
		}
		next := of(m.Next)
		return Step{Reward: of(m.Reward), Discount: of(m.Discount), Value: graph.DynamicIndex(m.Value, next, 0),
			PriorLogits: graph.SliceAxis(graph.DynamicIndex(m.Logits, next, 0), 0, 0, actions)}, next
	}
}

// lanes are the inputs of games side by side.
type lanes struct {
	Start *graph.Array
	Legal *graph.Array
	Noise *graph.Array
}

// found is the part of a search that is compared.
type found struct{ Visits, Values, Qvalues, Parents, Weights, Action *graph.Array }

func searchTable(p Policy, actions int, m table, in lanes) found {
	root := Root[*graph.Array]{PriorLogits: graph.SliceAxis(graph.DynamicIndex(m.Logits, in.Start, 0), 0, 0, actions),
		Value: graph.DynamicIndex(m.Value, in.Start, 0), Embedding: in.Start, Legal: in.Legal, Noise: in.Noise}
	r := Run(p, m, random.New(0), root, step(actions))
	return found{r.Tree.ChildVisits(), r.Tree.Values(), r.Tree.ChildValues(), r.Tree.Parents(), r.ActionWeights,
		r.Action}
}

var transforms = map[string]Transform{"siblings": BySiblings, "minmax": ByMinMax, "mixed": ByMixedValue}

// compiled are the searches that the short form compiles: of both policies, with each transform, and with more actions
// than a register holds.
var compiled = []string{"puct siblings: 50 simulations, 13 actions, depth 0",
	"gumbel mixed: 50 simulations, 13 actions, depth 0", "gumbel minmax: 33 simulations, 7 actions, depth 3"}

// Trees equal mctx's: of some searches compiled, with the kernel of backward, and of the shorter ones interpreted, with
// its ops. The long form does both with all.
func TestTreesAreThoseOfMctx(t *testing.T) {
	var v vectors
	require.NoError(t, oracles.Read("testdata/mctx_trees.json.gz", &v))
	m := tables(v.Model)
	require.Len(t, v.Cases, 28)
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			p := c.policy()
			in := lanes{array(c.Start), graph.Eq(array(c.Invalid), 0), array(c.Noise)}
			f := func(m table, in lanes) found {
				return graph.VMap(func(in lanes) found { return searchTable(p, c.Actions, m, in) })(in)
			}
			if long.On() || slices.Contains(compiled, c.Name) {
				got, err := xlabridge.Jit2(client(t), f)(m, in)
				require.NoError(t, err)
				c.compare(t, got)
			}
			if long.On() || c.Simulations <= 41 && !slices.Contains(compiled, c.Name) {
				got, err := xlabridge.Jit2(&xlabridge.Reference{}, f)(m, in)
				require.NoError(t, err)
				c.compare(t, got)
			}
		})
	}
}

// policy is the case's.
func (c treeCase) policy() Policy {
	options, bounds := Options{Simulations: c.Simulations, MaxDepth: c.Depth}, [2]float64{-3, 3}
	if c.Policy == "gumbel" {
		return Gumbel{Options: options, Considered: c.Considered, Scale: 1, Transform: transforms[c.Transform],
			Bounds: bounds}
	}
	p := DefaultPUCT(c.Simulations)
	p.Options, p.Transform, p.Bounds = options, transforms[c.Transform], bounds
	return p
}

// compare holds the trees of all games against mctx's: visits have to be equal.
func (c treeCase) compare(t *testing.T, got found) {
	t.Helper()
	read := func(a *graph.Array) []float64 { return graphtest.Floats(t, a) }
	visits, values, qvalues, parents, weights, actions := read(got.Visits), read(got.Values), read(got.Qvalues),
		read(got.Parents), read(got.Weights), read(got.Action)
	nodes, a := c.Simulations+1, c.Actions
	wantParents := c.Parents.Ints()
	for g := range c.Start.Shape[0] {
		if c.Policy == "gumbel" {
			require.Equal(t, c.Action.Floats()[g], actions[g], "game %d", g)
		}
		require.InDeltaSlice(t, c.Weights.Floats()[g*a:(g+1)*a], weights[g*a:(g+1)*a], 1e-5, "game %d", g)
		// A simulation that evaluates a node again leaves a row of mctx's unused, and ours takes none.
		theirs := []int{0}
		for n := 1; n < nodes; n++ {
			if wantParents[g*nodes+n] >= 0 {
				theirs = append(theirs, n)
			}
		}
		for ours, n := range theirs {
			at, want := g*nodes+ours, g*nodes+n
			require.Equal(t, c.Visits.Floats()[want*a:(want+1)*a], visits[at*a:(at+1)*a], "game %d, node %d", g, n)
			require.InDelta(t, c.Values.Floats()[want], values[at], 1e-5, "game %d, node %d", g, n)
			require.InDeltaSlice(t, c.Qvalues.Floats()[want*a:(want+1)*a], qvalues[at*a:(at+1)*a], 1e-5,
				"game %d, node %d", g, n)
			if n > 0 {
				require.Equal(t, int(wantParents[want]), theirs[int(parents[at])], "game %d, node %d", g, n)
			}
		}
	}
}
