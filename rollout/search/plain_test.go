package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

// The plain search has mctx's trees too.
func TestPlainIsThatOfMctx(t *testing.T) {
	var v vectors
	require.NoError(t, oracles.Read("testdata/mctx_trees.json.gz", &v))
	next, reward, discount := v.Model["next"].Ints(), v.Model["reward"].Float32s(), v.Model["discount"].Float32s()
	logits, value := v.Model["logits"].Float32s(), v.Model["value"].Float32s()
	width := v.Model["next"].Shape[1]
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			a := c.Actions
			of := func(s int) []float32 { return logits[s*width : s*width+a] }
			p := Plain[int]{Policy: c.policy(), Step: func(s, action int) (float32, float32, []float32, float32, int) {
				at := s*width + action
				n := int(next[at])
				return reward[at], discount[at], of(n), value[n], n
			}}
			for g, start := range c.Start.Ints() {
				s := int(start)
				legal := make([]bool, a)
				for i := range legal {
					legal[i] = c.Invalid.Ints()[g*a+i] == 0
				}
				r := p.Run(PlainRoot[int]{State: s, PriorLogits: of(s), Value: value[s], Legal: legal,
					Noise: c.Noise.Float32s()[g*a : (g+1)*a]})
				nodes := c.Simulations + 1
				want := c.Visits.Ints()[g*nodes*a : g*nodes*a+a]
				for i, n := range want {
					require.EqualValues(t, n, r.Visits[i], "game %d, action %d", g, i)
					require.InDelta(t, c.Qvalues.Floats()[g*nodes*a+i], r.Values[i], 1e-5, "game %d, action %d", g, i)
				}
				require.InDelta(t, c.Values.Floats()[g*nodes], r.Value, 1e-5)
				if c.Policy == "gumbel" {
					require.EqualValues(t, c.Action.Ints()[g], r.Action)
				}
			}
		})
	}
}

// A tree without room for all nodes counts what it cannot keep: as the plain search does.
func TestFewerNodesThanSimulations(t *testing.T) {
	var v vectors
	require.NoError(t, oracles.Read("testdata/mctx_trees.json.gz", &v))
	m := tables(v.Model)
	next, reward, discount := v.Model["next"].Ints(), v.Model["reward"].Float32s(), v.Model["discount"].Float32s()
	logits, value := v.Model["logits"].Float32s(), v.Model["value"].Float32s()
	const a, simulations = 6, 40
	width := v.Model["next"].Shape[1]
	noise := []float32{.3, -.2, .5, .1, 0, .25}
	capacities := []int{1, 7}
	if long.On() {
		capacities = []int{1, 2, 7, 40, 41, 100}
	}
	for number, nodes := range capacities {
		gumbel := DefaultGumbel(simulations)
		puct := DefaultPUCT(simulations)
		gumbel.Nodes, puct.Nodes = nodes, nodes
		for _, policy := range []Policy{gumbel, puct} {
			p := Plain[int]{Policy: policy, Step: func(s, action int) (float32, float32, []float32, float32, int) {
				at := s*width + action
				n := int(next[at])
				return reward[at], discount[at], logits[n*width : n*width+a], value[n], n
			}}
			for _, interpreted := range []bool{false, true} {
				_, byPUCT := policy.(PUCT)
				if interpreted && nodes > 7 { // which takes a while
					continue
				}
				if !interpreted && !long.On() && (nodes == 1 || !byPUCT) {
					continue
				}
				f := func(m table, in lanes) found { return searchTable(policy, a, m, in) }
				var b xlabridge.Backend = client(t)
				if interpreted {
					b = &xlabridge.Reference{}
				}
				search := xlabridge.Jit2(b, f)
				for _, start := range []int{3, 17} {
					want := p.Run(PlainRoot[int]{State: start, PriorLogits: logits[start*width : start*width+a],
						Value: value[start], Noise: noise})
					in := lanes{graph.Of(int32(start)), graph.Gt(graph.Float32s(noise), -9), graph.Float32s(noise)}
					got, err := search(m, in)
					require.NoError(t, err)
					visits, err := graph.Floats(got.Visits)
					require.NoError(t, err)
					total := 0
					for i, n := range want.Visits {
						require.EqualValues(t, n, visits[i], "case %d, action %d", number, i)
						total += n
					}
					require.Equal(t, simulations, total)
				}
			}
		}
	}
}
