package run_test

import (
	"context"
	"fmt"
	"sync"

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

func (d *Doubling) Job() *run.Job {
	return &run.Job{Title: "number", Last: int64(d.Steps), Start: d.Start,
		Board: func() []run.DisplayRow { return run.Curves("number") }}
}

func (d *Doubling) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	loop, err := run.NewLoop(b, run.LoopOptions{Name: "double", Purpose: "double " + settings.Words(d), Work: 1,
		Metrics: []string{"number"}, Goal: run.Value{Name: "number", Number: 4},
	}, graph.Scalar(1), graph.None{}, func(number *graph.Array, _ graph.None) (state, metrics *graph.Array) {
		return number.Mul(2), number.Mul(2).Reshape(1)
	})
	return run.WithCandidates(loop, func(number *graph.Array) []run.Candidate {
		return []run.Candidate{{Name: "last", Params: number}}
	}), err
}

var once sync.Once // examples may run again: go test -count=2

// What is registered is a command of the program. The reference backend runs it without compiling.
func ExampleMustRegister() {
	once.Do(func() {
		run.MustRegister(run.Kind{Name: "double", Short: "Double a number", Version: 1, Unit: "step", Length: "steps",
			Work: "multiplications", New: func() run.Experiment { return &Doubling{Steps: 10} }})
	})
	kind, _ := run.Lookup("double")
	doubling, err := kind.New().Job().Start(context.Background(), &xlabridge.Reference{})
	for err == nil {
		var m run.Metrics
		if m, err = doubling.Step(context.Background()); m.Over(2) {
			fmt.Println(m.Step, m.Values, m.Done, err)
			break
		}
	}
	// Output: 2 [{number 4}] true <nil>
}
