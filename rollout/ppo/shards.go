package ppo

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// shards are how the work of one agent is cut over the devices: its environments, and the rows of a minibatch. The cuts follow from the config alone, so results
// are the same to the byte on any number of devices; what is cut nowhere, every device does by itself.
type shards struct {
	Envs population.Tiles // of environments, which play and are valued together; of one tile, all devices play all
	Rows population.Tiles // of a minibatch's rows, a tile an item: their gradients are added in order
}

const (
	// mostShards is the number of parts that an agent's work is cut into at most: each costs a pass over the parameters.
	mostShards = 8
	// leastRows and leastEnvs are the steps of a minibatch, and the environments, of a part: with fewer its vectors are half empty, and handing results
	// over takes longer than making them.
	leastRows, leastEnvs = 256, 32
	// leastHalf are the steps of half a minibatch that is cut in two where it has not enough for more: both cores are some use even there.
	leastHalf = 64
)

// parts is the largest power of two, of at most mostShards, that cuts n evenly into parts of at least so many.
func parts(n, least int) int {
	p := 1
	for p < mostShards && n%(2*p) == 0 && n/(2*p) >= least {
		p *= 2
	}
	return p
}

// shards are those of one agent on the first devices of a backend; nil where one device does it all: on accelerators.
func (c *Config) shards(b xlabridge.Backend, rows int) (*shards, error) {
	devices, err := c.devices(b)
	if err != nil {
		return nil, err
	}
	if plan.MachineOf(b, 1).Accelerator {
		if c.Devices > 1 {
			return nil, settings.Wrong("devices", c.Devices, "1: on %s one agent is trained on one device, --agents on several", b.Backend())
		}
		return nil, nil
	}
	each := rows / c.Minibatches / c.Accumulate                      // of a part of a minibatch
	steps := c.perUpdate() / rows                                    // of a row
	rowsOf := func(all int) int { return (all + steps - 1) / steps } // that have so many steps
	envs, learn := parts(c.Envs, leastEnvs), parts(each, rowsOf(leastRows))
	if learn == 1 && each%2 == 0 && each/2 >= rowsOf(leastHalf) {
		learn = 2
	}
	devices = min(devices, max(envs, learn))
	return &shards{Envs: population.CutTiles(c.Envs, c.Envs/envs, devices), Rows: population.CutTiles(learn, 1, devices)}, nil
}

// counts are the tiles of a device, as inputs of the program (population.Tiles.Count).
type counts struct{ Envs, Rows *graph.Array }

// lived is what was collected, and what the networks say of it.
type lived struct {
	Worlds  World
	Moments moment       // but for Out, Final and After, which nothing else reads
	LogProb *graph.Array // f32[steps, environments]: of the draws
	Value   estimates    // but for Critic, which is among Worlds
}

// live collects and estimates, each tile of environments by itself.
func (g *program) live(collector *collector, s State, in inputs, key random.Key) lived {
	c := g.config
	keys := keysOf(key, c.Horizon, c.Envs)
	if g.shards == nil || g.shards.Envs.Items == g.shards.Envs.Lanes {
		worlds, moments := collector.collect(s.Params, s.Worlds, collector.chances(keys))
		return g.looked(collector, s, worlds, once(moments))
	}
	t := g.shards.Envs
	type packed struct{ Worlds, Steps []*graph.Array }
	type steps struct { // leaves [steps, environments, …]
		Moments               moment
		LogProb, Value, Final *graph.Array
	}
	type after struct { // leaves [environments, …]
		Worlds World
		Last   *graph.Array
	}
	var worldly, stepwise packing
	all := population.Blocks(t, in.Shards.Envs, func(tile *graph.Array) packed {
		first := graph.Mul(tile, t.Lanes)
		mine := func(axis int) func(a *graph.Array) *graph.Array {
			return func(a *graph.Array) *graph.Array { return some(a, first, t.Lanes, axis) }
		}
		own := s
		own.Worlds = graph.MapTree(mine(0), s.Worlds)
		worlds, moments := collector.collect(s.Params, own.Worlds, collector.chances(graph.MapTree(mine(1), keys)))
		l := g.looked(collector, own, worlds, once(moments))
		rows := graph.MapTree(merged, steps{l.Moments, l.LogProb, l.Value.Values, l.Value.Finals})
		return packed{worldly.pack(after{l.Worlds, l.Value.Last}), stepwise.pack(rows)}
	})
	all = graph.MapTree(func(a *graph.Array) *graph.Array { return graph.SliceAxis(a, 0, 0, t.Items/t.Lanes) }, all) // no padding
	joined := worldly.unpack(all.Worlds).(after)
	joined = graph.MapTree(merged, joined)
	rows := graph.MapTree(func(a *graph.Array) *graph.Array { // [tiles, steps x lanes, …]
		behind := a.Dims()[2:]
		a = graph.Reshape(a, append([]int{a.Dim(0), c.Horizon, t.Lanes}, behind...)...)
		return graph.Reshape(graph.MoveAxis(a, 0, 1), append([]int{c.Horizon, c.Envs}, behind...)...)
	}, stepwise.unpack(all.Steps).(steps))
	return once(lived{joined.Worlds, rows.Moments, rows.LogProb, estimates{rows.Value, rows.Final, joined.Last, graph.None{}}})
}

// looked is what was collected by environments as seen by the networks.
func (g *program) looked(collector *collector, s State, worlds World, m moment) lived {
	seen := m
	seen.Observation, seen.Final = collector.each(m.Observation), collector.each(m.Final)
	estimated := g.estimate(collector, s, worlds, seen)
	worlds.Critic, estimated.Critic = estimated.Critic, graph.None{}
	logs := graph.VMap(graph.VMap(func(m moment) *graph.Array {
		return collector.acting.LogProb(s.Params.Head, collector.actions(m.Out, m.Legal), m.Draw)
	}))(m)
	m.Out, m.Final, m.After = nil, nil, graph.None{}
	return lived{worlds, m, logs, estimated}
}

// keysOf are a key's own for each step and environment.
func keysOf(key random.Key, steps, environments int) random.Key {
	all := once(random.Split(key, steps*environments))
	all.Data = graph.Reshape(all.Data, append([]int{steps, environments}, all.Data.Dims()[1:]...)...)
	return all
}

// some are n rows of an array along an axis, from the first on, i32[].
func some(a, first *graph.Array, n, axis int) *graph.Array {
	start := make([]*graph.Array, a.Rank())
	for i := range start {
		start[i] = graph.Zeros(graph.ShapeOf(graph.Int32))
	}
	start[axis] = first
	sizes := append([]int{}, a.Dims()...)
	sizes[axis] = n
	return graph.DynamicSlice(a, start, sizes)
}
