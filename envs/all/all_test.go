package all_test

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
)

// Every environment that comes with xlarun keeps what its Spec and the interfaces promise, in the short form for the
// first 50 steps.
func TestEveryEnvironmentKeepsItsSpec(t *testing.T) {
	require.Subset(t, envs.IDs(), []string{"Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0",
		"Pendulum-v1",
		"CartPoleSwingUp-Easy-v1", "CartPoleSwingUp-Hard-v1",
		"Asterix-MinAtar-v1", "Breakout-MinAtar-v1", "Freeway-MinAtar-v1", "Seaquest-MinAtar-v1",
		"SpaceInvaders-MinAtar-v1",
		"Catch-bsuite-v1", "DeepSea-bsuite-v1", "DiscountingChain-bsuite-v1", "MemoryChain-bsuite-v1",
		"UmbrellaChain-bsuite-v1",
		"Clique-14-4-v1", "Clique-6-3-v1", "Clique-avoid-6-3-v1", "ConnectFour-v1", "Hex-v1", "Othello-v1",
		"Ramsey-5-3-v1", "TicTacToe-v1",
		"BernoulliBandit-misc-v1", "FourRooms-misc-v1", "Reacher-misc-v1", "Swimmer-misc-v1", "TMaze-v1", "Gather-v1",
		"Lander-v1", "SimpleBandit-bsuite-v1", "GaussianBandit-misc-v1", "PointRobot-misc-v1", "FrozenLake-misc-v1",
		"Pong-misc-v1", "MetaMaze-misc-v1"})
	usual := debug.SetGCPercent(400) // the interpreter's garbage takes a fifth of the time
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	for _, id := range interpreted() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			env := made(t, id)
			require.Equal(t, id, env.Spec().ID)
			steps := 50
			if long.On() {
				steps = 1000
			}
			if slices.Contains(mechanical, id) {
				steps /= 25
			}
			if slices.Contains(crawling, id) {
				steps = 1
			}
			require.NoError(t, envtest.CheckSteps(env, steps))
		})
	}
}

// Every environment can be drawn: after a few steps the picture has more than one color. Draw refuses values that
// are not a state of one member.
func TestEveryEnvironmentDraws(t *testing.T) {
	for _, id := range interpreted() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			env := made(t, id)
			d := envs.TraitsOf(env).Draw
			require.NotNil(t, d)
			params := env.DefaultParams()
			played := func(key random.Key) any {
				state, _ := env.Reset(key, params)
				state, _ = graph.Scan(func(state any, i *graph.Array) (any, graph.None) {
					k := random.FoldIn(key, i)
					state, _, _, _, _ = env.Step(k, state, env.Spec().Action.Sample(k), params)
					return state, graph.None{}
				}, state, graph.Iota(steps(env)))
				return state
			}
			p, err := graph.Trace("played", played, random.New(4))
			require.NoError(t, err)
			leaves, err := p.Interpret(graph.Leaves(random.New(4)), nil)
			require.NoError(t, err)
			state := p.OutTree().Unflatten(leaves)

			size := image.Pt(240, 180)
			img, err := d(state, size)
			require.NoError(t, err)
			colors := map[color.Color]bool{}
			for y := range size.Y {
				for x := range size.X {
					colors[img.At(x, y)] = true
				}
			}
			require.Greater(t, len(colors), 2)
			if dir := os.Getenv("XLARUN_PICTURES"); dir != "" { // to look at them
				f, err := os.Create(filepath.Join(dir, id+".png"))
				require.NoError(t, err)
				require.NoError(t, png.Encode(f, img))
				require.NoError(t, f.Close())
			}

			_, err = d(3, size)
			require.ErrorContains(t, err, "cannot draw a int as "+id)
			_, err = d(state, image.Pt(0, 180))
			require.ErrorContains(t, err, "0 x 180 pixels")
			_, err = d(graph.MapTree(func(a *graph.Array) *graph.Array {
				return a.BroadcastTo(append([]int{3}, a.Dims()...)...)
			}, state), size)
			require.ErrorContains(t, err, "one member of the population")
			_, err = d(graph.MapTree(func(a *graph.Array) *graph.Array {
				return graph.Abstract(a.Shape())
			}, state), size)
			require.ErrorContains(t, err, "no value")
		})
	}
}

// steps is how far an environment is played before it is drawn: not to the end.
func steps(env envs.Environment) int {
	if id := env.Spec().ID; slices.Contains(mechanical, id) || slices.Contains(crawling, id) {
		return 1
	}
	if env.Spec().ID == "Seaquest-MinAtar-v1" || env.Spec().ID == "Asterix-MinAtar-v1" {
		return 42
	}
	return 5
}

// mechanical are MuJoCo's tasks, whose steps are thousands of ops for the interpreter, and crawling those of tens of
// thousands, which the long form plays alone.
var (
	mechanical = []string{"HalfCheetah-v5", "Hopper-v5", "InvertedDoublePendulum-v5", "InvertedPendulum-v5",
		"Pusher-v5", "Reacher-v5", "Swimmer-v5", "Walker2d-v5"}
	crawling = []string{"Ant-v5", "Humanoid-v5", "HumanoidStandup-v5"}
)

// interpreted are the registered environments that tests play on the interpreter.
func interpreted() []string {
	return slices.DeleteFunc(envs.IDs(), func(id string) bool { return slices.Contains(crawling, id) && !long.On() })
}

// made is an environment, a mechanical one with steps of one substep.
func made(t *testing.T, id string) envs.Environment {
	env, err := envs.Make(id)
	require.NoError(t, err)
	if slices.Contains(mechanical, id) || slices.Contains(crawling, id) {
		env, err = envs.TraitsOf(env).Resize("frame-skip", 1)
		require.NoError(t, err)
	}
	return env
}
