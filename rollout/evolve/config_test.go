package evolve

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func TestBadConfigs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"unknown environment", func(c *Config) { c.Env = "CartPol-v1" },
			`env: got "CartPol-v1", want one of ` + strings.Join(envs.IDs(), ", ") + `; did you mean CartPole-v1?`},
		{"unknown policy", func(c *Config) {
			c.Policy = "mlpp:16"
		},
			`policy: got "mlpp:16", want one of ` + strings.Join(policy.Names(), ", ") + `; did you mean mlp?`},
		{"no sizes", func(c *Config) { c.Policy = "mlp:" },
			`policy: got "mlp:", want the hidden layers' sizes, whole numbers from 1 to 16777216 between commas, ` +
				`as in "mlp:16,16"`},
		{"linear with sizes", func(c *Config) {
			c.Policy = "linear:4"
		}, `policy: got "linear:4", want "linear": this policy takes nothing after a colon`},
		{"unknown strategy", func(c *Config) {
			c.Strategy = "OpenEs"
		},
			`strategy: got "OpenEs", want one of annealing, ars, asebo, cmaes, crfmnes, de, diffusion, ` +
				`eggroll, gesmrga, gradientless, guidedes, hillclimbing, iamalgam, iamalgamu, lmmaes, maes, mr15ga, ` +
				`neat, nres, openes, pes, pgpe, pso, randomsearch, rmes, samrga, sepcmaes, simplega, snes, svcmaes, ` +
				`xnes; did you mean openes?`},
		{"odd population", func(c *Config) { c.Population = 257 },
			`pop: got 257, want an even number from 2 to 16777216: openes samples its members in groups of 2`},
		{"no steps", func(c *Config) { c.Steps = 0 }, `steps: got 0, want a whole number from 1 to 16777216`},
		{"odd tile", func(c *Config) { c.Tile = 3 },
			`tile: got 3, want an even number from 0 to 16777216, 0 for the default: openes samples its members in ` +
				`groups of 2`},
		{"no learning rate", func(c *Config) {
			*c = c.With("strategy.learning-rate", 0)
		}, `strategy.learning-rate: got 0, want a number above 0 that a float32 holds`},
		{"setting of another", func(c *Config) { *c = c.With("strategy.std-learning-rate", 1) },
			`strategy.std-learning-rate: got a value, want one of the settings that the strategy openes has: ` +
				`strategy.learning-rate, strategy.sigma, strategy.sigma-decay, strategy.shaping, ` +
				`strategy.weight-decay; did you mean strategy.learning-rate?`},
		{"too few for differences", func(c *Config) {
			c.Strategy, c.Population = "de", 3
		}, `pop: got 3, want a whole number from 4 to 16777216: de needs 4 members at least`},
		{"nobody to compare with", func(c *Config) { c.Strategy, c.Population = "cmaes", 1 },
			`pop: got 1, want a whole number from 2 to 16777216: cmaes needs 2 members at least`},
		{"setting of nothing", func(c *Config) {
			*c = c.With("head.sigma", 1)
		}, `head.sigma: got 1, want strategy.NAME or policy.NAME`},
		{"target", func(c *Config) {
			c.Target = "many"
		}, `target: got "many", want a mean return, 0 for none, or auto for the environment's`},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := DefaultConfig()
			c.change(&config)
			err := config.Check(plan.Machine{})
			require.EqualError(t, err, c.want)
			require.IsType(t, &settings.Error{}, err)
			_, err = New(t.Context(), &xlabridge.Reference{}, config)
			require.EqualError(t, err, c.want)
		})
	}
	config := DefaultConfig()
	require.NoError(t, config.Check(plan.Machine{}))
}

func TestMoreDevicesThanThereAre(t *testing.T) {
	c := DefaultConfig()
	c.Devices = 3
	require.NoError(t, c.Check(plan.Machine{}))
	_, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.EqualError(t, err, "devices: got 3, want at most the 1 that the backend was opened with")
}

func TestMemoryIsCheckedBeforeAnything(t *testing.T) {
	for _, c := range []struct {
		population int
		policy     string
		free       int64
		want       string
	}{
		{1 << 24, "mlp:16,16", 1 << 30,
			`pop: got 16777216, want a run that fits in memory: 16777216 members of 386 parameters take about 1.5 ` +
				`GiB, which is more than the 1.0 GiB that is free; the largest population that fits is 11182904`},
		{256, "mlp:65536,65536", 16 << 30,
			`policy: got "mlp:65536,65536", want a run that fits in memory: 256 members of 4295491586 parameters ` +
				`take about 1.7 TiB, which is more than the 16.0 GiB that is free; no population fits: allow more, ` +
				`or make the networks smaller`},
		{1 << 24, "mlp:16777216,16777216,16777216,16777216,16777216", 1 << 50,
			`policy: got "mlp:16777216,16777216,16777216,16777216,16777216", want a run that fits in memory: ` +
				`16777216 members of 1125900091392002 parameters take about 428.0 PiB, which is more than ` +
				`the 1.0 PiB that is free; no population fits: allow more, or make the networks smaller`},
	} {
		t.Run(fmt.Sprint(c.population, c.policy), func(t *testing.T) {
			config := DefaultConfig()
			config.Population, config.Policy, config.Tile = c.population, c.policy, 32
			_, err := config.setup(plan.Machine{Devices: 1, Free: c.free})
			require.EqualError(t, err, c.want)
			require.IsType(t, &settings.Error{}, err)
		})
	}
	config := DefaultConfig()
	x, err := config.setup(plan.Machine{Devices: 1})
	require.NoError(t, err)
	need, ok := x.Memory()
	require.True(t, ok)
	require.Less(t, need, int64(16<<20))
	for free, redrawn := range map[int64]bool{need: false, need - 1: true} {
		x.Machine.Free = free
		require.NoError(t, x.Fit())
		require.Equal(t, redrawn, x.Regenerate)
	}
	x.Machine.Free = 1 << 16
	require.ErrorContains(t, x.Fit(), "256 members of 386 parameters take about")
}

// The largest population in an error fits on the devices of the run, and one that is larger by a whole tile
// does not.
func TestLargestPopulationThatFits(t *testing.T) {
	for _, policy := range []string{"mlp:16,16", "mlp:512,512", "linear"} {
		for _, devices := range []int{1, 2, 8} {
			on := plan.Machine{Devices: devices, CPU: true, Free: 20 << 30}
			c := DefaultConfig()
			c.Population, c.Policy = 1<<24, policy
			err := c.Check(on)
			if err == nil {
				continue // all fit
			}
			most := regexp.MustCompile(`the largest population that fits is (\d+)$`).FindStringSubmatch(err.Error())
			require.Len(t, most, 2, err.Error())
			c.Population, err = strconv.Atoi(most[1])
			require.NoError(t, err)
			require.NoError(t, c.Check(on), "%s on %d devices", policy, devices)
			c.Population += c.Population/4&^1 + 256
			require.Error(t, c.Check(on), "%s on %d devices: %d", policy, devices, c.Population)
		}
	}
}
