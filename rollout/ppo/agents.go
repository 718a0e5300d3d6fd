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

// devices is how many of a backend's devices may be used.
func (c *Config) devices(b xlabridge.Backend) (int, error) {
	if n := b.NumDevices(); c.Devices > n {
		return 0, settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", n)
	} else if c.Devices == 0 {
		return n, nil
	}
	return c.Devices, nil
}

// cut is how the agents are cut over the first devices of a backend.
func (c *Config) cut(b xlabridge.Backend) (population.Tiles, error) {
	devices, err := c.devices(b)
	if err != nil {
		return population.Tiles{}, err
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

// each are, of the settings of which agents may have several, what each agent has.
func (c *Config) each() map[string][]float64 {
	all := map[string][]float64{}
	for _, f := range settings.Fields(c) {
		if n, ok := f.Several(); ok {
			all[f.Name] = n.Several(c.Agents, f.Name, c.Seed)
		}
	}
	return all
}

// layout is the plan of the program.
func layout(b xlabridge.Backend, devices int) plan.Plan {
	p := plan.Plan{Devices: devices}
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
			own := in
			own.Each = at(in.Each, agent)
			next, f := g.update(at(s, agent), own)
			return both{next, f}
		})
		return all.Next, all.Figures
	}
}

// inputs are those of the program.
func (g *program) inputs(cut population.Tiles) inputs {
	in := inputs{Settings: settings.Inputs(g.config, ""), Each: map[string]*graph.Array{}, Updates: graph.Scalar(float64(g.config.Last())), Tiles: cut.Count()}
	if g.shards != nil {
		in.Shards = &counts{g.shards.Envs.Count(), g.shards.Rows.Count()}
	}
	if g.config.Agents > 1 {
		for name, values := range g.config.each() {
			numbers := make([]float32, len(values))
			for i, x := range values {
				numbers[i] = float32(x)
			}
			in.Each[name] = graph.Float32s(numbers)
			delete(in.Settings, name)
		}
	}
	for name, a := range settings.Inputs(g.head, valuePrefix) {
		in.Settings[name] = a
	}
	for name, a := range settings.Inputs(g.algorithm, "") {
		in.Settings[name] = a
	}
	for name, a := range g.collect.play.Inputs() {
		in.Settings[name] = a
	}
	return in
}
