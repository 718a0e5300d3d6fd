package faulty

import (
	"context"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{Name: "faulty", Short: "Make a mistake", Version: 1, Unit: "round", Work: "rounds",
		New: func() run.Experiment { return &Kind{} }})
}

// Kind is a kind of run that counts.
type Kind struct {
	run.Common
	Fault string `set:"fault" help:"mistake"`
}

// Job is a round.
func (k *Kind) Job() *run.Job {
	return &run.Job{Title: "faulty", Last: 1, Board: k.Board, Start: k.Start}
}

// Board has no rows.
func (k *Kind) Board() []run.DisplayRow {
	fault(k.Fault).in("Board")
	return nil
}

// Start compiles a round, and what the first one begins with.
func (k *Kind) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	fault(k.Fault).in("Start")
	loop, err := run.NewLoop(b, run.LoopOptions{Name: "round", Computed: true}, graph.Scalar(0), graph.None{},
		func(s *graph.Array, _ graph.None) (*graph.Array, graph.None) {
			fault(k.Fault).in("round")
			return s.Add(1), graph.None{}
		})
	return counting{loop, k}, err
}

type counting struct {
	*run.Loop
	kind *Kind
}

// Step takes a round.
func (c counting) Step(ctx context.Context) (run.Metrics, error) {
	fault(c.kind.Fault).in("Step")
	return c.Loop.Step(ctx)
}
