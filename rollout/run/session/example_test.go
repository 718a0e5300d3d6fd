package session_test

import (
	"context"
	"fmt"

	_ "xlarun/envs/classic"
	"xlarun/rollout/evolve"
	"xlarun/rollout/run"
	"xlarun/rollout/run/session"
	"xlarun/xlabridge"
)

// Evolve a small population on the reference backend, without files.
func ExampleRun() {
	kind, _ := run.Lookup("evolve")
	c := kind.New().(*evolve.Config)
	c.Env, c.Policy, c.Population, c.Generations, c.Steps, c.Target = "CartPole-v1", "linear", 8, 3, 40, "0"

	o, err := session.Run(context.Background(), session.Options{
		Kind: kind, Experiment: c,
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) { return &xlabridge.Reference{}, nil },
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("ended by:", o.EndedBy, "generation", o.Step)
	fmt.Println("new episodes of the best member:", len(o.Best.EvalResult.Return))
	// Output:
	// ended by: last generation 3
	// new episodes of the best member: 100
}
