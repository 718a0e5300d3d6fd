package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/envtest"
	"xlarun/envs/process/simulated"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func TestMain(m *testing.M) {
	simulated.Main()
	os.Exit(m.Run())
}

// opened starts the program of the tests, which breaks the protocol in a step.
func opened(t *testing.T, way string, step int) envs.Environment {
	t.Helper()
	command := simulated.Command(way, step)
	Allow(command)
	env, err := envs.Make("exec:" + command)
	require.NoError(t, err)
	t.Cleanup(func() {
		commands.Lock()
		defer commands.Unlock()
		delete(commands.open, command)
	})
	return env
}

type transition struct{ Observation, Reward, Terminated, Truncated *graph.Array }

// choices is the number of actions.
func choices(env envs.Environment) int { return env.Spec().Action.(envs.Discrete).N }

// episode plays the actions in turn.
func episode(env envs.Environment, steps int) func(key random.Key) transition {
	return func(key random.Key) transition {
		params := env.DefaultParams()
		state, _ := env.Reset(key, params)
		_, all := graph.Scan(func(state any, i *graph.Array) (any, transition) {
			next, obs, reward, terminated, truncated := env.Step(key, state, i.Rem(choices(env)), params)
			return next, transition{obs, reward, terminated, truncated}
		}, state, graph.Iota(steps))
		return all
	}
}

// Episodes of a process under VMap and Scan equal a loop in Go, on the device and in the interpreter. After the
// end nothing changes.
func TestEpisodesEqualALoop(t *testing.T) {
	const members, steps = 7, 8
	env := opened(t, "", 0)
	keys := random.Split(random.New(3), members)
	bytes, err := graph.Eval(keys.Data)
	require.NoError(t, err)
	words, err := graph.HostBytes(bytes)
	require.NoError(t, err)
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, xlatest.Open(t, 1)} {
		all, err := xlabridge.Jit(b, graph.VMap(episode(env, steps)))(keys)
		require.NoError(t, err)
		floats := func(a *graph.Array) []float64 {
			v := graphtest.Floats(t, a.Convert(graph.Float32))
			return v
		}
		obs, rewards := floats(all.Observation), floats(all.Reward)
		terminated, truncated := floats(all.Terminated), floats(all.Truncated)
		for i := range members {
			e, over := simulated.Episode{Seed: int32(seedOf(words[8*i:]))}, false
			for k := range steps {
				at, reward, ends, limit := i*steps+k, float32(0), true, false
				if !over {
					reward, ends, limit = e.Step(int32(k % 3))
				}
				limit = limit || k+1 >= 5
				over = over || ends || limit
				require.Equal(t, []float64{float64(e.Observation()[0]), float64(e.Observation()[1])}, obs[2*at:2*at+2])
				require.Equal(t, []float64{float64(reward), float64(flag(ends)), float64(flag(limit))},
					[]float64{rewards[at], terminated[at], truncated[at]}, "member %d, step %d", i, k)
			}
		}
	}
}

// Under AutoReset, which resets in every step, episodes follow each other.
func TestAutoReset(t *testing.T) {
	env := opened(t, "", 0)
	require.NoError(t, envtest.First(env, env.DefaultParams()))
	require.True(t, env.Spec().Host)
	all, err := xlabridge.Jit(xlatest.Open(t, 1), graph.VMap(episode(envs.Erase(envs.AutoReset(env)), 20)))(
		random.Split(random.New(5), 4))
	require.NoError(t, err)
	obs := graphtest.Floats(t, all.Observation)
	ended := graphtest.Floats(t, all.Terminated.Or(all.Truncated).Convert(graph.Float32))
	for i := range 4 {
		time := 0.
		for k := range 20 {
			if time++; ended[20*i+k] == 1 {
				require.GreaterOrEqual(t, time, 3.)
				time = 0
			}
			require.Equal(t, time, obs[2*(20*i+k)+1], "member %d, step %d", i, k)
		}
	}
}

// A process that is dead, silent, or wrong is one sentence, each time.
func TestProcessesThatBreak(t *testing.T) {
	for way, want := range map[string]string{
		"dead":   "the process ended by exit status 3, its last words: the simulator exploded",
		"silent": "the process was silent for 500ms",
		"nan":    "the process gave element 1 of an observation that is NaN, after 2 steps of an episode, want finite",
		"reward": "the process gave a reward that is +Inf, after 2 steps of an episode, want finite numbers",
		"count":  "with 13 bytes, want 14: observations, rewards, terminated and truncated",
		"noise":  `the process answered a step with "step 2", want ok and the number of bytes: what it prints goes to`,
		"error":  "the process refused a step: there is no such action",
		"cut":    "the process ended",
	} {
		t.Run(way, func(t *testing.T) {
			env := opened(t, way, 2)
			for range 2 {
				_, err := xlabridge.Jit(&xlabridge.Reference{}, episode(env, 3))(random.New(1))
				require.ErrorContains(t, err, "exec:")
				require.ErrorContains(t, err, want)
				require.NotContains(t, err.Error(), "\n")
			}
		})
	}
	for command, want := range map[string]string{
		simulated.Command("greeting", 0):  "the first line of the process is wrong: protocol is 2, want 1",
		"./nobody":                        "the command ./nobody cannot be started (no such file or directory)",
		" ":                               "there is no command: give one",
		"true":                            "the process ended",
		"echo hello":                      "it is no JSON object: \"hello\"",
		`echo {"protocol":1}`:             `observation: got nothing, want a space such as {"n": 2}`,
		`echo {"protocol":1,"timeout":0}`: "timeout is 0, want seconds above 0",
		`echo {"protocol":1,"observation":{"n":2},"action":{"n":0},"max_steps":3}`: "Discrete(0)",
	} {
		Allow(command)
		_, err := envs.Make("exec:" + command)
		require.ErrorContains(t, err, want, command)
	}
}

// A command that was not allowed is not run.
func TestCommandsAreAllowed(t *testing.T) {
	file := t.TempDir() + "/made"
	_, err := envs.Make("exec:touch " + file)
	require.ErrorContains(t, err, "names a command, which only the command line may do: give --env")
	require.NoFileExists(t, file)
}

// Several members may begin with one state. A state in the middle of an episode goes on once.
func TestStatesAreNotCopied(t *testing.T) {
	env := opened(t, "", 0)
	params := env.DefaultParams()
	state, _ := env.Reset(random.New(1), params)
	step := func(state any) func(action *graph.Array) any {
		return func(action *graph.Array) any {
			next, _, _, _, _ := env.Step(random.New(2), state, action, params)
			return next
		}
	}
	out, err := graph.Eval(graph.VMap(step(state))(graph.Of([]int32{0, 1, 2})))
	require.NoError(t, err)
	first := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(0) }, out)
	_, err = graph.Eval(graph.VMap(step(first))(graph.Of([]int32{0, 1})))
	require.ErrorContains(t, err, "an episode goes on from one state twice")
}

// An episode that another process played begins anew: its step counts as truncated and gives no reward.
func TestAnotherProcessBeginsAnew(t *testing.T) {
	env := opened(t, "", 0)
	params := env.DefaultParams()
	state, _ := env.Reset(random.New(1), params)
	state, _, _, _, _ = env.Step(random.New(2), state, graph.Of(int32(1)), params)
	state, err := graph.Eval(state)
	require.NoError(t, err)
	commands.Lock()
	clear(commands.open)
	commands.Unlock()
	env = opened(t, "", 0)
	next, obs, reward, terminated, truncated := env.Step(random.New(3), state, graph.Of(int32(1)), params)
	all, err := graph.Eval([]*graph.Array{obs.Index(1), reward, terminated.Convert(graph.Float32),
		truncated.Convert(graph.Float32), next.(State).Over.Convert(graph.Float32)})
	require.NoError(t, err)
	for i, want := range []float64{0, 0, 0, 1, 1} {
		got, err := graph.Float(all[i])
		require.NoError(t, err)
		require.Equal(t, want, got, "result %d", i)
	}
}
