package sparse

import (
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Job says what is run. The programs depend on the sizes of the data, so on its folder.
func (e *Experiment) Job() *run.Job {
	density, _ := settings.Lookup(e, "density")
	programs := e.Config.Programs()
	return &run.Job{
		Title: "sparse", Last: int64(e.Updates), Board: e.Board, Start: e.Start,
		Setup: fmt.Sprintf("%d networks, density %s, batch %d, %s, %s, seed %d", e.Population, density.Text(),
			e.Batch, quantity.Count(e.Updates, "update", "updates"), e.DType, e.Seed),
		Purpose:  e.Purpose(),
		Programs: e.Folder + settings.Program(&programs),
		Measures: func() []string {
			return append([]string{stepsMetric, "loss", "worst_accuracy", "mean_accuracy", "best_accuracy", "test_loss",
				"best_test_accuracy", "mean_test_accuracy"}, run.EvalNames()...)
		},
		Check: e.Check, Fetch: e.Fetch, Size: "pop",
		Plan: &run.PlanChoice{Tune: e.Tune, Given: e.Given(), Choose: e.ChoosePlan},
	}
}

// Describe says what the run can do.
func (t *training) Describe() *run.Capabilities {
	return &run.Capabilities{Ending: t.Ending, Files: t.Files, Closing: t.Closing, Parts: t.Counter, Cost: t.Cost,
		Phases: t.Phases, Program: t.Compiled}
}
