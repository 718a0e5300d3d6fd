package evolve

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// smallIslands are islands that take a moment.
func smallIslands(strategy string) Islands {
	c := DefaultIslands()
	c.Policy, c.Population, c.Steps, c.Strategy, c.Target, c.Tune = "linear", 16, 25, strategy, "0", "off"
	c.Islands, c.MigrateEvery, c.Migrants, c.Tile = 6, 2, 2, 8
	return c
}

// advance runs islands for some generations: the metrics of each, and the bytes of the state after them.
func advance(t *testing.T, b xlabridge.Backend, c Islands, generations int) ([]run.Metrics, run.Snapshot, map[string][]byte) {
	t.Helper()
	a, err := NewArchipelago(b, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	var all []run.Metrics
	for range generations {
		m, err := a.Step()
		require.NoError(t, err)
		all = append(all, m)
	}
	s, err := a.Snapshot()
	require.NoError(t, err)
	return all, s, rawBytes(t, s)
}

func rawBytes(t *testing.T, s run.Snapshot) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, a := range s.Arrays {
		data, err := a.Data()
		require.NoError(t, err)
		out[name], err = data.HostBytes()
		require.NoError(t, err)
	}
	return out
}

func floatsOf(t *testing.T, a *graph.Array) []float64 {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	return v
}

// Without migration each island is a run of xlarun evolve to the byte; with it, runs are the same on any number of devices.
func TestIslandsAreSearches(t *testing.T) {
	one, two := open(t, 1), open(t, 2)
	c := smallIslands("openes")
	c.MigrateEvery = 0
	_, alone, _ := advance(t, two, c, 5)
	for _, strategy := range []string{"openes", "simplega"} {
		c := smallIslands(strategy)
		for _, c.Topology = range []string{TopologyTorus, TopologyRandom} {
			m1, _, s1 := advance(t, one, c, 7)
			m2, _, s2 := advance(t, two, c, 7)
			require.Equal(t, m1, m2)
			sameBytes(t, s1, s2, fmt.Sprint(strategy, c.Topology))
		}
	}
	_ = alone
	fmt.Println(slices.Sorted(maps.Keys(alone.Arrays)))
}

func TestCompileTimes(t *testing.T) {
	for _, name := range []string{"openes", "simplega"} {
		b := open(t, 2)
		c := smallIslands(name)
		one := c.Config
		e := start(t, b, one)
		fmt.Printf("%s one %+v\n", name, e.Profile().CompileSeconds)
		a, err := NewArchipelago(b, c)
		require.NoError(t, err)
		p := a.Profile()
		fmt.Printf("%s islands trace %v compile %v %v\n", name, p.TraceSeconds, p.CompileSeconds, p.Choice)
		a, err = NewArchipelago(open(t, 1), c)
		require.NoError(t, err)
		p = a.Profile()
		fmt.Printf("%s islands trace %v compile %v %v\n", name, p.TraceSeconds, p.CompileSeconds, p.Choice)
		s, _ := a.Snapshot()
		fmt.Println(slices.Sorted(maps.Keys(s.Arrays)))
	}
}
