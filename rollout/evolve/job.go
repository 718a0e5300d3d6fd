package evolve

import (
	"context"

	"xlarun/rollout/evolve/vectorized"
	"xlarun/rollout/run"
)

// Job says what is run. It has a copy of the settings, whose strategy and policy are made once.
func (c *Config) Job() *run.Job {
	own := c.clone()
	own.Search = own.Search.Once()
	c = &own
	job := c.Plays(run.Job{Last: c.Last(), Board: c.Board, Start: c.Start, Setup: c.Setup(),
		Purpose: c.Purpose(), Measures: c.Measures, Check: c.Check, Size: "pop", StartAlone: c.StartAlone,
		Redraws: c.restarts(), // a search that starts again draws its first genome with Init
		Plan:    &run.PlanChoice{Tune: c.Tune, Given: c.Given(), Choose: c.ChoosePlan},
		Lanes: &run.LaneChoice{Numbers: func() []string { return vectorized.Numbers(&c.Search) },
			Cost: c.VectorizedCost, Open: c.OpenLanes}}, c.Rollout)
	c.caller = job
	job.Suggested, job.Remark = c.Suggested, c.Remark
	job.Play.Again = &run.Again{Count: c.MemberCount, Make: c.Remake}
	switch {
	case c.Island != "":
		job.Shares, job.Prepare = "island", c.tryPool
	case c.Join != "":
		job.Shares = "join"
		job.Prepare = func(ctx context.Context, _ bool, p run.Progress) error { return c.waitForServer(ctx, p) }
	}
	return job
}
