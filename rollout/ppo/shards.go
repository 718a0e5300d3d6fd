package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// shards are the tiles of one agent's work, which are cut over the devices. They follow from the config alone, so
// results are the same to the byte on any number of devices. Work of a single tile is repeated on each device.
type shards struct {
	Envs population.Tiles // of environments
	Rows population.Tiles // of a minibatch's rows, one tile an item; their gradients are added in order
}

// whole returns one tile of environments and one tile of rows.
func (c *Config) whole() shards {
	return shards{population.CutTiles(c.Envs, c.Envs, 1), population.CutTiles(1, 1, 1)}
}

// shardInputs are the numbers of tiles of a device, i32[], as inputs of the program (population.Tiles.Count). They are
// nil if nothing is cut.
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
	// maxShards is the largest number of tiles. Each costs a pass over the parameters.
	maxShards = 8
	// minSteps and minEnvs are the smallest numbers of a minibatch's steps and of environments in a tile. With fewer,
	// vectors are half empty and communication takes longer than computation.
	minSteps, minEnvs = 256, 32
	// minHalf is the smallest number of steps in a tile of a minibatch that is cut in two because it is too small for
	// minSteps.
	minHalf = 64
)

// shardsOf returns the largest power of two, at most maxShards, that cuts n into equal parts of size or more.
func shardsOf(n, size int) int {
	p := 1
	for p < maxShards && n%(2*p) == 0 && n/(2*p) >= size {
		p *= 2
	}
	return p
}

// shards returns the shards of one agent on the first devices of a backend. rows is the number of rows that an epoch
// shuffles. On accelerators one device does all the work.
func (c *Config) shards(b xlabridge.Backend, rows int) (shards, error) {
	devices, err := c.devices(b)
	if err != nil {
		return shards{}, err
	}
	if plan.OfKind(b.Backend()).Accelerator {
		if c.Devices > 1 {
			return shards{}, settings.Wrong("devices", c.Devices, "1: on %s one agent is trained on one device, "+
				"--agents on several", b.Backend())
		}
		return c.whole(), nil
	}
	perPart := rows / c.Minibatches / c.Accumulate
	stepsPerRow := c.perUpdate() / rows
	rowsOf := func(steps int) int { return (steps + stepsPerRow - 1) / stepsPerRow }
	envs, learn := shardsOf(c.Envs, minEnvs), shardsOf(perPart, rowsOf(minSteps))
	if learn == 1 && perPart%2 == 0 && perPart/2 >= rowsOf(minHalf) {
		learn = 2
	}
	devices = min(devices, max(envs, learn))
	return shards{population.CutTiles(c.Envs, c.Envs/envs, devices), population.CutTiles(learn, 1, devices)}, nil
}
