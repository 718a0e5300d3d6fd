package run_test

import (
	"context"
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Doubling is a kind of run: its settings.
type Doubling struct {
	run.Common
	Steps int `set:"steps" program:"no" resume:"any" min:"1" help:"steps at most"`
}

// State is what a checkpoint has.
type State struct{ Number, Step *graph.Array }

func (d *Doubling) Job() *run.Job {
	return &run.Job{Title: "number", Last: int64(d.Steps), Start: d.Start,
		Board: func() []run.DisplayRow { return run.Curves("number") }}
}

func (d *Doubling) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	loop, err := run.NewLoop(b, run.LoopOptions{Name: "double", Purpose: "double " + settings.Words(d), Work: 1,
		Metrics: []string{"number"}, Goal: run.Value{Name: "number", Number: 4},
	}, State{graph.Scalar(1), envs.Steps(0)}, graph.None{}, func(s State, _ graph.None) (State, *graph.Array) {
		next := State{s.Number.Mul(2), s.Step.Add(1)}
		return next, next.Number.Reshape(1)
	})
	if err != nil {
		return nil, err
	}
	return run.WithCandidates(loop, func(s State) []run.Candidate {
		return []run.Candidate{{Name: "last", Params: s.Number}}
	}), nil
}

// What is registered is a command of the program. The reference backend runs it without compiling.
func ExampleMustRegister() {
	run.MustRegister(run.Kind{Name: "double", Short: "Double a number", Version: 1, Unit: "step", Length: "steps",
		Work: "multiplications", New: func() run.Experiment { return &Doubling{Steps: 10} }})
	kind, _ := run.Lookup("double")
	doubling, err := kind.New().Job().Start(context.Background(), &xlabridge.Reference{})
	if err != nil {
		panic(err)
	}
	for range 2 {
		metrics, err := doubling.Step(context.Background())
		fmt.Println(metrics.Step, metrics.Values, metrics.Done, err)
	}
	// Output:
	// 1 [{number 2}] false <nil>
	// 2 [{number 4}] true <nil>
}
