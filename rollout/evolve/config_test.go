package evolve

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge"
)

func TestBadConfigs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"unknown environment", func(c *Config) { c.Env = "CartPol-v1" },
			`Env: got "CartPol-v1", want one of Acrobot-v1, CartPole-v1, MountainCar-v0, MountainCarContinuous-v0, Pendulum-v1; did you mean CartPole-v1?`},
		{"no environment", func(c *Config) { c.Env = "" },
			`Env: got "", want one of Acrobot-v1, CartPole-v1, MountainCar-v0, MountainCarContinuous-v0, Pendulum-v1`},
		{"unknown policy", func(c *Config) { c.Policy = "mlpp:16" }, `Policy: got "mlpp:16", want one of linear, mlp; did you mean mlp?`},
		{"no sizes", func(c *Config) { c.Policy = "mlp" },
			`Policy: got "mlp:", want the hidden layers' sizes, whole numbers from 1 to 16777216 between commas, as in "mlp:16,16"`},
		{"size 0", func(c *Config) { c.Policy = "mlp:16,0" },
			`Policy: got "mlp:16,0", want the hidden layers' sizes, whole numbers from 1 to 16777216 between commas, as in "mlp:16,16"`},
		{"linear with sizes", func(c *Config) { c.Policy = "linear:4" }, `Policy: got "linear:4", want no sizes: "linear", or "mlp:" and sizes`},
		{"unknown strategy", func(c *Config) { c.Strategy = "OpenEs" }, `Strategy: got "OpenEs", want one of openes, pgpe, simplega; did you mean openes?`},
		{"no population", func(c *Config) { c.Population = 0 }, `Population: got 0, want an even number from 2 to 16777216`},
		{"negative population", func(c *Config) { c.Population = -4 }, `Population: got -4, want an even number from 2 to 16777216`},
		{"odd population", func(c *Config) { c.Population = 257 },
			`Population: got 257, want an even number from 2 to 16777216: openes samples its members in groups of 2`},
		{"endless population", func(c *Config) { c.Population = math.MaxInt }, `Population: got 9223372036854775807, want an even number from 2 to 16777216`},
		{"no steps", func(c *Config) { c.Steps = 0 }, `Steps: got 0, want a whole number from 1 to 16777216`},
		{"negative episodes", func(c *Config) { c.Episodes = -1 }, `Episodes: got -1, want a whole number from 1 to 65536`},
		{"no generations", func(c *Config) { c.Generations = 0 }, `Generations: got 0, want a whole number from 1 to 1073741823`},
		{"negative devices", func(c *Config) { c.Devices = -1 }, `Devices: got -1, want a whole number from 0 to 1024, 0 for the default`},
		{"odd tile", func(c *Config) { c.Tile = 3 },
			`Tile: got 3, want an even number from 0 to 16777216, 0 for the default: openes samples its members in groups of 2`},
		{"no learning rate", func(c *Config) { c.LearningRate = 0 }, `LearningRate: got 0, want a number above 0 that a float32 holds`},
		{"unroll", func(c *Config) { c.Unroll = 65 }, `Unroll: got 65, want a whole number from 0 to 64, 0 for the default`},
		{"unknown tuner", func(c *Config) { c.Tune = "quik" }, `Tune: got "quik", want one of auto, off, quick, full; did you mean quick?`},
		{"unknown keys", func(c *Config) { c.Keys = "devices" }, `Keys: got "devices", want one of global, device; did you mean device?`},
		{"negative memory", func(c *Config) { c.Memory = -1 }, `Memory: got -1, want a number of bytes, 0 for what is free`},
		{"no number", func(c *Config) { c.Sigma = math.NaN() }, `Sigma: got NaN, want a number above 0 that a float32 holds`},
		{"infinite", func(c *Config) { c.SigmaDecay = math.Inf(1) }, `SigmaDecay: got +Inf, want a number above 0 that a float32 holds`},
		{"too small", func(c *Config) { c.Sigma = 1e-60 }, `Sigma: got 1e-60, want a number above 0 that a float32 holds`},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := DefaultConfig()
			c.change(&config)
			err := config.Check()
			require.EqualError(t, err, c.want)
			require.IsType(t, &ConfigError{}, err)
			_, err = New(&xlabridge.Reference{}, config)
			require.EqualError(t, err, c.want)
		})
	}
	require.NoError(t, DefaultConfig().Check())
}

func TestMoreDevicesThanThereAre(t *testing.T) {
	c := DefaultConfig()
	c.Devices = 3
	require.NoError(t, c.Check())
	_, err := New(&xlabridge.Reference{}, c)
	require.EqualError(t, err, "Devices: got 3, want at most the 1 that the backend was opened with")
}

func TestMemoryIsCheckedBeforeAnything(t *testing.T) {
	for _, c := range []struct {
		population int
		policy     string
		free       int64
		want       string
	}{
		{1 << 24, "mlp:16,16", 1 << 30, `Population: got 16777216, want a run that fits in memory: 16777216 members of 386 parameters take about 3.8 GiB and 1.0 GiB is free; the largest population that fits is 4459296`},
		{256, "mlp:65536,65536", 16 << 30, `Policy: got "mlp:65536,65536", want a run that fits in memory: 256 members of 4295491586 parameters take about 2.0 TiB and 16.0 GiB is free; make the policy smaller, no population fits`},
		{1 << 24, "mlp:16777216,16777216,16777216,16777216,16777216", 0, `Policy: got "mlp:16777216,16777216,16777216,16777216,16777216", want a run that fits in memory: 16777216 members of 1125900091392002 parameters take more than 4 EiB; make the policy smaller`},
	} {
		t.Run(fmt.Sprint(c.population, c.policy), func(t *testing.T) {
			config := DefaultConfig()
			config.Population, config.Policy, config.Tile = c.population, c.policy, 32
			_, err := config.plan(machine{devices: 1, free: c.free})
			require.EqualError(t, err, c.want)
			require.IsType(t, &ConfigError{}, err)
		})
	}
	config := DefaultConfig()
	p, err := config.plan(machine{devices: 1})
	require.NoError(t, err)
	need, ok := p.memory()
	require.True(t, ok)
	require.Less(t, need, int64(16<<20))
	require.NoError(t, p.fit(need))
	require.False(t, p.redraw)
	require.NoError(t, p.fit(need-1))
	require.True(t, p.redraw)
	require.ErrorContains(t, p.fit(1<<16), "256 members of 386 parameters take about")
}
