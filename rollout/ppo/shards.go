package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// shards are how the work of one agent is cut over the devices: its environments, and the rows of a minibatch. The cuts
// follow from the config alone, so results are the same to the byte on any number of devices. What is one tile, each
// device computes by itself.
type shards struct {
	Envs population.Tiles // of environments, which play and are evaluated together
	Rows population.Tiles // of a minibatch's rows, one tile an item: their gradients are added in order
}

// whole returns the shards of an agent whose work is not cut.
func (c *Config) whole() shards {
	return shards{population.CutTiles(c.Envs, c.Envs, 1), population.CutTiles(1, 1, 1)}
}

// shardInputs are the tiles of a device, as inputs of the program (population.Tiles.Count). There are none if nothing
// is cut.
type shardInputs struct {
	Envs *graph.Array `tree:"optional"`
	Rows *graph.Array `tree:"optional"`
}

func (s shards) inputs() (in shardInputs) {
	if s.Envs.Items > s.Envs.Lanes || s.Rows.Items > 1 {
		in = shardInputs{s.Envs.Count(), s.Rows.Count()}
	}
	return in
}

const (
	// maxShards is the number of parts that an agent's work is cut into at most: each costs a pass over the parameters.
	maxShards = 8
	// minRows and minEnvs are the steps of a minibatch, and the environments, of a part: with fewer its vectors are
	// half empty, and handing results over takes longer than making them.
	minRows, minEnvs = 256, 32
	// minHalf are the steps of half a minibatch that is cut in two although it has too few for more: two cores are of
	// some use even there.
	minHalf = 64
)

// shardsOf returns the largest power of two, at most maxShards, that cuts n evenly into parts of at least size.
func shardsOf(n, size int) int {
	p := 1
	for p < maxShards && n%(2*p) == 0 && n/(2*p) >= size {
		p *= 2
	}
	return p
}

// shards returns the shards of one agent on the first devices of a backend. On accelerators one device does it all.
func (c *Config) shards(b xlabridge.Backend, rows int) (shards, error) {
	devices, err := c.devices(b)
	if err != nil {
		return shards{}, err
	}
	if plan.MachineOf(b, 1).Accelerator {
		if c.Devices > 1 {
			return shards{}, settings.Wrong("devices", c.Devices, "1: on %s one agent is trained on one device, "+
				"--agents on several", b.Backend())
		}
		return c.whole(), nil
	}
	perPart := rows / c.Minibatches / c.Accumulate
	stepsPerRow := c.perUpdate() / rows
	rowsOf := func(steps int) int { return (steps + stepsPerRow - 1) / stepsPerRow }
	envs, learn := shardsOf(c.Envs, minEnvs), shardsOf(perPart, rowsOf(minRows))
	if learn == 1 && perPart%2 == 0 && perPart/2 >= rowsOf(minHalf) {
		learn = 2
	}
	devices = min(devices, max(envs, learn))
	return shards{population.CutTiles(c.Envs, c.Envs/envs, devices), population.CutTiles(learn, 1, devices)}, nil
}
