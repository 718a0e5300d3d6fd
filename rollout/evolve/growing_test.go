package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// cramped is NEAT whose genomes have room for one more node and a few more connections, and get new ones often.
func cramped() Config {
	c := DefaultConfig()
	c.Env, c.Policy, c.Strategy, c.Population, c.Steps = "XOR-v0", "genome", "neat", 40, 4
	c.Tune, c.Grow, c.Target = "off", true, "0"
	c = c.With("policy.nodes", 5).With("policy.connections", 8)
	return c.With("strategy.node-rate", .2).With("strategy.connection-rate", .1)
}

// A run whose genomes are full moves to more capacity: arrays are longer, and the networks are the same. It goes on
// from a snapshot of any capacity to the same bytes; in the long form with compiled programs on one device and on two.
func TestGrow(t *testing.T) {
	const last = 6
	start := func(devices int) run.Run {
		c := cramped()
		c.Tile = 16
		var b xlabridge.Backend = &xlabridge.Reference{}
		if long.On() {
			c.Devices, b = devices, xlatest.Open(t, devices)
		}
		r, err := c.Start(t.Context(), b)
		require.NoError(t, err)
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	whole := start(1)
	var metrics []run.Metrics
	snapshots := []run.Snapshot{}
	for range last {
		m, err := whole.Step(t.Context())
		require.NoError(t, err)
		s, err := whole.Snapshot(t.Context())
		require.NoError(t, err)
		metrics, snapshots = append(metrics, m), append(snapshots, s)
	}
	nodes := func(i int) float64 { return of(t, metrics[i], capacityNodes) }
	require.Equal(t, 5., nodes(0))
	require.Greater(t, nodes(last-1), 5.)
	grew := -1
	for i, m := range metrics[:last-1] {
		moved := nodes(i+1) != nodes(i) || of(t, metrics[i+1], capacityConnections) != of(t, m, capacityConnections)
		require.Equal(t, of(t, m, "refused_mutations") > 0, moved, "generation %d", m.Step)
		require.Equal(t, moved, len(m.Notices) == 1)
		if moved && grew < 0 { // after the generation with the number i+1
			grew = i
		}
	}
	require.Positive(t, grew)

	for at, devices := range map[int]int{grew - 1: 2, grew: 1} {
		again := start(devices)
		require.NoError(t, again.Restore(t.Context(), snapshots[at]))
		for i := at + 1; i < last; i++ {
			m, err := again.Step(t.Context())
			require.NoError(t, err)
			require.Equal(t, metrics[i].Values, m.Values, "generation %d, from %d", i+1, at+1)
		}
		end, err := again.Snapshot(t.Context())
		require.NoError(t, err)
		require.Len(t, end.Arrays, len(snapshots[last-1].Arrays))
		for name, a := range snapshots[last-1].Arrays {
			want, err := graph.Floats(a.Convert(graph.Float64))
			require.NoError(t, err)
			got, err := graph.Floats(end.Arrays[name].Convert(graph.Float64))
			require.NoError(t, err)
			require.Equal(t, want, got, "%s from %d", name, at)
		}
	}

	// The state that moves stands for the same networks.
	c := cramped()
	r, err := c.Rollout()
	require.NoError(t, err)
	network := r.Policy.Traits().Genotype
	again := start(1).(*Evolution)
	growth := featureOf[*growing](again)
	require.NoError(t, again.Restore(t.Context(), snapshots[grew-1]))
	held := again.features
	again.features = nil
	_, err = again.Step(t.Context())
	again.features = held
	require.NoError(t, err)
	documents := func() (all []genome.Document) {
		s, err := again.Snapshot(t.Context())
		require.NoError(t, err)
		members, err := again.Candidates(s)
		require.NoError(t, err)
		hall, err := again.HallEntries(s)
		require.NoError(t, err)
		for _, f := range hall {
			members = append(members, f.Candidate)
		}
		for _, m := range members {
			d, err := network.Document(m.Params.(genome.Genome))
			require.NoError(t, err)
			all = append(all, d)
		}
		return all
	}
	before := documents()
	_, err = growth.grow(t.Context(), again)
	require.NoError(t, err)
	require.NotEmpty(t, growth.capacity)
	require.Equal(t, before, documents())

	// Members of each capacity can be read, and the settings that they need with them.
	for i, s := range snapshots {
		members, err := whole.Describe().Members.Candidates(s)
		require.NoError(t, err)
		g := members[1].Params.(genome.Genome)
		d, err := network.Document(g)
		require.NoError(t, err)
		capacity := r.Policy.Traits().Sizes(g)
		require.LessOrEqual(t, len(d.Nodes), capacity["nodes"])
		if i+1 < last {
			require.EqualValues(t, of(t, metrics[i+1], capacityNodes), capacity["nodes"])
		}
	}
}

// Where members cannot grow, --grow is refused with a sentence.
func TestGrowRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"a policy of one size": {func(c *Config) { c.Policy, c.Strategy, c.Parted = "mlp:4", "openes", nil },
			"members of openes keep their size"},
		"hosts": {func(c *Config) { c.Join = "nats://localhost:1/x" }, "no --join"},
	} {
		config := cramped()
		c.change(&config)
		require.ErrorContains(t, config.Check(plan.Machine{Devices: 1, Cores: 1, CPU: true}), c.want, name)
	}
	lanes := cramped()
	_, err := lanes.VectorizedCost()
	require.ErrorContains(t, err, "vectorized searches have one program")
}

// Where the next size needs more memory than there is, the run says so once and goes on with its size.
func TestGrowStopsAtTheMemory(t *testing.T) {
	c := cramped()
	b := &xlabridge.Reference{} // which compiles nothing, so that only the estimate counts
	setup, err := c.setup(plan.MachineOf(b, 1))
	require.NoError(t, err)
	bytes, ok := setup.Memory()
	require.True(t, ok)
	c.Memory = settings.Bytes(bytes)
	r, err := c.Start(t.Context(), b)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	var notices []string
	for range 6 {
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		require.Equal(t, 5., of(t, m, capacityNodes))
		notices = append(notices, m.Notices...)
	}
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "genomes are full and stay as they are")
	require.Contains(t, notices[0], "memory")
}
