package ppo

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Settings that are numbers are inputs: other ones are the same program. A divergence that ends updates is another one.
func TestNumbersDoNotCompile(t *testing.T) {
	b := open(t)
	text := func(change func(c *Config)) string {
		l, err := start(t, b, small(change)).Compiled().Program.Lower(graph.TargetCPU)
		require.NoError(t, err)
		return l.StableHLO
	}
	want := text(nil)
	require.Equal(t, want, text(func(c *Config) {
		c.LearningRate, c.Gamma, c.Lambda, c.Clip, c.Entropy = settings.Num(.1), settings.Num(.5), settings.Num(.3), settings.Num(.4), settings.Num(.2)
		c.ValueWeight, c.MaxGradNorm, c.Steps, c.Seed = settings.Num(3), settings.Num(9), 640, 7
	}))
	stops := func(kl float64) func(c *Config) { return func(c *Config) { c.TargetKL = settings.Num(kl) } }
	require.Equal(t, text(stops(.1)), text(stops(.2)))
	require.NotEqual(t, want, text(stops(.1)))
	plain, some, other := small(nil), small(stops(.1)), small(stops(.2))
	require.Equal(t, some.Programs(), other.Programs())
	require.NotEqual(t, plain.Programs(), some.Programs())
	require.NotEqual(t, plain.Purpose(), some.Purpose())
}

// The value head is chosen when the program is traced: none has a branch more than another.
func TestHeadsHaveNoBranches(t *testing.T) {
	b := open(t)
	branches := func(head string) int {
		return countOps(start(t, b, small(func(c *Config) { c.Value = head })).Compiled().Program.Graph, "switch", "while")
	}
	plain := branches("plain")
	require.Equal(t, plain, branches("popart"))
	require.Equal(t, plain, branches("twohot"))
}

func countOps(g *graph.Graph, names ...string) (n int) {
	for _, node := range g.Nodes {
		if slices.Contains(names, node.Op.Name) {
			n++
		}
		for _, body := range node.Bodies {
			n += countOps(body, names...)
		}
	}
	return n
}

// A divergence that is reached ends the update after the epoch that reached it.
func TestStopsByDivergence(t *testing.T) {
	b := open(t)
	m := steps(t, start(t, b, small(func(c *Config) { c.TargetKL, c.LearningRate = settings.Num(1e-7), settings.Num(.01) })), 1)[0]
	require.EqualValues(t, 4, of(t, m, "minibatches"), "one epoch of four")
	m = steps(t, start(t, b, small(func(c *Config) { c.TargetKL, c.LearningRate = settings.Num(1e3), settings.Num(.01) })), 1)[0]
	require.EqualValues(t, 16, of(t, m, "minibatches"))
}
