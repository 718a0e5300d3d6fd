package ppo

import (
	"strings"

	"xlarun/rollout/run"
)

// Board returns the rows of the display.
func (c *Config) Board() []run.DisplayRow {
	return c.board(&proximal{},
		run.DisplayRow{Label: "entropy", Plain: true, Parts: []run.Part{{Metric: "entropy", Format: run.Loss},
			{Before: ", kl ", Metric: "kl", Format: run.Loss}, {Before: ", clipped ", Metric: "clip_fraction",
				Format: run.Percent}}})
}

// board returns the rows of an algorithm. The rows extra stand between the rows of episodes and of gradients.
func (c *Config) board(a algorithm, extra ...run.DisplayRow) []run.DisplayRow {
	goal := run.TargetText(c.Env, c.Goal)
	var objectives, names []string
	if r, err := c.Rollout(); err == nil {
		spec := r.Env.Spec()
		objectives, names = spec.Objectives, metricNames(a, r, false)
	}
	rows := []run.DisplayRow{
		{Label: "return", Plain: true, Parts: []run.Part{{Metric: "recent_return", Behind: goal}},
			Curve: "recent_return", Color: "cyan"},
		{Label: "episodes", Parts: []run.Part{{Metric: "episodes", Format: run.Whole},
			{Before: ", mean ", Metric: "mean_return"}, {Before: ", best ", Metric: "max_return"},
			{Before: ", worst ", Metric: "min_return"}, {Before: ", of ", Metric: "mean_length", Behind: " steps"}}},
	}
	if c.EvalEnvs > 0 {
		rows[0] = run.DisplayRow{Label: "training", Plain: true, Parts: []run.Part{{Before: "return ",
			Metric: "recent_return"}}, Curve: "recent_return"}
		rows = append([]run.DisplayRow{run.EvalRow(goal)}, rows...)
	}
	if len(objectives) > 0 {
		row := run.DisplayRow{Label: "objectives"}
		for i, metric := range names[len(names)-len(objectives):] {
			row.Parts = append(row.Parts, run.Part{Before: ", " + strings.ReplaceAll(objectives[i], "_", " ") + " ",
				Metric: metric})
		}
		rows = append(rows, row)
	}
	rows = append(rows, extra...)
	rows = append(rows, run.DisplayRow{Label: "value", Parts: []run.Part{
		{Before: "loss ", Metric: "value_loss", Format: run.Loss}, {Before: ", explains ", Metric: "explained_variance",
			Format: run.Percent}}})
	gradient := run.DisplayRow{Label: "gradient", Parts: []run.Part{
		{Before: "norm ", Metric: "gradient_norm", Format: run.Loss}, {Before: ", skipped ", Metric: "skipped",
			Format: run.Whole}}}
	if c.Precision == "f16" {
		gradient.Parts = append(gradient.Parts, run.Part{Before: ", losses times ", Metric: "loss_scale",
			Format: run.Whole})
	}
	rows = append(rows, gradient)
	for i := range rows {
		rows[i].Gaps = true
	}
	return rows
}
