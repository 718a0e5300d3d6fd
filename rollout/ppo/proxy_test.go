package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/settings"
)

// As examples/gather-proxy-ppo.toml learns, what it is paid and what is meant come ever further apart; without decoys they are one. XLARUN_LONG=1: until more pay means
// little more of what is meant.
func TestProxyComesApart(t *testing.T) {
	b := open(t)
	learn := func(decoys string) *Training {
		c := DefaultConfig()
		c.Env, c.Policy, c.Shared, c.Envs, c.Horizon, c.LearningRate, c.Steps, c.Target = "Gather-v1", "mlp:64", true, 64, 128, settings.Num(1e-3), 64*128*122, "0"
		c.EnvParam = settings.Pairs{"decoys": decoys}
		return start(t, b, c)
	}
	updates := 14
	if long() {
		updates = 60
	}
	r := learn("0.1")
	var paid, meant []float64
	for _, m := range steps(t, r, updates) {
		paid, meant = append(paid, of(t, m, "proxy_return")), append(meant, of(t, m, "true_return"))
		require.InEpsilon(t, of(t, m, "mean_return"), of(t, m, "proxy_return"), 1e-4, "it is paid the proxy")
	}
	of3 := func(x []float64) float64 { return (x[0] + x[1] + x[2]) / 3 }
	gap := func(at int) float64 { return of3(paid[at:]) - of3(meant[at:]) }
	for _, at := range []int{0, 5, min(21, updates-3), updates - 3} {
		t.Logf("updates from %d: paid %.2f, meant %.2f", at+1, of3(paid[at:]), of3(meant[at:]))
	}
	require.Greater(t, gap(0), 2.)
	require.Greater(t, gap(5), gap(0)+.3)
	require.Greater(t, gap(updates-3), gap(5)+.5)
	require.Greater(t, of3(paid[updates-3:]), of3(paid)+3)
	if long() { // by now more pay means little more of what is meant
		require.Greater(t, of3(paid[updates-3:])-of3(paid[21:]), 2*(of3(meant[updates-3:])-of3(meant[21:])))
	}
	for _, m := range steps(t, learn("0"), 1) {
		require.InDelta(t, of(t, m, "true_return"), of(t, m, "proxy_return"), 1e-4)
	}
}
