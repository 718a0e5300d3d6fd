package sparse

import (
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

var _ run.Planned = (*Experiment)(nil)

// About describes the experiment. The programs depend on the sizes of the data, so on its folder.
func (e *Experiment) About() run.About {
	density, _ := settings.Lookup(e, "density")
	programs := e.Config.Programs()
	return run.About{
		Setup: fmt.Sprintf("%d networks, density %s, batch %d, %s, %s, seed %d", e.Population, density.Text(),
			e.Batch, quantity.Count(e.Steps, "step", "steps"), e.DType, e.Seed),
		Purpose:  e.Purpose(),
		Programs: e.Folder + settings.Program(&programs),
		Measures: func() []string {
			return []string{"loss", "worst_accuracy", "mean_accuracy", "best_accuracy", "test_loss",
				"best_test_accuracy", "mean_test_accuracy"}
		},
		Check: e.Check, Fetch: e.Fetch, Given: e.Given(), Size: "pop",
	}
}

// Describe says what the run can do.
func (t *training) Describe() *run.Capabilities {
	return &run.Capabilities{Ending: t.Ending, Files: t.Files, Parts: t.Counter, Cost: t.Cost, Phases: t.Phases,
		Program: t.Compiled}
}
