package islands

import (
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

var (
	_ run.Player  = (*Islands)(nil)
	_ run.Planned = (*Islands)(nil)
)

// About describes the experiment.
func (c *Islands) About() run.About {
	one := c.one()
	return run.About{
		Setup: fmt.Sprintf("%d islands (%s, %d every %s), each %s", c.Islands, c.Topology, c.Migrants,
			quantity.Count(c.MigrateEvery, "generation", "generations"), one.Setup()),
		Purpose: c.Purpose(),
		Programs: fmt.Sprintf("islands=%d;topology=%s;migrants=%d;explore=%d;each=%v;", c.Islands, c.Topology,
			c.Migrants, c.Explore, c.several()) + settings.Program(one),
		Measures: c.Measures, Check: c.Check, Given: c.Given(), Size: "pop",
	}
}
