package python

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// recorded is an episode that the program plays.
type recorded struct {
	*episode.Recording
	observations, actions []byte
}

// record plays the first episodes of a seed as `xlarun play` does.
func record(c *client, id string, given settings.Pairs, seed int64, episodes, steps int) (all []recorded) {
	env, err := envs.Make(id)
	require.NoError(c, err)
	r := &episode.Rollout{Steps: steps, Episodes: 1}
	r.Env, r.Given, err = episode.ReadEnvParams(env, given)
	require.NoError(c, err)
	r.Policy, r.Head, err = policy.Make("mlp:4", nil, env.Spec().Observation, env.Spec().Action)
	require.NoError(c, err)
	params, err := graph.Eval(r.Policy.Init(random.New(1)))
	require.NoError(c, err)
	tracer, err := episode.NewTracer(c.backend, r, params)
	require.NoError(c, err)
	defer func() { _ = tracer.Close() }()
	for e := range episodes {
		rec, err := tracer.Record(params, random.FoldIn(run.EpisodesKey(seed), e))
		require.NoError(c, err)
		x := recorded{Recording: rec}
		x.observations, err = graph.HostBytes(rec.Trajectory()["observations"])
		require.NoError(c, err)
		x.actions, err = graph.HostBytes(rec.Trajectory()["actions"])
		require.NoError(c, err)
		all = append(all, x)
	}
	return all
}

// Lane i plays the episodes of seed+i one after the other, to the bit those that `xlarun play` plays, in each mode. The
// steps of Acrobot, Pendulum, Lander and bodies are not here: two programs round them in different ways.
func TestEpisodesAreThoseOfPlay(t *testing.T) {
	const seed, lanes = 7, 3
	ids, steps := []string{"CartPole-v1", "Forage-L1-v1"}, 60
	if long.On() {
		ids, steps = append(ids, "MountainCar-v0", "FrozenLake-misc-v1", "Catch-bsuite-v1", "Breakout-MinAtar-v1",
			"Forage-L2-v1"), 300
	}
	c := connect(t)
	for _, id := range ids {
		for _, mode := range []string{nextStep, sameStep, noReset} {
			if !long.On() && (mode == noReset) != (id == "CartPole-v1") && mode != nextStep {
				continue
			}
			t.Run(fmt.Sprint(id, " ", mode), func(t *testing.T) {
				follow(t, c, id, nil, mode, seed, lanes, steps, 0)
			})
		}
	}
}

// Parameters are those of the command line, and episodes draw them. Where they are drawn, two programs may differ in
// the last digits.
func TestParameters(t *testing.T) {
	c := connect(t)
	follow(t, c, "CartPole-v1", settings.Pairs{"length": "0.1..2", "gravity": "20"}, sameStep, -3, 2, 60, 1e-5)
}

// follow steps lanes by the actions of recorded episodes and compares what is seen: all bits, or within delta.
func follow(t *testing.T, c *client, id string, given settings.Pairs, mode string, seed int64, lanes, steps int,
	delta float64) {
	type cursor struct {
		episodes      []recorded
		episode, step int
		over          bool
	}
	cursors := make([]*cursor, lanes)
	for i := range cursors {
		cursors[i] = &cursor{episodes: record(c, id, given, seed+int64(i), 3, steps)}
	}
	params := map[string]any{}
	for name, text := range given {
		params[name] = text
	}
	o := c.object("vector", vectorArgument{ID: id, Lanes: lanes, Autoreset: mode, Params: params})
	of := func(slot int, name string, lane int) []byte {
		all := o.at(slot, name)
		return all[lane*len(all)/lanes : (lane+1)*len(all)/lanes]
	}
	set := func(slot int, name string, lane int, b []byte) { copy(of(slot, name, lane), b) }
	for i := range lanes {
		s := uint64(seed + int64(i))
		high := binary.LittleEndian.AppendUint32(nil, uint32(s>>32))
		set(0, "seed", i, binary.LittleEndian.AppendUint32(high, uint32(s)))
		set(0, "mask", i, []byte{1})
		set(0, "new", i, []byte{1})
	}
	o.call("reset", 0)
	observation := func(x recorded, step int) []byte {
		n := len(x.observations) / x.Length
		return x.observations[step*n : (step+1)*n]
	}
	slot := 0
	for n := 0; n < steps; n++ {
		ended := false
		for i, x := range cursors {
			e := x.episodes[x.episode]
			if !x.over && x.step < e.Length {
				want, got := observation(e, x.step), of(slot, "observation", i)
				if delta > 0 {
					require.InDeltaSlice(t, floats(want), floats(got), delta)
				} else {
					require.Equal(t, want, got, "lane %d, episode %d, step %d", i, x.episode, x.step)
				}
				k := len(e.actions) / e.Length
				set((slot+1)%2, "action", i, e.actions[x.step*k:(x.step+1)*k])
			}
		}
		slot = (slot + 1) % 2
		o.call("step", slot)
		for i, x := range cursors {
			e := x.episodes[x.episode]
			reward := float64(floats(of(slot, "reward", i))[0])
			done := of(slot, "terminated", i)[0] | of(slot, "truncated", i)[0]
			if x.over { // the step that begins the next episode
				require.Zero(t, reward)
				require.Zero(t, done)
				x.over = false
				continue
			}
			require.Equal(t, e.Rewards[x.step], reward, "lane %d, episode %d, step %d", i, x.episode, x.step)
			x.step++
			last := x.step == e.Length && (e.Terminated || e.Truncated)
			require.Equal(t, last, done == 1, "lane %d, episode %d, step %d", i, x.episode, x.step)
			if x.step < e.Length {
				continue
			}
			if !last || x.episode+1 == len(x.episodes) {
				ended = true // the recordings are over
				continue
			}
			x.episode, x.step, x.over = x.episode+1, 0, mode == nextStep
		}
		if ended {
			return
		}
		if mode == noReset {
			any := false
			next := (slot + 1) % 2
			for i, x := range cursors {
				fresh := x.step == 0 && x.episode > 0 && of(slot, "terminated", i)[0]|of(slot, "truncated", i)[0] == 1
				set(next, "mask", i, []byte{0})
				set(next, "new", i, []byte{0})
				if fresh {
					set(next, "mask", i, []byte{1})
					any = true
				}
			}
			if any {
				o.call("reset", next)
				slot = next
			}
		}
	}
}

// More lanes than are reset at a time, and fewer, have equal episodes: the lanes of one seed do not differ.
func TestResetsOfManyLanes(t *testing.T) {
	const lanes = 2048
	c := connect(t)
	o := c.object("vector", vectorArgument{ID: "CartPole-v1", Lanes: lanes, Autoreset: nextStep})
	for i := range lanes {
		binary.LittleEndian.PutUint32(o.at(0, "seed")[8*i+4:], uint32(i%2))
		o.at(0, "mask")[i], o.at(0, "new")[i] = 1, 1
	}
	o.call("reset", 0)
	resets := 0
	for n := range 40 {
		for i := range lanes { // a few play the other action from step 5 on, and end at another time
			a := uint32(0)
			if n > 5 && i >= lanes-64 {
				a = uint32(n % 2)
			}
			binary.LittleEndian.PutUint32(o.at(0, "action")[4*i:], a)
		}
		o.call("step", 0)
		b := o.at(0, "observation")
		for i := range lanes - 64 {
			require.Equal(t, b[16*(i%2):16*(i%2)+16], b[16*i:16*i+16], "lane %d, step %d", i, n)
		}
		for i := range 64 {
			j := lanes - 64 + i
			require.Equal(t, b[16*(lanes-64+i%2):16*(lanes-64+i%2)+16], b[16*j:16*j+16], "lane %d, step %d", j, n)
		}
		if o.at(0, "terminated")[0] == 1 || o.at(0, "terminated")[lanes-1] == 1 {
			resets++
		}
	}
	require.Greater(t, resets, 3)
}

// Steps of a state that is not packed, as that of many lanes, have the same bytes.
func TestStatesThatAreNotPacked(t *testing.T) {
	const lanes = 2048 // as above, so that half of the programs are there
	most := mostPacked
	t.Cleanup(func() { mostPacked = most })
	c := connect(t)
	var objects []*shared
	for range 2 {
		o := c.object("vector", vectorArgument{ID: "CartPole-v1", Lanes: lanes, Autoreset: nextStep})
		for i := range lanes {
			o.at(0, "seed")[8*i+4], o.at(0, "mask")[i], o.at(0, "new")[i] = byte(i), 1, 1
		}
		o.call("reset", 0)
		objects = append(objects, o)
		mostPacked = 0
	}
	ended := 0
	for n := range 40 {
		for _, o := range objects {
			for i := range lanes {
				o.at(0, "action")[4*i] = byte(n * i / 3 % 2)
			}
			o.call("step", 0)
		}
		for _, name := range []string{"observation", "reward", "terminated", "truncated", "bad"} {
			require.Equal(t, objects[0].at(0, name), objects[1].at(0, name), "step %d: %s", n, name)
		}
		ended += bytes.Count(objects[0].at(0, "terminated"), []byte{1})
	}
	require.Greater(t, ended, lanes)
}

// An action that is none is reported.
func TestActionOutsideOfItsSpace(t *testing.T) {
	c := connect(t)
	o := c.object("vector", vectorArgument{ID: "CartPole-v1", Lanes: 2, Autoreset: nextStep})
	require.Contains(t, c.request("%d step 0", o.number), "want reset first")
	copy(o.at(0, "mask"), []byte{1, 1})
	copy(o.at(0, "new"), []byte{1, 1})
	o.call("reset", 0)
	copy(o.at(0, "action")[4:], []byte{2})
	o.call("step", 0)
	require.Equal(t, []byte{0, 1}, o.at(0, "bad"))
}
