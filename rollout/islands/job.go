package islands

import (
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Job says what is run.
func (c *Islands) Job() *run.Job {
	one := c.one()
	job := c.Plays(run.Job{
		Last: c.Last(), Board: c.Board, Start: c.Start,
		Setup: fmt.Sprintf("%d islands (%s, %d every %s), each %s", c.Islands, c.Topology, c.Migrants,
			quantity.Count(c.MigrateEvery, "generation", "generations"), one.Setup()),
		Purpose: c.Purpose(),
		Programs: fmt.Sprintf("islands=%d;topology=%s;migrants=%d;explore=%d;each=%v;", c.Islands, c.Topology,
			c.Migrants, c.Explore, c.several()) + settings.Program(one),
		Measures: c.Measures, Check: c.Check, Size: "pop",
		Plan: &run.PlanChoice{Tune: c.Tune, Given: c.Given(), Choose: c.ChoosePlan},
	}, c.Rollout)
	job.Suggested = c.Suggested
	job.Play.Again = &run.Again{Count: c.MemberCount, Make: c.Remake}
	return job
}
