package ppo

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// traced returns the update of a program.
func traced(t *testing.T, g *program, err error) *graph.Program {
	t.Helper()
	require.NoError(t, err)
	args := []any{g.starts(random.New(g.config.Seed), 1), g.inputs(population.CutTiles(1, 1, 1))}
	p, err := graph.TraceArgs("update", args, graph.TraceOptions{Replicas: 1}, func(args []any) any {
		return graph.PairOf(g.updateStep(args[0].(State), args[1].(inputs)))
	})
	require.NoError(t, err)
	return p
}

// Settings that are numbers are inputs: other numbers have the same program. A divergence that ends updates is another
// program.
func TestNumbersDoNotCompile(t *testing.T) {
	text := func(g *program, err error) string {
		l, err := lower.Lower(traced(t, g, err), graph.TargetCPU)
		require.NoError(t, err)
		return l.StableHLO
	}
	ppo := func(change func(c *Config)) string {
		c := small(change)
		return text(c.program())
	}
	want := ppo(nil)
	require.Equal(t, want, ppo(func(c *Config) {
		c.LearningRate, c.Gamma, c.Lambda, c.Clip, c.Entropy = settings.Num(.1), settings.Num(.5), settings.Num(.3),
			settings.Num(.4), settings.Num(.2)
		c.ValueWeight, c.MaxGradNorm, c.Steps, c.Seed = settings.Num(3), settings.Num(9), 640, 7
	}))
	stops := func(kl float64) func(c *Config) { return func(c *Config) { c.TargetKL = settings.Num(kl) } }
	require.Equal(t, ppo(stops(.1)), ppo(stops(.2)))
	require.NotEqual(t, want, ppo(stops(.1)))
	plain, low, high := small(nil), small(stops(.1)), small(stops(.2))
	require.Equal(t, low.Programs(), high.Programs())
	require.NotEqual(t, plain.Programs(), low.Programs())
	require.NotEqual(t, plain.Purpose(), low.Purpose())

	pqn := func(change func(q *PQN)) string {
		q := smallPQN(change)
		return text(q.program())
	}
	require.Equal(t, pqn(nil), pqn(func(q *PQN) {
		q.Epsilon, q.EpsilonEnd, q.EpsilonOver, q.RewardScale, q.Lambda, q.MaxGradNorm = settings.Num(.5),
			settings.Num(.2), settings.Num(.7), settings.Num(2), settings.Num(.1), settings.Num(1)
	}))
}

// The value head is chosen when the program is traced: none has a branch more than another.
func TestHeadsHaveNoBranches(t *testing.T) {
	branches := func(head string) int {
		c := small(func(c *Config) { c.Value = head })
		g, err := c.program()
		return countOps(traced(t, g, err).Graph, "switch", "while")
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
	for kl, want := range map[float64]float64{1e-7: 4, 1e3: 8} {
		_, m := evalUpdates(t, smallProgram(t, func(c *Config) {
			c.TargetKL, c.LearningRate, c.Epochs = settings.Num(kl), settings.Num(.01), 2
		}), 1)
		require.Equal(t, want, m[0]["minibatches"], kl)
	}
}
