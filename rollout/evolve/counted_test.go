package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The tiles of each generation are counted, by a counter of each run's own, and no byte of the state depends on it. The
// short form leaves that to the bytes of TestGolden in cmd/xlarun.
func TestTilesAreCounted(t *testing.T) {
	const generations = 3
	small := func(change func(c *Config)) Config {
		c := DefaultConfig()
		c.Population, c.Tile, c.Steps, c.Policy, c.Target, c.Tune = 48, 8, 300, "mlp:16,16", "0", "off"
		change(&c)
		return c
	}
	for _, row := range []struct {
		name    string
		devices int
		config  Config
	}{
		{"one device", 1, small(func(c *Config) {})},
		{"several devices, the last tiles are padding", 4, small(func(c *Config) {
			c.Population, c.Policy, c.HallOfFame = 72, "mlp:64", "0"
		})},
		{"a tile for each device", 2, small(func(c *Config) { c.Tile = 24 })},
		{"large matrices", 2, small(func(c *Config) { c.Policy, c.Steps = "mlp:64,64", 30 })},
		{"noise that is drawn twice", 2, small(func(c *Config) { c.Strategy = "pgpe" })},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.devices != 4 { // it counts as the others do
				long.Only(t)
			}
			b := xlatest.Open(t, row.devices)
			e, other := start(t, b, row.config), start(t, b, row.config)
			total := int64(e.program.Groups.Used())
			for g := range generations {
				_, err := e.Step(t.Context())
				require.NoError(t, err)
				begun := total
				if row.config.EvalDue(int64(g + 1)) {
					begun += int64(e.program.Groups.ExtraTiles())
				}
				require.Equal(t, begun, e.Counter().Begun(), "generation %d", g+1)
			}
			done, of, name := e.Counter().Done()
			if row.devices == int(total) {
				require.Zero(t, of, "nothing can be told of a tile for each device")
			} else {
				require.Equal(t, []any{total - int64(row.devices), total, "tiles"}, []any{done, of, name})
			}
			require.Zero(t, other.Counter().Begun(), "runs are counted apart")
			if long.On() {
				counted := bytesOf(t, e)
				delete(counted, "env_steps") // which the loop of uncounted does not add up
				require.Equal(t, bytesOf(t, uncounted(t, b, other, generations)), counted)
			}
		})
	}
	short := start(t, &xlabridge.Reference{}, small(func(c *Config) { c.Steps = 20 }))
	require.Nil(t, short.Counter(), "a tile of a few microseconds is not counted")
	none := start(t, &xlabridge.Reference{}, small(func(c *Config) {
		c.Population, c.Tile, c.Steps, c.Devices, c.Policy = 4, 4, 500, 1, "mlp:64"
	}))
	require.NotNil(t, none.Counter())
	_, err := none.Step(t.Context())
	require.NoError(t, err)
	done, total, _ := none.Counter().Done()
	require.Zero(t, done+total, "the interpreter counts nothing")
}

// uncounted runs generations of an evolution by a program that counts nothing.
func uncounted(t *testing.T, b xlabridge.Backend, e *Evolution, generations int) *Evolution {
	t.Helper()
	x := e.setup
	loop, err := run.NewLoop(b, run.LoopOptions{Name: "generation", Plan: x.Layout}, e.program.Start(e.config.key()),
		x.Inputs(x.Groups.PerDevice), e.program.Run)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, loop.Close()) })
	for range generations {
		_, err := loop.Numbers()
		require.NoError(t, err)
	}
	counted := *e.search
	counted.Loop = loop
	return &Evolution{search: &counted, config: e.config}
}
