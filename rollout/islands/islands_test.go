package islands

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runtest"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// smallIslands returns a short experiment.
func smallIslands(strategy string) Islands {
	c := DefaultIslands()
	c.Policy, c.Population, c.Steps, c.Strategy, c.Target, c.Tune = "linear", 16, 25, strategy, "0", "off"
	c.Islands, c.MigrateEvery, c.Migrants, c.Tile, c.EvalEvery = 6, 2, 2, 8, 3
	return c
}

func archipelago(t *testing.T, b xlabridge.Backend, c Islands) *Archipelago {
	t.Helper()
	a, err := NewArchipelago(t.Context(), b, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

var of, sameBytes, rawBytes = runtest.Number, runtest.SameBytes, runtest.Bytes

// advance runs some generations, and returns their metrics and the last state.
func advance(t *testing.T, r run.Run, generations int) ([]run.Metrics, run.Snapshot) {
	return runtest.Steps(t, r, generations), runtest.Snapshot(t, r)
}

func floatsOf(t *testing.T, s run.Snapshot, name string) []float64 {
	t.Helper()
	require.Contains(t, s.Arrays, name)
	v := graphtest.Floats(t, s.Arrays[name])
	return v
}

// exploring returns an experiment whose tiles are long enough to be counted.
func exploring() Islands {
	c := smallIslands("openes")
	c.Topology, c.Explore, c.Policy, c.Steps = TopologyTorus, 3, "mlp:32", 450
	return c.With("strategy.sigma", "0.05..0.5")
}

// Runs of islands, each with its own sigma, are equal to the byte on any number of devices, and after a resume. The
// short form has two devices, on which TestGolden of cmd/xlarun keeps the bytes.
func TestIslandsOnDevices(t *testing.T) {
	devices := 2
	if long.On() {
		devices = 1
	}
	c := exploring()
	one, two := archipelago(t, xlatest.Open(t, devices), c), archipelago(t, xlatest.Open(t, 2), c)
	require.Equal(t, 2, two.Profile().Devices)
	m1, s1 := advance(t, one, 7)
	_, middle := advance(t, two, 3)
	_, _ = advance(t, two, 4)
	require.NoError(t, two.Restore(t.Context(), middle))
	m2, s2 := advance(t, two, 4)
	require.Equal(t, m1[3:], m2)
	sameBytes(t, rawBytes(t, s1), rawBytes(t, s2), "devices and resume")
	sigma := floatsOf(t, middle, "each.strategy.sigma")
	require.Equal(t, 6, len(sigma))
	require.NotEqual(t, sigma, floatsOf(t, s1, "each.strategy.sigma"), "they have explored")
	for i, x := range (settings.Number{Value: .05, Each: "0.05..0.5"}).Several(6, "strategy.sigma", 0) {
		require.Equal(t, float64(float32(x)), sigma[i])
	}
	for _, v := range m1[6].Values {
		require.Contains(t, c.Measures(), v.Name, "what a study may ask for")
	}
	taken := of(t, m1[6], "immigrants")
	require.Positive(t, taken)
	foreign := of(t, m1[6], "foreign")
	require.Positive(t, foreign)
	for i, row := range [][]float64{floatsOf(t, s1, "lanes.migration.descent")[:6]} { // shares are of sum 1
		sum := 0.
		for _, x := range row {
			sum += x
		}
		require.InDelta(t, 1, sum, 1e-5, "island %d", i)
	}
	files, err := two.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	require.Equal(t, "islands.json", files[0].Name)
	text, err := json.Marshal(files[0].JSON)
	require.NoError(t, err)
	var written struct {
		Descent []float64
		Islands []struct{ Descent []float64 }
	}
	require.NoError(t, json.Unmarshal(text, &written))
	for from, share := range written.Descent { // the mean of the islands', which was to be summed by hand
		sum := 0.
		for _, of := range written.Islands {
			sum += of.Descent[from]
		}
		require.InDelta(t, sum/6, share, 1e-9)
	}
	require.Len(t, written.Descent, 6)
	candidates, err := two.Candidates(s2)
	require.NoError(t, err)
	require.Len(t, candidates, 2)
	hall, err := two.HallEntries(s2)
	require.NoError(t, err)
	require.Len(t, hall, 4)
	sampled, err := c.Remake(xlatest.Open(t, 1), s2, []int{0, 95})
	require.NoError(t, err)
	require.Len(t, sampled, 2)
}

// With noise too small to matter, every genome is still that of a founder, so that the genome shows its descent. The
// reported descent equals it. Without migration it is the own island, with migration it is not.
func TestDescentIsWhereGenomesComeFrom(t *testing.T) {
	b := &xlabridge.Reference{}
	for _, every := range []int{0, 2} {
		c := smallIslands("simplega")
		c.MigrateEvery, c.Topology = every, TopologyRandom
		c = c.With("strategy.sigma", 1e-6)
		a := archipelago(t, b, c)
		_, before := advance(t, a, 0)
		founders := floatsOf(t, before, "lanes.strategy.elites") // [6, 8, n]
		m, s := advance(t, a, 12)
		elites, descent := floatsOf(t, s, "lanes.strategy.elites"), floatsOf(t, s, "lanes.migration.descent")
		n := len(elites) / 6 / 8
		foreign, seen := 0, map[int]bool{}
		for i := range 6 * 8 {
			nearest, least := -1, math.Inf(1)
			for j := range 6 {
				d := 0.
				for k := range n {
					x := elites[i*n+k] - founders[j*8*n+k]
					d += x * x
				}
				if d < least {
					nearest, least = j, d
				}
			}
			require.Less(t, least, 1e-6, "genome %d is nobody's", i)
			for j := range 6 {
				want := 0.
				if j == nearest {
					want = 1
				}
				require.Equal(t, want, descent[i*6+j], "every %d: genome %d and island %d", every, i, j)
			}
			seen[nearest] = true
			if nearest != i/8 {
				foreign++
			}
		}
		last := m[len(m)-1]
		require.InDelta(t, float64(foreign)/48, of(t, last, "foreign"), 1e-6)
		if every == 0 {
			require.Zero(t, foreign)
			require.Zero(t, of(t, last, "immigrants"))
			require.Len(t, seen, 6)
			continue
		}
		require.Positive(t, foreign, "migration does nothing")
		require.Greater(t, len(seen), 1, "all come from one")
		require.Positive(t, of(t, last, "immigrants"))
	}
}

// Immigrants change the search of every receiving strategy, from the generation after their arrival on, and no number
// becomes NaN.
func TestImmigrantsMoveTheSearch(t *testing.T) {
	b := &xlabridge.Reference{}
	for _, name := range generation.Receiving() {
		c := smallIslands(name)
		c.Islands, c.Population, c.Steps, c.Tile, c.Migrants, c.EvalEnvs = 3, 8, 16, 8, 2, 0
		rounds := 2
		if slices.Contains([]string{"annealing", "gradientless", "hillclimbing"}, name) {
			c.Steps, rounds = 64, 8 // an immigrant moves them only if it is the best of a generation
		}
		var states [2][]map[string]string
		for i, every := range []int{0, 2} {
			c.MigrateEvery = every
			a := archipelago(t, b, c)
			for range 2 {
				_, s := advance(t, a, 1)
				states[i] = append(states[i], rawBytes(t, s))
			}
			_, s := advance(t, a, rounds)
			states[i] = append(states[i], rawBytes(t, s))
			for array, x := range s.Arrays {
				if !strings.HasPrefix(array, "lanes.strategy.") || !x.DType().IsFloat() {
					continue
				}
				for _, v := range floatsOf(t, s, array) {
					require.False(t, math.IsNaN(v), "%s: %s", name, array)
				}
			}
		}
		moved := false
		for array := range states[0][0] {
			for step := range 2 {
				require.Equal(t, states[0][step][array], states[1][step][array], "%s: %s in generation %d", name, array,
					step+1)
			}
			moved = moved || strings.HasPrefix(array, "lanes.strategy.") && states[0][2][array] != states[1][2][array]
		}
		require.True(t, moved, "%s: migration does nothing", name)
	}
}

// An island that explores continues the search of a better island with another sigma. Other islands do not change.
func TestWorstIslandsExplore(t *testing.T) {
	b := &xlabridge.Reference{}
	c := smallIslands("openes")
	c.Islands, c.Population, c.Steps, c.Tile, c.MigrateEvery, c.Migrants = 5, 8, 20, 8, 0, 1
	c = c.With("strategy.sigma", "0.1..0.5")
	still := archipelago(t, b, c)
	c.Explore = 3
	moving := archipelago(t, b, c)
	_, before := advance(t, still, 3)
	_, same := advance(t, moving, 3)
	sameBytes(t, rawBytes(t, before), rawBytes(t, same), "before they explore")
	means := floatsOf(t, before, "mean")
	best, worst := 0, 0
	for i, m := range means {
		if m > means[best] {
			best = i
		}
		if m <= means[worst] {
			worst = i
		}
	}
	require.NotEqual(t, best, worst)
	_, plain := advance(t, still, 1)
	_, moved := advance(t, moving, 1)
	sigma, now, descent := floatsOf(t, before, "each.strategy.sigma"), floatsOf(t, moved, "each.strategy.sigma"),
		floatsOf(t, moved, "lanes.migration.descent")
	for i := range 5 {
		if i != worst {
			require.Equal(t, sigma[i], now[i], "island %d", i)
			require.Equal(t, 1., descent[i*5+i], "island %d", i)
			n := 10
			require.Equal(t, floatsOf(t, plain, "lanes.strategy.mean")[i*n:(i+1)*n],
				floatsOf(t, moved, "lanes.strategy.mean")[i*n:(i+1)*n])
			continue
		}
		require.Equal(t, 1., descent[i*5+best], "the worst descends from the best")
		up, down := min(sigma[best]*1.25, slices.Max(sigma)), max(sigma[best]/1.25, slices.Min(sigma))
		require.True(t, math.Abs(now[i]-up) < 1e-6 || math.Abs(now[i]-down) < 1e-6, "sigma %v of %v", now[i],
			sigma[best])
	}
	_, err := c.Remake(b, moved, []int{worst * 8})
	require.NoError(t, err)
}

// Grids are as square as possible and closed at their ends, and neighbors are neighbors of each other.
func TestTorus(t *testing.T) {
	for _, c := range []struct {
		number, islands int
		what            string
		of0             []int
	}{
		{1, 9, "three by three", []int{2, 1, 6, 3}},
		{2, 6, "two by three", []int{2, 1, 3}},
		{3, 5, "a ring of a prime number", []int{4, 1}},
		{4, 2, "two", []int{1}},
	} {
		require.Equal(t, c.of0, torus(c.islands, 0), "case %d: %s", c.number, c.what)
		for i := range c.islands {
			for _, j := range torus(c.islands, i) {
				require.Contains(t, torus(c.islands, j), i)
			}
		}
	}
}

// On a ring, members come from the island before; in a random topology, from any other island. They never come from the
// island itself.
func TestNeighbors(t *testing.T) {
	c := smallIslands("openes")
	from, rank := c.neighbors(random.New(1), graph.Of(int32(4)))
	require.Equal(t, "[5 5 0 0 1 1 2 2 3 3 4 4] [0 1 0 1 0 1 0 1 0 1 0 1]", fmt.Sprint(ints(t, from), ints(t, rank)))
	c.Topology = TopologyRandom
	seen := map[int]bool{}
	for generation := range 40 {
		from, _ := c.neighbors(random.New(1), graph.Of(int32(generation)))
		for i, j := range ints(t, from) {
			require.NotEqual(t, i/2, j)
			require.True(t, j >= 0 && j < 6)
			seen[i/2*6+j] = true
		}
	}
	require.Len(t, seen, 30, "every island sends to every other")
}

func ints(t *testing.T, a *graph.Array) (all []int) {
	t.Helper()
	v := graphtest.Floats(t, a)
	for _, x := range v {
		all = append(all, int(x))
	}
	return all
}

// Settings that islands cannot have do not exist.
func TestSettingsOfOneSearchOnly(t *testing.T) {
	c := DefaultIslands()
	names := settings.Names(&c)
	for _, name := range []string{"restarts", "max-population", "island", "migration-dir", "patience",
		"min-improvement", "normalize-observations"} {
		require.NotContains(t, names, name)
	}
	require.Contains(t, names, "migrate-every")
	for _, name := range c.Measures() { // a study would fail all trials for a metric that only some generations have
		require.NotContains(t, []string{"failed_generation", "failed_members", "failed_member", "failed_step"}, name)
	}
}

// Wrong settings of islands are refused with the setting's name.
func TestIslandsRefuse(t *testing.T) {
	for _, c := range []struct {
		number int
		what   string
		change func(c *Islands)
		key    string
	}{
		{1, "one island", func(c *Islands) { c.Islands = 1 }, "islands"},
		{2, "a strategy whose members nobody can take in", func(c *Islands) { c.Strategy = "eggroll" }, "strategy"},
		{3, "more migrants than half of the pairs", func(c *Islands) { c.Migrants = 5 }, "migrants"},
		{6, "a range that leaves what the setting takes", func(c *Islands) {
			*c = c.With("strategy.sigma", "-1..1")
		}, "strategy.sigma"},
		{7, "no topology", func(c *Islands) { c.Topology = "star" }, "topology"},
		{9, "a list of texts", func(c *Islands) { *c = c.With("strategy.sigma", "1,x") }, "strategy.sigma"},
		{11, "nothing to explore", func(c *Islands) { c.Explore = 5 }, "explore-every"},
		{10, "more shares than fit", func(c *Islands) {
			c.Strategy, c.Population, c.Islands = "de", 4096, 1024
		}, "islands"},
	} {
		of := smallIslands("openes")
		c.change(&of)
		err := of.Check(plan.Machine{Devices: 2, CPU: true})
		var wrong *settings.Error
		require.ErrorAs(t, err, &wrong, "case %d: %s", c.number, c.what)
		require.Equal(t, c.key, wrong.Key, "case %d: %s: %v", c.number, c.what, err)
	}
}
