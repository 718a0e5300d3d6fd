package neurobench

import (
	"context"
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/xlabridge"
)

// played are the arguments of a program in which a population plays.
type played struct {
	Count   *graph.Array // tiles of a device
	Members any          // [tiles, lanes, …]
	Keys    *graph.Array // u32[tiles, lanes, 2]
}

// OpenPlay draws an experiment's members and compiles their episodes, laid out as the experiment is. The result is the
// mean return. Runner.Compile is the time of the episodes' program alone, as it is for peers.
func OpenPlay(ctx context.Context, b xlabridge.Backend, c evolve.Config) (*Runner, error) {
	return OpenPlayOf(ctx, b, c, policy.Policy.Init)
}

// OpenPlayOf is OpenPlay with members that init draws.
func OpenPlayOf(ctx context.Context, b xlabridge.Backend, c evolve.Config,
	init func(p policy.Policy, key random.Key) any) (*Runner, error) {
	x, err := c.NewSetup(generation.Options{}, plan.MachineOf(b, c.Devices))
	if err != nil {
		return nil, err
	}
	defer x.Wait()
	if _, err := x.Choose(ctx, b); err != nil {
		return nil, err
	}
	search, err := x.Program()
	if err != nil {
		return nil, err
	}
	rollout := search.Rollout
	tiles := population.CutTiles(c.Population, rollout.Plan.Tile, rollout.Plan.Devices)
	tiles.Single = tiles.Total() == 1 && plan.MachineOf(b, 0).Accelerator
	options := rollout.Plan.Compile()
	options.Purpose, options.NoCache = "bench "+c.Purpose(), true
	compile := func(name string, args []any, f func(args []any) any) (*xlabridge.Compiled, error) {
		p, err := graph.TraceArgs(name, args, graph.TraceOptions{Replicas: tiles.Devices}, f)
		if err != nil {
			return nil, err
		}
		return b.Compile(p, options)
	}
	drawing, err := compile("members", []any{tiles.Count()}, func(args []any) any {
		return members(rollout, init, tiles, args[0].(*graph.Array))
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = drawing.Close() }()
	count, err := xlabridge.Put(b, tiles.Devices, tiles.Count())
	if err != nil {
		return nil, err
	}
	out, err := drawing.Call([]*graph.Array{count})
	if err != nil {
		return nil, err
	}
	arg := drawing.Program.OutTree().Unflatten(out)
	start := time.Now()
	program, err := compile("play", []any{arg}, func(args []any) any {
		return meanReturn(rollout, tiles, args[0].(played))
	})
	if err != nil {
		xlabridge.Free(out)
		return nil, err
	}
	seconds := time.Since(start).Seconds()
	r := Calls(program, out, number)
	r.Plan, r.Compile = x.Layout.String(), &seconds
	return r, nil
}

// members draws the members of each tile and their keys.
func members(rollout *episode.Rollout, init func(p policy.Policy, key random.Key) any, tiles population.Tiles,
	count *graph.Array) played {
	number := graph.Add(graph.Iota(tiles.RowCount()*tiles.Lanes), graph.Mul(tiles.First(), tiles.Lanes))
	keys := graph.VMap(func(i *graph.Array) *graph.Array { return random.FoldIn(random.New(1), i).Data })(number)
	rows := graph.Barrier(graph.Reshape(keys, tiles.RowCount(), tiles.Lanes, 2))[0]
	one := func(local *graph.Array) any {
		return graph.VMap(func(key random.Key) any {
			return init(rollout.Policy, key)
		})(random.Key{Data: graph.DynamicIndex(rows, local, 0)})
	}
	all := population.Each(tiles, count, population.RowsLike(tiles, one(graph.Scalar(0, graph.Int32))), one)
	return played{count, all, rows}
}

// meanReturn returns the mean return of all members.
func meanReturn(rollout *episode.Rollout, tiles population.Tiles, p played) *graph.Array {
	one := func(local *graph.Array) *graph.Array {
		fitness, _ := rollout.Evaluate(population.At(p.Members, local), random.Key{
			Data: graph.Barrier(graph.DynamicIndex(p.Keys, local, 0))[0]})
		return fitness
	}
	rows := population.Each(tiles, p.Count, tiles.Rows(graph.Float32, tiles.Lanes), one)
	all := graph.Reshape(tiles.Gather(rows), tiles.Total()*tiles.Lanes)
	return graph.Mean(graph.SliceAxis(all, 0, 0, tiles.Items))
}
