package evolve

import (
	"xlarun/rollout/evolve/lanes"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// LaneNumbers lists the Numbers of strategy and policy.
func (c *Config) LaneNumbers() []string { return lanes.Numbers(&c.Search) }

// OpenLanes implements run.Laned: searches are lanes of one program; see lanes.Open.
func (c *Config) OpenLanes(b xlabridge.Backend, names []string, most int) (run.Lanes, error) {
	if err := c.checkLane(); err != nil {
		return nil, err
	}
	return lanes.Open(b, &c.Search, c.options(), c.PatienceSettings, names, most)
}

// LaneCost returns the cost of a search with these settings.
func (c *Config) LaneCost() (run.LaneCost, error) {
	if err := c.checkLane(); err != nil {
		return run.LaneCost{}, err
	}
	return lanes.Cost(&c.Search, c.options())
}

// checkLane refuses settings that do not work in lanes.
func (c *Config) checkLane() error {
	switch {
	case c.restarts():
		return settings.Wrong("restarts", c.Restarts, "none: lanes start once")
	case c.Grow:
		return settings.Wrong("grow", true, "false: lanes have one program")
	case c.ExamTarget != 0:
		return settings.Wrong("exam-target", c.ExamTarget, "0: lanes hold no exams")
	case c.Join != "":
		return settings.Wrong("join", c.Join, "none: lanes run in one process")
	case c.Island != "":
		return settings.Wrong("island", c.Island, "none: lanes share no folder")
	}
	return nil
}
