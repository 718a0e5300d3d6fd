package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// evalUpdates returns the state and the metrics of each of n updates of one agent, computed by the interpreter: nothing
// is compiled.
func evalUpdates(t *testing.T, g *program, n int) (states []State, metrics []map[string]float64) {
	t.Helper()
	in := g.inputs(population.CutTiles(1, 1, 1))
	s := evaluated(t, g.starts(random.New(g.config.Seed), 1))
	for range n {
		next, row := evaluated(t, graph.PairOf(g.updateStep(s, in))).Unpack()
		m := map[string]float64{}
		for i, x := range floatsOf(t, row)[:len(g.metricNames())] {
			m[g.metricNames()[i]] = x
		}
		states, metrics, s = append(states, next), append(metrics, m), next
	}
	return states, metrics
}

// smallProgram returns the program of small settings.
func smallProgram(t *testing.T, change func(c *Config)) *program {
	t.Helper()
	c := small(change)
	g, err := c.program()
	require.NoError(t, err)
	return g
}

// cutInTwo returns shards of two tiles on one device.
func cutInTwo(environments int) shards {
	s := shards{population.CutTiles(environments, environments/2, 1), population.CutTiles(2, 1, 1)}
	s.Envs.Alone, s.Rows.Alone = true, true
	return s
}
