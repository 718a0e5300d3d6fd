package evolve

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/pool"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// An island that cannot share its folder, or whose name is not free, was refused only after the backend
// was opened and the generation compiled. A resumed island goes on under the name that it has.
func TestIslandIsRefusedBeforeTheBackendOpens(t *testing.T) {
	dir := t.TempDir()
	file, shared := filepath.Join(dir, "file"), filepath.Join(dir, "shared")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	taken := pool.New(shared, "taken")
	require.NoError(t, os.MkdirAll(shared, 0o777))
	require.NoError(t, taken.Open(t.Context()))
	defer func() { require.NoError(t, taken.Close()) }()
	require.NoError(t, os.MkdirAll(filepath.Join(shared, "migration_pool", "island-left", "gen-3"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "migration_pool", "island-blocked"), nil, 0o666))
	opened := errors.New("the backend was opened")
	for _, c := range []struct {
		name, dir, island string
		resumed           bool
		key, want         string // "": the backend is opened
	}{
		{"a file", file, "a", false, "migration-dir", "a folder that can be written to"},
		{"below a file", filepath.Join(file, "x"), "a", false, "migration-dir", "a folder that can be written to"},
		{"resumed, with a file", file, "a", true, "migration-dir", "a folder that can be written to"},
		{"a file in the island's place", shared, "blocked", false, "migration-dir", "in which the island can write"},
		{"a name in use", shared, "taken", false, "refused", `another run, which is under way, is island "taken"`},
		{"resumed, with a name in use", shared, "taken", true, "refused", "another run, which is under way"},
		{"a name with members", shared, "left", false, "island", "has members of an earlier run"},
		{"resumed, with members", shared, "left", true, "", ""},
		{"a missing parent", filepath.Join(dir, "new", "deep"), "a", false, "", ""},
	} {
		config := DefaultConfig()
		config.MigrationDir, config.Island, config.MigrateEvery = c.dir, c.island, 2
		o := session.Options{Kind: run.Kind{Name: "evolve", Unit: "generation", Round: "generation", Version: 1},
			Experiment: &config,
			Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
				return nil, opened
			}}
		if c.resumed {
			folder, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{})
			require.NoError(t, err, c.name)
			o.Folder, o.Resume = folder, &runfolder.Checkpoint{}
		}
		_, err := session.Run(context.Background(), o)
		if c.key == "" {
			assert.ErrorIs(t, err, opened, c.name)
			continue
		}
		if c.key == messaging.CodeRefused {
			var refused *messaging.CodedError
			require.ErrorAs(t, err, &refused, c.name)
			assert.Equal(t, c.key, refused.Code, c.name)
			assert.Contains(t, refused.Text, c.want, c.name)
			continue
		}
		wrong, ok := err.(*settings.Error)
		if assert.True(t, ok, "%s: %v", c.name, err) {
			assert.Equal(t, c.key, wrong.Key, c.name)
			assert.Contains(t, wrong.Error(), c.want, c.name)
		}
	}
}

// Profile played an island's generations into the folder that the islands share. The other islands took
// its members, and the island could not begin any more.
func TestAnIslandAloneSharesNothing(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "shared")
	c := DefaultConfig()
	c.Policy, c.Population, c.Steps, c.Tune = "linear", 8, 3, "off"
	c.Island, c.MigrationDir, c.MigrateEvery, c.Migrants = "a", shared, 1, 1
	b := &xlabridge.Reference{}
	alone, err := c.StartAlone(t.Context(), b)
	require.NoError(t, err)
	for range 2 {
		_, err := alone.Step(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, alone.Close())
	require.NoDirExists(t, shared)
	island, err := c.Start(t.Context(), b)
	require.NoError(t, err)
	_, err = island.Step(t.Context())
	require.NoError(t, err)
	require.NoError(t, island.Close())
	require.DirExists(t, filepath.Join(shared, "migration_pool", "island-a", "gen-1"))
}

// An island says what it has joined, as a host does: it said nothing of its server.
func TestAnIslandSaysWhatItHasJoined(t *testing.T) {
	t.Parallel()
	c := smallRun(nil)
	c.Join, c.MigrateEvery, c.Migrants = keepingServer(t)+"/try", 1, 1
	var said []string
	c.caller = &run.Job{Phase: func(text string) { said = append(said, text) }}
	for _, island := range []string{"a", "b"} {
		c.Island = island
		r, err := New(t.Context(), &xlabridge.Reference{}, c)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
	}
	require.Equal(t, []string{"joined " + c.Join + " as island a: 0 other islands",
		"joined " + c.Join + " as island b: 1 other island"}, said)
}

// Members were not exchanged if the same network was given in other words, and were exchanged between
// networks of other settings.
func TestIslandsCompareNetworks(t *testing.T) {
	network := func(text string, own settings.Values) string {
		c := DefaultConfig()
		c.Policy = text
		for name, value := range own {
			c.Search = c.Search.With("policy."+name, value)
		}
		text, err := c.network()
		require.NoError(t, err)
		return text
	}
	for _, c := range []struct {
		policy string
		own    settings.Values
		want   string
	}{
		{"mlp", nil, "mlp"},
		{"mlp:16,16", nil, "mlp"},
		{"mlp", settings.Values{"hidden": "16,16", "activation": "tanh"}, "mlp"},
		{"mlp:16,16", settings.Values{"activation": "relu"}, "mlp activation=relu"},
		{"mlp:8", nil, "mlp hidden=8"},
		{"mlp", settings.Values{"hidden": "8"}, "mlp hidden=8"},
	} {
		assert.Equal(t, c.want, network(c.policy, c.own), "%s %v", c.policy, c.own)
	}
}

// unbent is a policy without parameters.
type unbent struct{ policy.Stateless[graph.None] }

func (unbent) Make(envs.Space, int) (policy.Policy, error)       { return policy.Erase(unbent{}), nil }
func (unbent) Traits() (t policy.Traits[graph.None, graph.None]) { return t }
func (unbent) Init(random.Key) graph.None                        { return graph.None{} }
func (unbent) Act(_, none graph.None, _ *graph.Array, _ random.Key) (graph.None, policy.Output) {
	return none, policy.Output{Action: graph.Zeros(graph.ShapeOf(graph.Float32, 2))}
}

// A policy without parameters was a panic in xlarun's own code.
func TestAPolicyWithoutParametersIsRefused(t *testing.T) {
	policy.MustRegister("test-unbent", &unbent{})
	for _, strategy := range []string{"openes", "simplega", "eggroll"} {
		c := DefaultConfig()
		c.Policy, c.Strategy = "test-unbent", strategy
		require.EqualError(t, c.Check(plan.Machine{Devices: 1}), "policy: got \"test-unbent\", want a policy with "+
			"parameters, which a search changes: its Init returns none", strategy)
	}
}

// The descent of all islands is the mean of this one's and of what the newest entries of the others say. It was to be
// summed by hand from the files of all runs.
func TestDescentOfAllIslands(t *testing.T) {
	dir := t.TempDir()
	for name, shares := range map[string]map[string]float64{"b": {"b": .5, "a": .5}, "c": {"b": 1}, "d": nil} {
		other := pool.New(dir, name)
		require.NoError(t, other.Open(t.Context()))
		require.NoError(t, other.Leave(3, pool.Entry{Genomes: graph.Zeros(graph.ShapeOf(graph.Float32, 1, 2)),
			Fitness: graph.Float32s([]float32{1}), Descent: graph.Float32s([]float32{1}, 1, 1), Shares: shares},
			[]string{name}))
		require.NoError(t, other.Close())
	}
	p := pooled{pool: pool.New(dir, "a"), shares: map[string]float64{"a": .25, "c": .75}}
	require.Len(t, p.pool.Arrive(5, 2, rand.New(rand.NewPCG(1, 2))), 3)
	require.Equal(t, map[string]float64{"a": .25, "b": .5, "c": .25}, p.ofAll(),
		"d, of an earlier version, says nothing")
}
