package evolve

import (
	"context"
	"xlarun/rollout/evolve/vectorized"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// OpenLanes: searches are lanes of one program; see vectorized.Open.
func (c *Config) OpenLanes(ctx context.Context, b xlabridge.Backend, names []string, most int) (run.Lanes, error) {
	if err := c.checkLane(); err != nil {
		return nil, err
	}
	return vectorized.Open(b, &c.Search, c.options(), c.PatienceSettings, names, most)
}

// VectorizedCost returns the cost of a search with these settings.
func (c *Config) VectorizedCost() (run.VectorizedCost, error) {
	if err := c.checkLane(); err != nil {
		return run.VectorizedCost{}, err
	}
	return vectorized.Cost(&c.Search, c.options())
}

// checkLane refuses settings that do not work in lanes.
func (c *Config) checkLane() error {
	return c.checkTogether(true)
}
