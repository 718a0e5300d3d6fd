package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

// chanceCase is written by third_party/oracles/mctx_stochastic.py; see its docstring.
type chanceCase struct {
	treeCase
	Outcomes int
}

// chanceTable is a model of states, actions, afterstates and outcomes, drawn at random.
type chanceTable struct{ After, Next, Chance, AfterValue, Reward, Discount, Logits, Value *graph.Array }

func at(x *graph.Array, i ...*graph.Array) *graph.Array {
	for _, k := range i {
		x = graph.DynamicIndex(x, k, 0)
	}
	return x
}

func chanceModel(actions, outcomes int) Stochastic[chanceTable, *graph.Array, *graph.Array] {
	return Stochastic[chanceTable, *graph.Array, *graph.Array]{
		Decision: func(m chanceTable, _ random.Key, action, state *graph.Array) (Afterstate, *graph.Array) {
			after := at(m.After, state, action)
			return Afterstate{graph.SliceAxis(at(m.Chance, after), 0, 0, outcomes), at(m.AfterValue, after)}, after
		},
		Chance: func(m chanceTable, _ random.Key, outcome, after *graph.Array) (Step, *graph.Array) {
			next := at(m.Next, after, outcome)
			return Step{Reward: at(m.Reward, after, outcome), Discount: at(m.Discount, after, outcome),
				Value: at(m.Value, next), PriorLogits: graph.SliceAxis(at(m.Logits, next), 0, 0, actions)}, next
		},
	}
}

// Trees of games with chance equal mctx's. The short form compiles one search and interprets the shorter
// ones.
func TestStochasticTreesAreThoseOfMctx(t *testing.T) {
	var v struct {
		Model map[string]oracles.Array
		Cases []chanceCase
	}
	require.NoError(t, oracles.Read("testdata/mctx_stochastic.json.gz", &v))
	require.Len(t, v.Cases, 6)
	m := chanceTable{array(v.Model["after"]), array(v.Model["next"]), array(v.Model["chance"]),
		array(v.Model["aftervalue"]), array(v.Model["reward"]), array(v.Model["discount"]), array(v.Model["logits"]),
		array(v.Model["value"])}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			p := DefaultPUCT(c.Simulations)
			p.MaxDepth = c.Depth
			in := lanes{array(c.Start), graph.Eq(array(c.Invalid), 0), array(c.Noise)}
			run := func(m chanceTable, in lanes) found {
				return graph.VMap(func(in lanes) found {
					root := Root[*graph.Array]{PriorLogits: graph.SliceAxis(at(m.Logits, in.Start), 0, 0, c.Actions),
						Value: at(m.Value, in.Start), Embedding: in.Start, Legal: in.Legal, Noise: in.Noise}
					r := RunStochastic(p, m, random.New(0), root, chanceModel(c.Actions, c.Outcomes))
					return found{r.Tree.ChildVisits(), r.Tree.Values(), r.Tree.ChildValues(), r.Tree.Parents(),
						padOutcomes(r.ActionWeights, 0, c.Outcomes), r.Action}
				})(in)
			}
			var backend xlabridge.Backend = &xlabridge.Reference{}
			if c.Simulations > 33 {
				long.Only(t)
			}
			if c.Simulations > 20 {
				backend = client(t)
			}
			got, err := xlabridge.Jit2(backend, run)(m, in)
			require.NoError(t, err)
			all := c.treeCase
			all.Actions += c.Outcomes
			all.compare(t, got)
		})
	}
}

// Models that do not fit are refused in a sentence.
func TestStochasticRefusals(t *testing.T) {
	zero := graph.Scalar(0)
	root := Root[*graph.Array]{PriorLogits: graph.Float32s([]float32{0, 1}), Value: zero, Embedding: zero}
	run := func(after Afterstate, step Step) error {
		return graph.Try(func() {
			RunStochastic(DefaultPUCT(4), graph.None{}, random.New(0), root,
				Stochastic[graph.None, *graph.Array, *graph.Array]{
					Decision: func(_ graph.None, _ random.Key, _, s *graph.Array) (Afterstate, *graph.Array) {
						return after, s
					},
					Chance: func(_ graph.None, _ random.Key, _, s *graph.Array) (Step, *graph.Array) {
						return step, s
					},
				})
		})
	}
	step := Step{Reward: zero, Discount: zero, Value: zero, PriorLogits: root.PriorLogits}
	after := Afterstate{root.PriorLogits, zero}
	require.NoError(t, run(after, step))
	require.ErrorContains(t, run(Afterstate{zero, zero}, step), "chance logits are f32[], want f32[outcomes]")
	require.ErrorContains(t, run(Afterstate{root.PriorLogits, nil}, step), "has no chance logits or no value")
	wide := Afterstate{root.PriorLogits, root.PriorLogits}
	require.ErrorContains(t, run(wide, step), "afterstate is f32[2], want f32[]")
	step.PriorLogits = zero
	require.ErrorContains(t, run(after, step), "the model's logits is f32[], want f32[2]")
}
