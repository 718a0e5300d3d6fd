package studies

import (
	"fmt"

	"xlarun/internal/quantity"
)

// chooseLanes decides whether trials run as lanes or in processes. It returns a *SpecError if the spec asks for lanes
// and trials cannot be lanes.
func (c *Coordinator) chooseLanes() error {
	s := c.Spec
	c.lanes, c.notLanes = false, nil
	served := c.NoWorkers || c.Listen.Address != "" || c.Runs == nil
	switch {
	case s.Programs() && c.NoWorkers: // those who join have the program
	case s.Programs():
		return s.findProgram()
	case s.TrialsAs == trialsVectorized && served:
		return wrong("trials-as", "got vectorized, but workers that join run trials as processes: give study run, or "+
			"processes")
	case s.TrialsAs == trialsVectorized:
		if err := s.FitsLanes(c.Runs); err != nil {
			return wrong("trials-as", "got vectorized, but %v", err)
		}
		c.lanes = true
	case s.TrialsAs == trialsAuto && !served:
		c.lanes, c.notLanes = s.lanesByDefault(c.Runs)
	}
	return nil
}

// Description says in a few words how trials run. The coordinator has to be open.
func (c *Coordinator) Description() string {
	s := c.Spec
	switch {
	case c.NoWorkers:
		return "trials in processes: workers elsewhere"
	case c.lanes:
		return fmt.Sprintf("trials vectorized in one program on %s, up to %d at a time",
			quantity.Count(s.Workers*s.Threads, "device", "devices"), c.batchSize())
	}
	text := fmt.Sprintf("trials in processes: %s x %s", quantity.Count(s.Workers, "worker", "workers"),
		quantity.Count(s.Threads, "thread", "threads"))
	if c.notLanes != nil {
		text += fmt.Sprintf(" (not vectorized: %v)", c.notLanes)
	}
	return text
}

// Lanes reports whether trials are vectorized in one program.
func (c *Coordinator) Lanes() bool { return c.lanes }

// batchSize returns the highest number of trials that run as lanes at a time.
func (c *Coordinator) batchSize() int {
	n := min(c.Spec.maxLaneTrials(), c.Spec.Trials)
	if !c.Spec.ahead() {
		n = min(n, c.Spec.Window)
	}
	return n
}
