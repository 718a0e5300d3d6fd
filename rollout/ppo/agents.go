package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// agentsPerTile is the number of agents in a tile on a CPU. The batches of a few agents stay in a core's cache; with
// one agent, vectors are half empty.
const agentsPerTile = 4

// devices returns how many of a backend's devices may be used.
func (c *Config) devices(b xlabridge.Backend) (int, error) {
	if n := b.NumDevices(); c.Devices > n {
		return 0, settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", n)
	} else if c.Devices == 0 {
		return n, nil
	}
	return c.Devices, nil
}

// agentTiles returns how the agents are cut over the first devices of a backend.
func (c *Config) agentTiles(b xlabridge.Backend) (population.Tiles, error) {
	devices, err := c.devices(b)
	if err != nil {
		return population.Tiles{}, err
	}
	lanes := c.Tile
	if lanes == 0 {
		lanes = c.Agents
		if !plan.OfKind(b.Backend()).Accelerator {
			lanes = agentsPerTile
		}
	}
	lanes = min(lanes, c.Agents)
	tiles := (c.Agents + lanes - 1) / lanes
	return population.CutTiles(c.Agents, lanes, min(devices, tiles)), nil
}

// perAgent returns the value for each agent of each setting that may differ between agents.
func (c *Config) perAgent() map[string][]float64 {
	all := map[string][]float64{}
	for _, f := range settings.Fields(c) {
		if n, ok := f.Several(); ok {
			all[f.Name] = n.Several(c.Agents, f.Name, c.Seed)
		}
	}
	return all
}

// layout returns the plan of the program.
func layout(b xlabridge.Backend, devices int) plan.Plan {
	p := plan.Plan{Devices: devices}
	if plan.OfKind(b.Backend()).CPU {
		p.VectorWidth = plan.VectorWidth
	}
	return p
}

// updateAgents returns an update of all agents, tile by tile: each tile goes through its whole update before the next
// begins.
func (g *program) updateAgents(tiles population.Tiles) func(State, inputs) (State, *graph.Array) {
	return func(s State, in inputs) (State, *graph.Array) {
		due := g.evaluationDue(s.Update.Index(0), in)
		return population.Map(tiles, in.Tiles, func(agent *graph.Array) graph.Pair[State, *graph.Array] {
			in := in
			in.Each = population.At(in.Each, agent)
			return graph.PairOf(g.updateAndEvaluate(population.At(s, agent), in, due))
		}).Unpack()
	}
}
