package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/xlatest"
)

// The reward of Gather is the proxy, which decoys raise. Without decoys it is the true return.
func TestProxyMetrics(t *testing.T) {
	for decoys, most := range map[string]float64{"0": 0, "0.3": 100} {
		_, m := evalUpdates(t, smallProgram(t, func(c *Config) {
			c.Env, c.Envs, c.Horizon, c.Epochs, c.Minibatches = "Gather-v1", 4, 16, 1, 1
			c.EnvParam = settings.Pairs{"decoys": decoys, "max-steps": "8"}
		}), 1)
		require.Positive(t, m[0]["episodes"])
		require.InDelta(t, m[0]["mean_return"], m[0]["proxy_return"], 1e-4, "the reward is the proxy")
		require.InDelta(t, m[0]["true_return"], m[0]["proxy_return"], most+1e-4)
		require.Equal(t, most > 0, m[0]["proxy_return"] > m[0]["true_return"]+1e-3, "decoys %s: %v", decoys, m[0])
	}
}

// As examples/gather-proxy-ppo.toml learns, the proxy and the true return come ever further apart, until more reward
// means little more of what is meant.
func TestProxyComesApart(t *testing.T) {
	long.Only(t)
	c := DefaultConfig()
	c.EvalEnvs = 0
	c.Env, c.Policy, c.Shared, c.Envs, c.Horizon, c.LearningRate, c.Steps, c.Target = "Gather-v1", "mlp:64", true, 64,
		128, settings.Num(1e-3), 64*128*122, "0"
	c.EnvParam = settings.Pairs{"decoys": "0.1"}
	var proxy, truth []float64
	for _, m := range steps(t, start(t, xlatest.Open(t, 1), c), 60) {
		proxy, truth = append(proxy, of(t, m, "proxy_return")), append(truth, of(t, m, "true_return"))
	}
	of3 := func(x []float64, at int) float64 { return (x[at] + x[at+1] + x[at+2]) / 3 }
	gap := func(at int) float64 { return of3(proxy, at) - of3(truth, at) }
	require.Greater(t, gap(0), 2.)
	require.Greater(t, gap(5), gap(0)+.3)
	require.Greater(t, gap(57), gap(5)+.5)
	require.Greater(t, of3(proxy, 57), of3(proxy, 0)+3)
	require.Greater(t, of3(proxy, 57)-of3(proxy, 21), 2*(of3(truth, 57)-of3(truth, 21)))
}
