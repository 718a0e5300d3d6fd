package generation

import (
	"fmt"

	"xlarun/rollout/run"
)

// Number formats a fitness.
func Number(x float64) string { return fmt.Sprintf("%.4g", x) }

// Board returns the rows of a display: fitness with its spread, and the target.
func (c *Search) Board() []run.DisplayRow {
	goal := run.TargetText(c.Env, c.Goal)
	rows := []run.DisplayRow{{Label: "best ever", Plain: true, Parts: []run.Part{{Metric: "best_ever"}}}}
	if c.EvalEnvs > 0 {
		rows, goal = append(rows, run.EvalRow(goal)), ""
	}
	return append(rows, []run.DisplayRow{
		{Label: "mean", Plain: true, Parts: []run.Part{{Metric: "mean_fitness", Behind: goal}}, Curve: "mean_fitness",
			Color: "cyan"},
		{Label: "spread", Parts: []run.Part{{Before: "std ", Metric: "std_fitness"},
			{Before: ", worst ", Metric: "worst_fitness"}}},
		{Label: "failed", Plain: true, Rare: true, Parts: []run.Part{
			{Metric: "failed_members", Format: run.Whole, Behind: " members"},
			{Before: ", the first ", Metric: "failed_member", Format: run.Whole},
			{Before: " in step ", Metric: "failed_step", Format: run.Whole}}},
	}...)
}
