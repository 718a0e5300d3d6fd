package evolve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// Each two features work together, and a run that has both goes on from a snapshot to the same numbers; or one of them
// is refused by the sentence of the table.
func TestPairsOfFeatures(t *testing.T) {
	t.Parallel()
	server := keepingServer(t)
	dir := t.TempDir()
	on := map[string]func(c *Config, name string){
		"validation-target": func(c *Config, _ string) {
			c.Target, c.ValidationTarget, c.ValidationEpisodes, c.ValidationSteps = "0.01", 3, 1, 3
		},
		"patience": func(c *Config, _ string) { c.Patience = 1 },
		"restarts": func(c *Config, _ string) { c.Restarts = RestartsIPOP },
		"grow": func(c *Config, _ string) {
			small := cramped()
			c.Grow, c.Env, c.Policy, c.Strategy, c.Parted = true, small.Env, small.Policy, small.Strategy, small.Parted
		},
		"island": func(c *Config, name string) {
			c.Island, c.MigrationDir, c.MigrateEvery, c.Migrants = name, dir, 1, 1
		},
		"join":                   func(c *Config, name string) { c.Join, c.MigrationDir = server+"/"+name, "" },
		"normalize-observations": func(c *Config, _ string) { c.NormalizeObservations = true },
	}
	with := func(name string, features ...string) Config {
		c := DefaultConfig()
		c.Env, c.Policy, c.Population, c.Tile, c.Steps, c.Tune = "CartPole-v1", "linear", 8, 4, 3, "off"
		c.Strategy, c.Target = "simplega", "0"
		for _, p := range parts { // --join after --island, whatever the order of the pair
			if slices.Contains(features, p.setting) {
				on[p.setting](&c, name)
			}
		}
		return c
	}
	refusal := func(a, b string) string {
		for _, x := range conflicts {
			if x.setting == a && x.other == b || x.setting == b && x.other == a {
				return x.wants
			}
		}
		if a == "grow" && b == "island" { // the strategy refuses
			return "want a strategy that takes members in"
		}
		return ""
	}
	b := &xlabridge.Reference{}
	begin := func(c Config) *Evolution {
		r, err := New(t.Context(), b, c)
		require.NoError(t, err)
		return r
	}
	values := func(r *Evolution) string {
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		return fmt.Sprint(m.Values, m.Done, m.Stalled)
	}
	for i, one := range parts {
		for _, other := range parts[:i] {
			name := other.setting + "-" + one.setting
			c := with(name, one.setting, other.setting)
			if wants := refusal(other.setting, one.setting); wants != "" {
				require.ErrorContains(t, c.Check(plan.MachineOf(b, 1)), wants, name)
				continue
			}
			r := begin(c)
			values(r)
			s, err := r.Snapshot(t.Context())
			require.NoError(t, err, name)
			want := values(r)
			require.NoError(t, r.Close(), name)
			if c.hosted() {
				c.Join += "-resumed"
			}
			r = begin(c)
			require.NoError(t, r.Restore(t.Context(), s), name)
			require.Equal(t, want, values(r), name)
			require.NoError(t, r.Close(), name)
		}
		c := with("lane", one.setting)
		if wants := refusal(one.setting, lane); wants != "" {
			_, err := c.VectorizedCost()
			require.ErrorContains(t, err, wants, one.setting)
		} else {
			_, err := c.VectorizedCost()
			require.NoError(t, err, one.setting)
		}
	}
}

// A search that starts again after it has grown keeps the capacity, and its best members with it. The run goes on from
// each of its snapshots to the same numbers.
func TestGrownSearchStartsAgain(t *testing.T) {
	c := cramped()
	c.Restarts, c.Population, c.MaxPopulation = RestartsIPOP, 20, 40
	begin := func() *Evolution { return start(t, &xlabridge.Reference{}, c) }
	r := begin()
	growth, again := featureOf[*growing](r), featureOf[*restarting](r)
	for len(growth.capacity) == 0 {
		_, err := r.Step(t.Context())
		require.NoError(t, err)
		require.Less(t, r.Steps(), int64(20))
	}
	capacity := growth.capacity
	require.NoError(t, again.restart(t.Context(), r, r.Steps()))
	require.Equal(t, capacity, growth.capacity)
	require.Equal(t, 40, r.Config().Population)
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	members, err := r.Candidates(s)
	require.NoError(t, err)
	require.NotEmpty(t, members)
	for _, m := range steps(t, r, 2) {
		require.Equal(t, 40., m.Number("population"))
	}
	resumed := begin()
	require.NoError(t, resumed.Restore(t.Context(), s))
	steps(t, resumed, 2)
	sameBytes(t, bytesOf(t, r), bytesOf(t, resumed), "restored with its capacity")
	made, err := c.Remake(&xlabridge.Reference{}, s, []int{39})
	require.NoError(t, err)
	require.Len(t, made, 1)
}

// A run that goes on after a restart has the seed of the search of then, also if no other population follows:
// validations draw their episodes by it.
func TestResumedSearchHasItsSeed(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Population, c.Steps, c.Tune = "linear", 8, 3, "off"
	c.Strategy, c.Restarts, c.MaxPopulation = "sepcmaes", RestartsIPOP, 8
	r := start(t, &xlabridge.Reference{}, c)
	require.NoError(t, featureOf[*restarting](r).restart(t.Context(), r, 0))
	require.NotEqual(t, c.Seed, r.Config().Seed)
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	resumed := start(t, &xlabridge.Reference{}, c)
	require.NoError(t, resumed.Restore(t.Context(), s))
	require.Equal(t, r.Config().Seed, resumed.Config().Seed)
	require.Len(t, resumed.searches, 1)
}
