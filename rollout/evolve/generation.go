package evolve

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// State is everything that one generation hands to the next. It is the same on every device.
type State struct {
	Strategy   any
	Key        random.Key   // of the run; generation g uses FoldIn(Key, g)
	Generation *graph.Array // i32[]: generations done
	Best       Best
	Observed   *policy.Moments // of all observations so far, by which those of the next generation are normalised; nil: they are not
	Hall       *Hall           // nil: none is kept
	Migration  *Migration      // nil: nobody leaves or arrives
}

// Best is the member with the highest fitness so far.
type Best struct {
	Genome     any          // as the strategy sees it: a tree, or f32[n]
	Fitness    *graph.Array // f32[]: -Inf before the first generation, and while all have been NaN
	Generation *graph.Array // i32[]: in which generation, from 0
	// Observation is how observations were normalised in that generation; nil: they were not.
	Observation *policy.Scale
}

// Inputs of a generation that are not handed on.
type inputs struct {
	Settings map[string]*graph.Array // f32[], by name: the strategy's and the policy's
	Tiles    *graph.Array            // i32[]: tiles of a device; see population.Each
}

// generation is the program of one generation: ask, play, tell.
type generation struct {
	rollout  *episode.Rollout
	layout   *population.Layout // of a genome that is one vector; nil: genomes are the policy's trees
	strategy strategy.Strategy
	groups   population.Tiles // the groups of the population, cut over the devices
	draw     any              // one group's draw, of which only the shapes are looked at
	// redraw: draws are not kept from ask to tell, but made again from their keys.
	redraw bool
	places int // of the hall of fame
	migrating
	// deviceKeys: keys count groups and members of one device, under a key of the device's own.
	deviceKeys bool
}

// tile is what is kept of each tile.
type tile struct {
	Draws any // leaves [lanes, …]; with redraw none
	Reached
}

// Reached is what members reached.
type Reached struct {
	Summary  episode.Summary // of each, without what it observed
	Observed *policy.Moments // of the observations of all together; nil where they are not gathered
}

// members is the population's size.
func (g *generation) members() int { return g.groups.Items * g.strategy.GroupSize() }

// genome makes a genome of a policy's parameters, params the other way round. by is how observations are normalised, which is no
// part of a genome; nil: they are not.
func (g *generation) genome(params any) any {
	if g.layout == nil {
		return params
	}
	return g.layout.Ravel(params)
}

func (g *generation) params(genome any, by *policy.Scale) any {
	if g.layout != nil {
		genome = g.layout.Unravel(genome.(*graph.Array))
	}
	if by != nil {
		return policy.Normalized{Own: genome, Observation: *by}
	}
	return genome
}

// policy is what evolves: what normalises observations does not.
func (g *generation) policy() policy.Policy { return policy.Behind(g.rollout.Policy) }

// scale is how a generation's observations are normalised; nil: they are not.
func (s State) scale() *policy.Scale {
	if s.Observed == nil {
		return nil
	}
	by := s.Observed.Scale()
	return &by
}

// bound is the generation with the program's inputs in the place of the settings.
func (g *generation) bound(in inputs) *generation {
	b := *g
	b.rollout, b.strategy = g.rollout.Bound(in.Settings), settings.Bind(g.strategy, in.Settings, "strategy.")
	return &b
}

// start is the state before the first generation.
func (g *generation) start(key random.Key) State {
	keys := random.SplitN(key, 2)
	genome := g.genome(g.policy().Init(keys[0]))
	s := State{Strategy: g.strategy.Init(genome, g.members()), Key: keys[1], Generation: graph.Zeros(graph.ShapeOf(graph.Int32)),
		Observed: g.rollout.Nothing().Observed}
	s.Best = Best{genome, graph.Full(graph.ShapeOf(graph.Float32), math.Inf(-1)), graph.Zeros(graph.ShapeOf(graph.Int32)), s.scale()}
	s.Hall = newHall(s.Best, g.places)
	s.Migration = g.migrating.start(g.strategy, genome, g.members(), graph.Zeros(graph.ShapeOf(graph.Int32)))
	return s
}

// run is one generation, on each device for its tiles. It returns the next state, and of the members fitness, lengths, the steps in
// which they failed and what the policy reports of each, f32[3+reports, population]: one small transfer, of which the host makes the metrics.
func (g *generation) run(s State, in inputs) (State, *graph.Array) {
	g = g.bound(in)
	keys := g.keys(s)
	one := func(local *graph.Array) tile {
		ofGroups, ofMembers := g.tileKeys(keys, local)
		draws := g.ask(s, ofGroups)
		t := tile{draws, g.play(s, local, draws, ofMembers)}
		if g.redraw {
			t.Draws = graph.None{}
		}
		return t
	}
	rows := population.Each(g.groups, in.Tiles, g.room(), one)
	reached := g.gathered(rows.Reached)
	next := g.tell(s, in, keys, rows.Draws, reached)
	rowsOf := []*graph.Array{reached.Summary.Return, reached.Summary.Length, reached.Summary.Failed}
	if r := reached.Summary.Reports; r != nil {
		for i := range r.Dim(1) {
			rowsOf = append(rowsOf, graph.Squeeze(graph.SliceAxis(r, 1, i, i+1), 1))
		}
	}
	return next, graph.Stack(rowsOf, 0)
}

// gathered is what the whole population reached, of what each tile did.
func (g *generation) gathered(rows Reached) Reached {
	all := Reached{Summary: graph.MapTree(g.inOrder, rows.Summary)}
	if rows.Observed != nil {
		observed := population.Fold(g.groups, *rows.Observed, policy.Moments.And)
		all.Observed = &observed
	}
	return all
}

// room is for the results of all tiles.
func (g *generation) room() tile {
	lanes, sides := g.groups.Lanes, g.strategy.GroupSize()
	perSide := func(a *graph.Array) *graph.Array {
		return g.groups.Rows(a.DType(), append([]int{sides, lanes}, a.Dims()...)...)
	}
	nothing := g.rollout.Nothing()
	t := tile{Draws: graph.None{}}
	if nothing.Observed != nil {
		observed := population.RowsLike(g.groups, *nothing.Observed)
		t.Observed, nothing.Observed = &observed, nil
	}
	t.Summary = graph.MapTree(perSide, nothing)
	if !g.redraw {
		t.Draws = g.roomForDraws()
	}
	return t
}

// roomForDraws is for the draws of all tiles.
func (g *generation) roomForDraws() any {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return g.groups.Rows(a.DType(), append([]int{g.groups.Lanes}, a.Dims()...)...)
	}, g.draw)
}

// learn finds the layout of genomes and draws out, before anything is traced.
func (g *generation) learn() error {
	return graph.Try(func() {
		params := g.policy().Init(random.New(0))
		if _, flat := g.strategy.(strategy.Flat); flat {
			g.layout = population.LayoutOf(params)
		}
		g.draw = strategy.Draw(g.strategy, random.New(0), g.strategy.Init(g.genome(params), g.members()), graph.Zeros(graph.ShapeOf(graph.Int32)))
	})
}

// ask makes the draws of one tile, leaves [lanes, …]; keys are those of its groups, as groupKeys gives them.
func (g *generation) ask(s State, keys *graph.Array) any {
	var draws any
	if _, ok := g.strategy.(strategy.Indexed); ok {
		draws = graph.VMap(func(key *graph.Array) any {
			group := graph.Min(graph.Convert(graph.Index(key, 2), graph.Int32), g.groups.Items-1) // padding has the last one's place
			return strategy.Draw(g.strategy, random.Key{Data: graph.SliceAxis(key, 0, 0, 2)}, s.Strategy, group)
		})(keys)
	} else {
		draws = graph.VMap(func(key random.Key) any { return g.strategy.Sample(key, s.Strategy) })(random.Key{Data: keys})
	}
	// Drawn once, then read: without the barrier the compiler draws it again for each of its uses.
	leaves, tree := graph.Flatten(draws)
	return tree.Unflatten(graph.Barrier(leaves...))
}

// play makes the members of one tile, local, of its draws and plays their episodes: [sides, lanes, …]. keys are the members',
// u32[sides, lanes, 2].
func (g *generation) play(s State, local *graph.Array, draws any, keys *graph.Array) (r Reached) {
	play := g.playFormed
	if g.shares() {
		play = g.playShared
	}
	r.Summary = play(s, draws, keys)
	// A return beyond all numbers is a failure as NaN is: it must not win.
	r.Summary.Return = graph.Select(graph.IsFinite(r.Summary.Return), r.Summary.Return, math.NaN())
	if r.Summary.Observed != nil {
		r.Observed, r.Summary.Observed = g.observed(local, *r.Summary.Observed), nil
	}
	return r
}

// playFormed forms all members of the tile.
func (g *generation) playFormed(s State, draws any, keys *graph.Array) episode.Summary {
	lanes, sides := g.groups.Lanes, g.strategy.GroupSize()
	members := graph.VMap(func(side *graph.Array) any {
		return graph.VMap(func(draw any) any { return g.strategy.Member(s.Strategy, draw, side) })(draws)
	})(graph.Iota(sides))
	flat := graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Reshape(a, append([]int{sides * lanes}, a.Dims()[2:]...)...)
	}, members)
	by := s.scale()
	summary := graph.VMap2(func(genome any, key random.Key) episode.Summary {
		return g.rollout.Member(g.params(genome, by), key)
	}, g.rollout.Plan.VMap()...)(flat, random.Key{Data: graph.Reshape(keys, sides*lanes, 2)})
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Reshape(a, append([]int{sides, lanes}, a.Dims()[1:]...)...)
	}, summary)
}

// observed are the moments of what the members of one tile, local, have observed together, without the padding's: of, leaves [sides, lanes, …], has
// those of each.
func (g *generation) observed(local *graph.Array, of policy.Moments) *policy.Moments {
	of = graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Reshape(a, append([]int{-1}, a.Dims()[2:]...)...) }, of)
	group := graph.Add(graph.Rem(graph.Iota(of.Count.Dim(0)), g.groups.Lanes), graph.Mul(graph.Add(g.groups.First(), local), g.groups.Lanes))
	of.Count = graph.Select(graph.Lt(group, g.groups.Items), of.Count, graph.ZerosLike(of.Count))
	all := of.Together()
	return &all
}

// shares tells whether members are played without forming the matrices that they share.
func (g *generation) shares() bool {
	_, gives := g.strategy.(strategy.Sharing)
	_, takes := g.rollout.Policy.(policy.Sharer)
	return gives && takes && g.layout == nil
}

// playShared plays members that share their matrices, for which one product serves the whole tile. The sides of a group are an
// axis of their own, so that they share their factors too.
func (g *generation) playShared(s State, draws any, keys *graph.Array) episode.Summary {
	es := g.strategy.(strategy.Sharing)
	options := g.rollout.Plan.VMap()
	return graph.VMap2(func(side *graph.Array, keys random.Key) episode.Summary {
		return graph.VMap2(func(draw any, key random.Key) episode.Summary {
			return g.rollout.Member(es.Shared(s.Strategy, draw, side), key)
		}, options...)(draws, keys)
	}, options...)(graph.Iota(g.strategy.GroupSize()), random.Key{Data: keys})
}

// tell moves the strategy by what the members reached: the next state. draws are what run kept of them.
func (g *generation) tell(s State, in inputs, keys *graph.Array, draws any, reached Reached) State {
	all := population.Kept(g.groups, in.Tiles, draws)
	ofTile := func(local *graph.Array) any { return population.At(draws, local) }
	if g.redraw {
		ofGroups := g.groupKeys(keys)
		all = population.Redrawn(g.groups, in.Tiles, ofGroups, func(keys *graph.Array) any { return g.ask(s, keys) })
		ofTile = func(local *graph.Array) any {
			return g.ask(s, graph.Barrier(graph.DynamicIndex(ofGroups, local, 0))[0])
		}
	}
	best := g.best(s, reached.Summary.Return, ofTile)
	next := State{Key: s.Key, Generation: graph.Add(s.Generation, 1), Best: s.Best.or(best), Hall: s.Hall.with(best)}
	if reached.Observed != nil {
		observed := s.Observed.And(*reached.Observed)
		next.Observed = &observed
	}
	reaching := evaluation(reached.Summary)
	if s.Migration != nil {
		t := g.receive(s, reaching, draws)
		next.Migration = g.migrate(s, in, keys, reaching.Fitness, draws, t)
		reaching, all = t.evaluation, population.Kept(g.groups, in.Tiles, t.draws)
	}
	next.Strategy = g.strategy.Tell(s.Strategy, reaching, all)
	return next
}

// evaluation is what a strategy is told of the members' summaries.
func evaluation(reached episode.Summary) strategy.Evaluation {
	return strategy.Evaluation{Fitness: reached.Return, Length: reached.Length, Objectives: reached.Objectives, Descriptor: reached.Descriptor}
}

// keys are those of this device's tiles, u32[PerDevice+1, 1+sides, lanes, 2]: of each group's noise, then of its members.
//
// With ask = FoldIn(State.Key, 2·generation) and play = FoldIn(State.Key, 2·generation+1), group i has the key
// FoldIn(ask, i) and member i the key FoldIn(play, i), counted over the whole population. With
// deviceKeys, ask and play are FoldIn of these and the device's number, and i counts from the device's first group. They are made for all tiles at
// once, outside of the loop over tiles: whole numbers come out the same whatever the shapes.
func (g *generation) keys(s State) *graph.Array {
	t, sides := g.groups, g.strategy.GroupSize()
	fold := func(key random.Key, i *graph.Array) random.Key { return random.FoldIn(key, i) }
	parents := graph.VMap2(fold, graph.InAxes(graph.Unmapped, 0))(s.Key, graph.Add(graph.Mul(s.Generation, 2), graph.Iota(2)))
	first := graph.Mul(t.First(), t.Lanes)
	if g.deviceKeys {
		parents = graph.VMap2(fold, graph.InAxes(0, graph.Unmapped))(parents, graph.AxisIndex(graph.DeviceAxis))
		first = graph.Zeros(graph.ShapeOf(graph.Int32))
	}
	// Row 0 counts groups, row 1+side the members of that side.
	row := graph.Iota(1 + sides)
	parent := graph.Take(graph.Barrier(parents.Data)[0], graph.Min(row, 1), 0)
	offset := graph.Mul(graph.Max(graph.Sub(row, 1), 0), t.Items)
	group := graph.Add(graph.Reshape(graph.Iota((t.PerDevice+1)*t.Lanes), t.PerDevice+1, t.Lanes), first)
	all := graph.VMap(func(group *graph.Array) random.Key { // a tile
		return graph.VMap2(func(parent random.Key, offset *graph.Array) random.Key { // a row
			return graph.VMap2(fold, graph.InAxes(graph.Unmapped, 0))(parent, graph.Add(group, offset))
		})(random.Key{Data: parent}, offset)
	})(group)
	return graph.Barrier(all.Data)[0]
}

// groupKeys are those of the groups of this device's tiles, u32[PerDevice+1, lanes, 2]; for an Indexed strategy
// u32[PerDevice+1, lanes, 3], the group's number behind its key.
func (g *generation) groupKeys(keys *graph.Array) *graph.Array {
	t := g.groups
	ofGroups := graph.Reshape(graph.SliceAxis(keys, 1, 0, 1), keys.Dim(0), t.Lanes, 2)
	if _, ok := g.strategy.(strategy.Indexed); !ok {
		return ofGroups
	}
	number := graph.Add(graph.Iota((t.PerDevice+1)*t.Lanes), graph.Mul(t.First(), t.Lanes))
	column := graph.Convert(graph.Reshape(number, t.PerDevice+1, t.Lanes, 1), graph.Uint32)
	return graph.Barrier(graph.Concatenate(2, ofGroups, column))[0]
}

// tileKeys are the keys of one tile: of its groups, as groupKeys, and of its members, u32[sides, lanes, 2].
func (g *generation) tileKeys(keys, local *graph.Array) (ofGroups, ofMembers *graph.Array) {
	all := keys
	keys = graph.Barrier(graph.DynamicIndex(keys, local, 0))[0]
	ofGroups = graph.Index(keys, 0)
	if _, ok := g.strategy.(strategy.Indexed); ok {
		ofGroups = graph.Barrier(graph.DynamicIndex(g.groupKeys(all), local, 0))[0]
	}
	return ofGroups, graph.SliceAxis(keys, 0, 1, 1+g.strategy.GroupSize())
}

// inOrder gathers what is known of each member, [PerDevice, sides, lanes, …], in member order and without the padding.
func (g *generation) inOrder(rows *graph.Array) *graph.Array {
	all := g.groups.Gather(rows) // [tiles, sides, lanes, …]
	sides, lanes, rest := all.Dim(1), all.Dim(2), all.Dims()[3:]
	axes := []int{1, 0, 2}
	for i := range rest {
		axes = append(axes, 3+i)
	}
	all = graph.Reshape(graph.Transpose(all, axes...), append([]int{sides, g.groups.Total() * lanes}, rest...)...)
	all = graph.SliceAxis(all, 1, 0, g.groups.Items)
	return graph.Barrier(graph.Reshape(all, append([]int{sides * g.groups.Items}, rest...)...))[0]
}

// best is the generation's best member, the first of equal ones. draws gives those of a tile of this device.
func (g *generation) best(s State, fitness *graph.Array, draws func(local *graph.Array) any) Best {
	f := strategy.WorstIfNaN(fitness)
	at := graph.ArgMax(f, 0)
	value := graph.DynamicIndex(f, at, 0)
	group := graph.Rem(at, g.groups.Items)
	tile := graph.Quo(group, g.groups.Lanes)
	// Every device offers what lies at this place on it, and all take the owner's.
	mine := population.At(draws(graph.Rem(tile, g.groups.PerDevice)), graph.Rem(group, g.groups.Lanes))
	draw := graph.MapTree(func(a *graph.Array) *graph.Array {
		if g.groups.Alone {
			return a
		}
		return graph.DynamicIndex(graph.AllGather(a, graph.DeviceAxis), graph.Quo(tile, g.groups.PerDevice), 0)
	}, mine)
	genome := g.strategy.Member(s.Strategy, draw, graph.Quo(at, g.groups.Items))
	return Best{genome, value, s.Generation, s.scale()}
}

// or is the other one where its fitness is higher.
func (b Best) or(other Best) Best {
	better := graph.Gt(other.Fitness, b.Fitness)
	return graph.MapTree2(func(yes, no *graph.Array) *graph.Array { return graph.Select(better, yes, no) }, other, b)
}
