package evolve

import (
	"context"
	"errors"
	"maps"
	"slices"

	"xlarun/rollout/evolve/lanes"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// LaneNumbers lists the Numbers of strategy and policy.
func (c *Config) LaneNumbers() []string { return lanes.Numbers(&c.Search) }

// Lanes runs searches to their ends. They have these settings, except the seed and Numbers of each lane; see OpenLanes.
func (c *Config) Lanes(ctx context.Context, b xlabridge.Backend, all []run.Lane,
	onMetrics func(lane int, m run.Metrics) (stop bool)) error {
	if len(all) == 0 {
		return nil
	}
	l, err := c.OpenLanes(b, slices.Sorted(maps.Keys(all[0].Numbers)), len(all))
	if err != nil {
		return err
	}
	return errors.Join(l.Run(ctx, all, onMetrics), l.Close())
}

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
	case c.Island != "":
		return settings.Wrong("island", c.Island, "none: lanes share no folder")
	case c.Keys == KeysDevice:
		return settings.Wrong("keys", c.Keys, "%s: a lane is played on one device, wherever that is", KeysGlobal)
	}
	return nil
}
