package evolve

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/levels"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// under returns a small run on Forage-L0, to compare dynamics.
func under(dynamics string) Config {
	c := DefaultConfig()
	c.Env, c.Policy, c.Steps, c.Population, c.Seed, c.Tune = "Forage-L0-v1", "spiking:16", 100, 256, 5, "off"
	return c.With("policy.dynamics", dynamics)
}

// genotypes returns 64 genotypes that a policy draws, the same for all dynamics.
func genotypes(t *testing.T) []any {
	t.Helper()
	c := under("fast")
	r, err := c.Rollout()
	require.NoError(t, err)
	var all []any
	for i := range 64 {
		p, err := graph.Eval(r.Policy.Init(random.FoldIn(random.New(9), i)))
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

// fitness returns the fitness of members under a dynamics, the mean of 32 episodes, the same for all.
func fitness(t *testing.T, b xlabridge.Backend, dynamics string, members []any) []float64 {
	t.Helper()
	c := under(dynamics)
	r, err := c.Rollout()
	require.NoError(t, err)
	j, err := episode.NewEvaluator(b, r, members[0], len(members), 32, "parity")
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	judged, err := j.Play(members, random.New(3))
	require.NoError(t, err)
	var all []float64
	for _, one := range judged {
		require.Zero(t, one.Failed)
		all = append(all, one.Mean)
	}
	return all
}

// evolved returns the mean of a search after some generations under a dynamics.
func evolved(t *testing.T, b xlabridge.Backend, dynamics string, generations int) any {
	t.Helper()
	e := start(t, b, under(dynamics))
	steps(t, e, generations)
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	candidates, err := e.Candidates(s)
	require.NoError(t, err)
	require.Equal(t, "mean", candidates[0].Name)
	return candidates[0].Params
}

// The second grade of parity: over 64 genotypes, fitness with currents and with conductances has a rank correlation of
// at least 0.8, with and without synaptic time constants.
func TestConductancesRankGenotypesAsCurrentsDo(t *testing.T) {
	long.Only(t)
	b, all := xlatest.Open(t, 1), genotypes(t)
	for _, m := range []string{"lif", "expif", "adex", "izhikevich", "hh"} {
		for _, kinds := range [][2]string{{":current", ":conductance"}, {"", ":shunt"}} {
			x, y := fitness(t, b, "mechanistic:"+m+kinds[0], all), fitness(t, b, "mechanistic:"+m+kinds[1], all)
			r := spearman(x, y)
			_, sx := spread(x)
			_, sy := spread(y)
			t.Logf("%s%s and %s: rank correlation %.3f; deviations of fitness %.1f and %.1f", m, kinds[0], kinds[1], r,
				sx, sy)
			if !(r >= .8) {
				t.Errorf("%s%s and %s: a rank correlation of %.2f, want .8", m, kinds[0], kinds[1], r)
			}
			require.Greater(t, min(sx, sy), 2., "genotypes that are all alike have no ranks")
		}
	}
}

// The third grade of parity: a member that evolved under one dynamics keeps at least 80 % of its gain over random
// genotypes under another one, fast and mechanistic, with currents and with conductances. Both dynamics of a pair have
// synaptic time constants, or neither: without them, a search does not see these genes. hh is compared only with
// itself: it cannot spike as often as fast:cubalif, and keeps 66 % of a gain from there (87 % from fast).
func TestEvolvedGenotypesKeepTheirGainUnderOtherDynamics(t *testing.T) {
	long.OnlyAll(t) // in short, TestConductancesRankGenotypesAsCurrentsDo compares the same dynamics
	b, random := xlatest.Open(t, 1), genotypes(t)
	const generations = 60
	pairs := [][2]string{{"fast:cubalif", "mechanistic:lif:conductance"}, {"mechanistic:lif:conductance",
		"fast:cubalif"}, {"fast", "mechanistic:lif:shunt"}}
	for _, m := range []string{"lif", "expif", "adex", "izhikevich", "hh"} {
		current, conductance := "mechanistic:"+m+":current", "mechanistic:"+m+":conductance"
		pairs = append(pairs, [][2]string{{"fast", "mechanistic:" + m}, {"fast", "mechanistic:" + m + ":shunt"},
			{"fast:cubalif", current}, {"fast:cubalif", conductance}, {current, conductance},
			{conductance, current}}...)
	}
	members, before := map[string]any{}, map[string]float64{}
	reached := func(dynamics string, member any) float64 {
		all := fitness(t, b, dynamics, append([]any{member}, random[1:]...))
		before[dynamics], _ = spread(all[1:])
		return all[0]
	}
	for _, p := range pairs {
		if members[p[0]] == nil {
			members[p[0]] = evolved(t, b, p[0], generations)
		}
		own, other := reached(p[0], members[p[0]]), reached(p[1], members[p[0]])
		gain := own - before[p[0]]
		kept := (other - before[p[1]]) / gain
		t.Logf("from %s to %s: %.1f (drawn: %.1f) and %.1f (drawn: %.1f), %.0f %% kept", p[0], p[1], own, before[p[0]],
			other, before[p[1]], 100*kept)
		require.Greater(t, gain, 10., p[0])
		ownKind := strings.Contains(p[0], ":hh") == strings.Contains(p[1], ":hh")
		if ownKind && !(kept >= .8) {
			t.Errorf("from %s to %s: %.0f %% of the gain are kept, want 80 %%", p[0], p[1], 100*kept)
		}
	}
}

// Members with plastic weights evolve, with other results than members with constant weights, and in the long form
// equal to the byte on one device and two.
func TestRewardedMembersEvolve(t *testing.T) {
	play := func(b xlabridge.Backend, devices int, plasticity string, generations int) []run.Metrics {
		c := under("fast").With("policy.plasticity", plasticity)
		c.Population, c.Steps, c.Tile, c.Devices = 8, 30, 4, devices
		return steps(t, start(t, b, c), generations)
	}
	reference := &xlabridge.Reference{}
	one, constant := play(reference, 1, "rewarded", 2), play(reference, 1, "none", 1)
	require.NotEqual(t, of(t, one[0], "mean_fitness"), of(t, constant[0], "mean_fitness"))
	require.False(t, math.IsNaN(of(t, one[1], "worst_fitness")))
	if long.On() {
		b := xlatest.Open(t, 2)
		require.Equal(t, play(b, 1, "rewarded", 2), play(b, 2, "rewarded", 2))
	}
}

// spread returns mean and standard deviation.
func spread(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(deviation)
}

// spearman returns the rank correlation. Equal numbers share the mean of their ranks.
func spearman(x, y []float64) float64 {
	rank := func(x []float64) []float64 {
		r := make([]float64, len(x))
		for i := range x {
			for j := range x {
				switch {
				case x[j] < x[i]:
					r[i]++
				case x[j] == x[i]:
					r[i] += .5
				}
			}
		}
		return r
	}
	a, b := rank(x), rank(y)
	meanA, deviationA := spread(a)
	meanB, deviationB := spread(b)
	sum := 0.
	for i := range a {
		sum += (a[i] - meanA) * (b[i] - meanB)
	}
	return sum / (deviationA * deviationB * float64(len(a)-1))
}

func TestSpearman(t *testing.T) {
	require.InDelta(t, 1, spearman([]float64{1, 2, 3, 9}, []float64{-5, 0, 1, 2}), 1e-12)
	require.InDelta(t, -1, spearman([]float64{1, 2, 3}, []float64{3, 2, 1}), 1e-12)
	require.InDelta(t, .8, spearman([]float64{1, 2, 3, 4}, []float64{1, 3, 2, 4}), 1e-12)
	require.InDelta(t, 3/math.Sqrt(10), spearman([]float64{1, 1, 2, 3}, []float64{1, 2, 3, 4}), 1e-12) // ties
}
