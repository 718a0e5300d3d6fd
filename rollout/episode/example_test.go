package episode_test

import (
	"context"
	"fmt"
	"log"

	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/xlabridge"
)

const champion = "testdata/cartpole.safetensors"

// A member acts on one observation after the other.
func ExampleLoad() {
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: "cpu", Devices: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// docs/how-to/members.md: begin
	m, err := episode.Load(champion)
	if err != nil {
		log.Fatal(err)
	}
	act := xlabridge.Jit(client, func(observation *graph.Array) *graph.Array {
		_, out := m.Policy.Act(m.Params, m.Policy.Start(m.Params), observation, random.New(0))
		return m.Head.Action(out.Action)
	})
	for _, angle := range []float32{-.1, .1} { // the pole leans to the left, to the right
		action, err := act(graph.Float32s([]float32{0, 0, angle, 0}))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(action)
	}
	// docs/how-to/members.md: end
	// Output:
	// i32[] 0
	// i32[] 1
}

// A member plays an episode step by step in the caller's loop. The policy's carry is its memory.
func ExampleMember() {
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: "cpu", Devices: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	m, err := episode.Load(champion)
	if err != nil {
		log.Fatal(err)
	}
	env, p := m.Env, m.Env.DefaultParams()
	type moment struct {
		State, Carry        any
		Observation, Reward *graph.Array
		Over                *graph.Array
	}
	step := xlabridge.Jit2(client, func(now moment, key random.Key) (next moment) {
		keys := random.SplitN(key, 2)
		carry, out := m.Policy.Act(m.Params, now.Carry, now.Observation, keys[0])
		next.Carry = carry
		var terminated, truncated *graph.Array
		next.State, next.Observation, next.Reward, terminated, truncated = env.Step(keys[1], now.State,
			m.Head.Action(out.Action), p)
		next.Over = terminated.Or(truncated)
		return next
	})
	now := moment{Carry: m.Policy.Start(m.Params), Reward: graph.Scalar(0), Over: envs.False()}
	now.State, now.Observation = env.Reset(random.New(1), p)
	steps, over := 0, false
	for ; !over; steps++ {
		if now, err = step(now, random.FoldIn(random.New(2), steps)); err != nil {
			log.Fatal(err)
		}
		v, err := graph.Floats(now.Over)
		if err != nil {
			log.Fatal(err)
		}
		over = v[0] == 1
	}
	fmt.Println(steps, "steps")
	// Output: 500 steps
}

// An evaluator plays members on many episodes at once.
func ExampleNewEvaluator() {
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: "cpu", Devices: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	m, err := episode.Load(champion)
	if err != nil {
		log.Fatal(err)
	}
	evaluator, err := episode.NewEvaluator(client, m.Rollout, m.Params, 1, 500, "my champion")
	if err != nil {
		log.Fatal(err)
	}
	defer evaluator.Close()
	figures, err := evaluator.Play([]any{m.Params}, random.New(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean return %.1f, standard error %.1f\n", figures[0].Mean, figures[0].Error)
	// Output: mean return 500.0, standard error 0.0
}
