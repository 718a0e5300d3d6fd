package cli

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
)

// spoiled is a CartPole whose angle becomes NaN in step 3 where the cart started right of the middle.
type spoiled struct{ classic.CartPole }

func (e spoiled) Step(key random.Key, s classic.CartPoleState, action *graph.Array,
	p classic.CartPoleParams) (next classic.CartPoleState, obs, reward, terminated, truncated *graph.Array) {
	next, _, reward, terminated, truncated = e.CartPole.Step(key, s, action, p)
	next.Theta = graph.Add(next.Theta, graph.Log(graph.Select(graph.And(graph.Eq(next.Time, 3), graph.Gt(next.X, 0)),
		-1., 1.)))
	return next, e.Observe(next, p), reward, terminated, truncated
}

// registerSpoiled registers it once, however often its test runs.
var registerSpoiled = sync.OnceValue(func() error {
	return envs.Register("Spoiled-v0", func() envs.Environment { return envs.Erase(spoiled{}) })
})

func TestEvolveStopsAtTheFirstNaN(t *testing.T) {
	require.NoError(t, registerSpoiled())
	b := newBed(t)
	b.App.OpenBackend = openBackend
	require.Equal(t, StatusFailed, b.do("evolve", "Spoiled-v0", "--jit=false", "--pop", "8", "--steps", "5", "--policy",
		"mlp:4"))
	require.Regexp(
		t,
		`^xlarun evolve: generation 1: nan_test\.go:\d+: log: the first NaN appeared here, in step 3, `+
			`in member [0-7]; look at`, b.err.String())
	require.NoDirExists(t, "runs")
}

// The interpreter, which stops at the first NaN, runs a population by objectives. The differences of
// places without a member were NaN.
func TestPopulationByObjectivesHasNoNaN(t *testing.T) {
	b := newBed(t)
	b.App.OpenBackend = openBackend
	b.ok(t, "qd ZDT1-v0 --archive nsga2:8 --batch 4 --backend reference --env-param dimensions=4 -g 3 --out none")
}
