package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// tileMost is the number of agents of a tile on a CPU: what a few learn of stays in a core's cache, and one alone leaves its vectors half empty.
const tileMost = 4

// cut is how the agents are cut over the first devices of a backend.
func (c *Config) cut(b xlabridge.Backend) (population.Tiles, error) {
	devices := c.Devices
	if n := b.NumDevices(); devices > n {
		return population.Tiles{}, settings.Wrong("devices", devices, "at most the %d that the backend was opened with", n)
	} else if devices == 0 {
		devices = n
	}
	lanes := c.Tile
	if lanes == 0 {
		lanes = c.Agents
		if !plan.MachineOf(b, 1).Accelerator {
			lanes = tileMost
		}
	}
	lanes = min(lanes, c.Agents)
	tiles := (c.Agents + lanes - 1) / lanes
	return population.CutTiles(c.Agents, lanes, min(devices, tiles)), nil
}

// layout is the plan of the program.
func layout(b xlabridge.Backend, cut population.Tiles) plan.Plan {
	p := plan.Plan{Devices: cut.Devices}
	if plan.MachineOf(b, 1).CPU {
		p.VectorWidth = plan.VectorWidth
	}
	return p
}

// together is an update of all agents, tile by tile: each tile goes through its whole update before the next begins.
func (g *program) together(cut population.Tiles) func(State, inputs) (State, *graph.Array) {
	type both struct {
		Next    State
		Figures *graph.Array
	}
	return func(s State, in inputs) (State, *graph.Array) {
		all := population.Map(cut, in.Tiles, func(agent *graph.Array) both {
			next, f := g.update(at(s, agent), in)
			return both{next, f}
		})
		return all.Next, all.Figures
	}
}

// inputs are those of the program.
func (g *program) inputs(cut population.Tiles) inputs {
	in := inputs{Settings: settings.Inputs(g.config, ""), Updates: graph.Scalar(float64(g.config.Last())), Tiles: cut.Count()}
	for name, a := range settings.Inputs(g.head, valuePrefix) {
		in.Settings[name] = a
	}
	for name, a := range g.collect.play.Inputs() {
		in.Settings[name] = a
	}
	return in
}
