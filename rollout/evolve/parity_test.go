package evolve

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/levels"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// under is the small run on Forage-L0 that parity is judged by, with a dynamics.
func under(dynamics string) Config {
	c := DefaultConfig()
	c.Env, c.Policy, c.Steps, c.Population, c.Seed, c.Tune = "Forage-L0-v1", "spiking:16", 100, 256, 5, "off"
	return c.With("policy.dynamics", dynamics)
}

// genotypes are so many that Init draws.
func genotypes(t *testing.T, c Config, n int) []any {
	t.Helper()
	r, err := c.Rollout()
	require.NoError(t, err)
	var all []any
	for i := range n {
		p, err := graph.Eval(r.Policy.Init(random.FoldIn(random.New(9), i)))
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

// fitness is what members reach under a dynamics, the mean of so many episodes, the same for all.
func fitness(t *testing.T, b xlabridge.Backend, c Config, members []any, episodes int) []float64 {
	t.Helper()
	r, err := c.Rollout()
	require.NoError(t, err)
	j, err := episode.NewJudge(b, r, members[0], len(members), episodes, "parity")
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

func TestExploreParity(t *testing.T) {
	b := open(t, 1)
	names := strings.Split(os.Getenv("DYN"), ",")
	episodes := 32
	fmt.Sscan(os.Getenv("EPS"), &episodes)
	members := genotypes(t, under("fast"), 64)
	if g := os.Getenv("EVOLVE"); g != "" {
		c := under(g)
		gens := 30
		fmt.Sscan(os.Getenv("GENS"), &gens)
		e := start(t, b, c)
		for g := range gens {
			m, err := e.Step()
			require.NoError(t, err)
			if g%10 == 9 {
				t.Log(g, of(t, m, "mean_fitness"))
			}
		}
		s, err := e.Snapshot()
		require.NoError(t, err)
		cand, err := e.Candidates(s)
		require.NoError(t, err)
		for i := range 4 {
			members[i] = cand[0].Params
		}
	}
	var all [][]float64
	for _, n := range names {
		at := time.Now()
		all = append(all, fitness(t, b, under(n), members, episodes))
		f := all[len(all)-1]
		mean, sd := moments(f)
		line := fmt.Sprintf("%-28s %5.1fs mean %.2f sd %.2f evolved %.2f:", n, time.Since(at).Seconds(), mean, sd, f[0])
		for _, other := range all {
			line += fmt.Sprintf(" %.2f", spearman(f, other))
		}
		fmt.Println(line)
	}
	_ = policy.Names
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, sqrt(sd)
}

func sqrt(x float64) float64 { r := x/2 + .5; for range 60 { r = (r + x/r) / 2 }; return r }

// spearman is the correlation of ranks, those of equal numbers being the mean of theirs.
func spearman(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	ma, sa := moments(a)
	mb, sb := moments(b)
	sum := 0.
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb)
	}
	return sum / (sa * sb * float64(len(a)-1))
}

func ranks(x []float64) []float64 {
	r := make([]float64, len(x))
	for i := range x {
		for j := range x {
			if x[j] < x[i] {
				r[i]++
			} else if x[j] == x[i] {
				r[i] += .5
			}
		}
	}
	return r
}
