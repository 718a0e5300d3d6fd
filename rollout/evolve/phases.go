package evolve

import (
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// askAll makes the draws of this device's groups: leaves [PerDevice+1, lanes, …].
func (g *generation) askAll(s State, in inputs) any {
	g = g.bound(in)
	keys := g.keys(s)
	return population.Each(g.groups, in.Tiles, g.roomForDraws(), func(local *graph.Array) any {
		ofGroups, _ := g.tileKeys(keys, local)
		return g.ask(s, ofGroups)
	})
}

// playAll makes this device's members of their draws and plays their episodes: what the population reached.
func (g *generation) playAll(s State, in inputs, draws any) Reached {
	g = g.bound(in)
	keys := g.keys(s)
	return g.gathered(population.Each(g.groups, in.Tiles, g.room().Reached, func(local *graph.Array) Reached {
		_, ofMembers := g.tileKeys(keys, local)
		return g.play(s, local, population.At(draws, local), ofMembers)
	}))
}

// tellAll moves the strategy by what the members reached.
func (g *generation) tellAll(s State, in inputs, draws any, reached Reached) State {
	g = g.bound(in)
	g.redraw = false
	return g.tell(s, in, g.keys(s), draws, reached)
}

// Phases runs the parts of a generation as programs of their own: "ask", "play" and "tell", from the state as it is and
// leaving it so, each `repeats` times after a first one. In the whole program the parts share work and memory, so that
// their sum may be more than the generation.
func (e *Evolution) Phases(repeats int) (phases []run.Phase, err error) {
	now, err := e.State()
	if err != nil {
		return nil, err
	}
	g := e.generation
	state := now.(State)
	in := inputs{Tiles: graph.Of(int32(g.groups.PerDevice))}
	x := experiment{strategy: g.strategy, play: g.rollout}
	in.Settings = x.inputs(0).Settings
	one := func(name string, args []any, f func(args []any) any) (any, error) {
		p, err := graph.TraceArgs("generation: "+name, args, graph.TraceOptions{Replicas: g.groups.Devices}, f)
		if err != nil {
			return nil, err
		}
		options := g.rollout.Plan.Compile()
		options.Purpose = "profile of " + e.config.Purpose()
		program, err := e.backend.Compile(p, options)
		if err != nil {
			return nil, err
		}
		defer func() { _ = program.Close() }()
		leaves := graph.Leaves(args)
		out, err := program.Call(leaves)
		if err != nil {
			return nil, err
		}
		seconds := make([]float64, repeats)
		for i := range seconds {
			xlabridge.Free(out)
			start := time.Now()
			if out, err = program.Call(leaves); err != nil {
				return nil, err
			}
			seconds[i] = time.Since(start).Seconds()
		}
		slices.Sort(seconds)
		phases = append(phases, run.Phase{Name: name, Seconds: (seconds[(repeats-1)/2] + seconds[repeats/2]) / 2, Best: seconds[0]})
		return p.OutTree().Unflatten(out), nil
	}
	draws, err := one("ask", []any{state, in}, func(a []any) any { return g.askAll(a[0].(State), a[1].(inputs)) })
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(draws)
	reached, err := one("play", []any{state, in, draws}, func(a []any) any { return g.playAll(a[0].(State), a[1].(inputs), a[2]) })
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(reached)
	told, err := one("tell", []any{state, in, draws, reached}, func(a []any) any {
		return g.tellAll(a[0].(State), a[1].(inputs), a[2], a[3].(Reached))
	})
	if err != nil {
		return nil, err
	}
	xlabridge.Free(told)
	return phases, nil
}
