package neurobench

import (
	"context"
	"fmt"
	"strconv"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Generations returns a workload: generations of a strategy on the sphere function (ask, evaluate, tell).
func Generations(name string, n, members int) Workload {
	return Workload{
		Name: name,
		What: fmt.Sprintf("a generation of %s on the sphere of %d dimensions, %d members", name, n, members),
		Peer: "evosax", PeerArgs: []string{"generation", name, strconv.Itoa(n), strconv.Itoa(members)},
		Work: float64(members),
		Open: func(_ context.Context, b xlabridge.Backend, o Options) (*Runner, error) {
			return openFunction(b, o, name, n, members)
		},
	}
}

// functionState is the state between generations.
type functionState struct {
	Strategy   any
	Key        random.Key
	Generation *graph.Array // i32[]
}

// asked is the result of a tile of groups.
type asked struct {
	Draws   any          // leaves [lanes, …]
	Fitness *graph.Array // f32[sides, lanes]
}

// functionLanes are the groups of a tile: as many as keep products of matrices whole.
const functionLanes = 64

// openFunction opens a search of the sphere's minimum, from ones on.
func openFunction(b xlabridge.Backend, o Options, name string, n, members int) (*Runner, error) {
	s, err := strategy.Make(name, settings.Values{})
	if err != nil {
		return nil, err
	}
	devices := o.Devices
	if devices == 0 {
		devices = b.NumDevices()
	}
	sides := s.GroupSize
	tiles := population.CutTiles(members/sides, functionLanes, devices)
	layout := plan.Plan{Devices: devices, Tile: functionLanes * sides}
	if b.Backend() == "cpu" {
		layout.VectorWidth = plan.VectorWidth
	}
	var first functionState
	if err := graph.Try(func() {
		first = functionState{s.Init(graph.Full(graph.ShapeOf(graph.Float32, n), 1), members), random.New(2),
			graph.Scalar(0, graph.Int32)}
	}); err != nil {
		return nil, err
	}
	loop, err := run.NewLoop(b, run.LoopOptions{Name: "sphere", Purpose: "bench neuro " + name, Plan: layout}, first,
		tiles.Count(), func(state functionState, count *graph.Array) (functionState, *graph.Array) {
			return step(s, tiles, members, state, count)
		})
	if err != nil {
		return nil, err
	}
	r := Timed(func() (float64, error) {
		v, err := loop.Numbers()
		if err != nil {
			return 0, err
		}
		return v[0], nil
	}, loop.Close)
	r.Plan = layout.String()
	return r, nil
}

// step is one generation: the next state, and the members' mean.
func step(s *strategy.Erased, tiles population.Tiles, members int, state functionState,
	count *graph.Array) (functionState, *graph.Array) {
	sides := s.GroupSize
	key := random.FoldIn(state.Key, state.Generation)
	number := graph.Add(graph.Iota(tiles.RowCount()*tiles.Lanes), graph.Mul(tiles.First(), tiles.Lanes))
	keys := graph.VMap2(func(key random.Key, i *graph.Array) random.Key {
		return random.FoldIn(key, i)
	}, graph.InAxes(graph.Unmapped, 0))(random.Key{Data: graph.Barrier(key.Data)[0]}, number)
	rows := graph.Barrier(graph.Reshape(keys.Data, tiles.RowCount(), tiles.Lanes, 2))[0]
	one := func(local *graph.Array) asked {
		drawKeys := random.Key{Data: graph.Barrier(graph.DynamicIndex(rows, local, 0))[0]}
		leaves, tree := graph.Flatten(graph.VMap(func(key random.Key) any {
			return s.Sample(key, state.Strategy, graph.Scalar(0, graph.Int32))
		})(drawKeys))
		draws := tree.Unflatten(graph.Barrier(leaves...))
		fitness := graph.VMap(func(side *graph.Array) *graph.Array {
			return graph.VMap(func(draw any) *graph.Array {
				return graph.Neg(graph.Sum(graph.Square(s.Member(state.Strategy, draw, side).(*graph.Array))))
			})(draws)
		})(graph.Iota(sides))
		return asked{draws, fitness}
	}
	kept := population.Each(tiles, count, population.RowsLike(tiles, one(graph.Scalar(0, graph.Int32))), one)
	fitness := graph.Transpose(tiles.Gather(kept.Fitness), 1, 0, 2)
	fitness = graph.SliceAxis(graph.Reshape(fitness, sides, tiles.Total()*tiles.Lanes), 1, 0, tiles.Items)
	fitness = graph.Barrier(graph.Reshape(fitness, members))[0]
	reached := strategy.Evaluation{Fitness: fitness, Length: graph.OnesLike(fitness)}
	told := s.Tell(state.Strategy, reached, population.Stored(tiles, count, kept.Draws))
	next := functionState{told, state.Key, graph.Add(state.Generation, 1)}
	return next, graph.Neg(graph.Mean(fitness))
}
