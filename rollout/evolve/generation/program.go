package generation

import (
	"fmt"
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
)

// State is the carry from one generation to the next. It is the same on every device.
type State struct {
	Strategy   any
	Key        random.Key   // of the run; generation g uses FoldIn(Key, g)
	Generation *graph.Array // i32[]: generations done
	Best       Best
	Observed   Observed // statistics of all observations so far, for the next generation
	Hall       Hall
	Migration  Migration
}

// Best is the member with the highest fitness so far.
type Best struct {
	Genome      any          // a tree, or f32[n] for a strategy that is Flat
	Fitness     *graph.Array // f32[]: -Inf before the first generation, and while all fitness is NaN
	Generation  *graph.Array // i32[]: from 0
	Observation Scaling      // in that generation
}

// max returns the member with the higher fitness, b if they are equal.
func (b Best) max(other Best) Best {
	return graph.SelectTree(other.Fitness.Gt(b.Fitness), other, b)
}

// Inputs are the inputs of a generation that do not change.
type Inputs struct {
	Settings map[string]*graph.Array // f32[], by name: Numbers of strategy, policy and environment; evalEvery
	Tiles    *graph.Array            // i32[]: tiles of a device; see population.Each
	Counter  *graph.Array            `tree:"optional"` // i32[]: counts the tiles that are played; see graph.Counted
}

// Program is the program of one generation: ask, evaluate, tell. Methods with a State are traced.
//
// A group is GroupSize members that share a draw; its members are its sides. Groups are cut into tiles over the
// devices, and a tile's groups are its lanes. So arrays about a device's members are [RowCount, sides, lanes, …].
type Program struct {
	Rollout  *episode.Rollout
	Strategy *strategy.Erased
	Genomes  *population.Layout // of genomes that are vectors; nil: genomes are the policy's trees
	Groups   population.Tiles   // the population's groups, cut over the devices
	Options  Options
	Places   int // in the hall of fame
	// EvalMembers is the number of members of an evaluation, in tiles of their own behind the population. They all are
	// the genome that the run would save now, and play new episodes. No part of a generation but the rollout sees them.
	EvalMembers int
	Result      any // that genome; nil: the strategy's Mean
	draw        any // one group's draw; only its shapes are read
	// regenerate makes tell draw noise again from its keys instead of storing it from ask to tell.
	regenerate bool
}

// Results are the results of members.
type Results struct {
	Summary  episode.Summary // of each member, without Observed
	Observed Observed        // of all members together
}

// tileResult is the result of a tile.
type tileResult struct {
	Draws any // leaves [lanes, …]; graph.None if noise is regenerated
	Results
}

// Start returns the state before the first generation.
func (p *Program) Start(key random.Key) State {
	keys := random.SplitN(key, 2)
	genome := p.genome(p.policy().Init(keys[0]))
	s := State{Strategy: p.Strategy.Init(genome, p.members()), Key: keys[1],
		Generation: graph.Scalar(0, graph.Int32), Observed: observedOf(p.Rollout.Nothing().Observed)}
	s.Best = Best{genome, graph.Scalar(math.Inf(-1)),
		graph.Scalar(0, graph.Int32), s.Observed.Scale()}
	s.Hall = newHall(s.Best, p.Places)
	s.Migration = p.startMigration(genome)
	return s
}

// Run is one generation; each device runs its tiles. It returns the next state, and f32[(3+reports)·population + r +
// 3·EvalMembers]: each member's fitness, then each one's length, step in which it failed, and the policy's reports; the
// r reports of the strategy; the numbers of the evaluation. The host computes the metrics from this one small transfer.
func (p *Program) Run(s State, in Inputs) (State, *graph.Array) {
	p = p.Bind(in)
	keys, result := p.keys(s), p.result(s)
	rows := population.Each(p.playing(s, in), in.Tiles, p.buffers(), func(tile *graph.Array) tileResult {
		tile = graph.Counted(in.Counter, tile)
		k := keys.tile(tile)
		draws := p.ask(s, k)
		results := p.evaluate(s, tile, draws, result, k.Members)
		if p.regenerate {
			return tileResult{graph.None{}, results}
		}
		return tileResult{draws, results}
	})
	noise := p.storedNoise(in, rows.Draws)
	if p.regenerate {
		noise = p.regeneratedNoise(s, in, keys)
	}
	return p.tellWithNumbers(s, in, keys, noise, p.gather(rows.Results))
}

// tellWithNumbers is tell, given the rows of all tiles, with the numbers of the generation for the host.
func (p *Program) tellWithNumbers(s State, in Inputs, keys memberKeys, n noise, rows Results) (State, *graph.Array) {
	results := p.join(rows)
	next := p.tell(s, in, keys, n, results)
	numbers := []*graph.Array{graph.Flatten1D(results.metrics())}
	if p.Strategy.Report != nil {
		numbers = append(numbers, p.Strategy.Report(next.Strategy))
	}
	if p.EvalMembers > 0 {
		numbers = append(numbers, p.evaluated(rows.Summary))
	}
	return next, graph.Concatenate(0, numbers...)
}

// ask draws for the groups of one tile, leaves [lanes, …].
func (p *Program) ask(s State, k memberKeys) any {
	return p.Strategy.SampleEach(k.Groups, s.Strategy, k.Index)
}

// evaluate plays the episodes of one tile's members: leaves [sides, lanes, …]. keys are u32[sides, lanes, 2]. In a tile
// of an evaluation all play the genome result.
func (p *Program) evaluate(s State, tile *graph.Array, draws, result any, keys random.Key) Results {
	rollout := p.rolloutEach
	if p.sharesMatrices() {
		rollout = p.rolloutShared
	}
	summary := rollout(s, tile, draws, result, keys)
	// An infinite return is a failure, like NaN.
	summary.Return = graph.Select(summary.Return.IsFinite(), summary.Return, math.NaN())
	observed := p.observed(tile, summary.Observed)
	summary.Observed = nil
	return Results{summary, observed}
}

// rolloutEach makes each member of the tile and plays it.
func (p *Program) rolloutEach(s State, tile *graph.Array, draws, result any, keys random.Key) episode.Summary {
	lanes, sides := p.Groups.Lanes, p.Strategy.GroupSize
	evaluated := p.Groups.IsExtra(tile)
	members := p.Strategy.Members(s.Strategy, draws, func(member any) any {
		if p.EvalMembers == 0 {
			return member
		}
		return graph.SelectTree(evaluated, result, member)
	})
	scale := s.Observed.Scale()
	summary := graph.VMap2(func(genome any, key random.Key) episode.Summary {
		return p.Rollout.Member(p.Member(genome, scale), key)
	}, p.Rollout.Plan.VMap()...)(members, random.Key{Data: keys.Data.MergeAxes(0, 2)})
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.SplitAxis(0, sides, lanes) }, summary)
}

// rolloutShared plays members that share their matrices: one product serves the whole tile. Sides are a separate axis,
// so that the sides of a group share their factors.
func (p *Program) rolloutShared(s State, tile *graph.Array, draws, result any, keys random.Key) episode.Summary {
	options := p.Rollout.Plan.VMap()
	evaluated := p.Groups.IsExtra(tile)
	return graph.VMap2(func(side *graph.Array, keys random.Key) episode.Summary {
		return graph.VMap2(func(draw any, key random.Key) episode.Summary {
			shared := p.Strategy.Shared(s.Strategy, draw, side)
			if n := len(graph.Leaves(shared.Params)); shared.Params == nil || n != len(shared.Factors) {
				panic(envs.ResultError(p.Strategy.Settings, "strategy", "Traits", fmt.Sprintf("Shared returned Params "+
					"of %d arrays and %d Factors, want Params as the policy's Init returns them and Factors for each "+
					"array", n, len(shared.Factors))))
			}
			if p.EvalMembers > 0 {
				shared = withoutNoise(evaluated, result, shared)
			}
			return p.Rollout.Member(shared, key)
		}, options...)(draws, keys)
	}, options...)(graph.Iota(p.Strategy.GroupSize), keys)
}

// sharesMatrices reports whether members are played without forming their matrices.
func (p *Program) sharesMatrices() bool {
	form := p.Rollout.Policy.Traits().Prepared
	return p.Strategy.Shared != nil && form != nil && form.Shared != nil && p.Genomes == nil
}

// tell updates the strategy by the members' results and returns the next state.
func (p *Program) tell(s State, in Inputs, keys memberKeys, n noise, results Results) State {
	best := p.best(s, results.Summary.Return, n)
	next := State{Key: s.Key, Generation: s.Generation.Add(1), Best: s.Best.max(best), Hall: s.Hall.with(best),
		Observed: s.Observed.merge(results.Observed)}
	evaluated := evaluation(results.Summary)
	evaluated, n, next.Migration = s.Migration.migrate(p, s, in, keys, evaluated, n)
	next.Strategy = p.Strategy.Tell(s.Strategy, evaluated, n)
	p.sameTree("Tell", next.Strategy, s.Strategy, "as the state that it gets")
	return next
}

// evaluation returns the members' results for Tell.
func evaluation(s episode.Summary) strategy.Evaluation {
	return strategy.Evaluation{Fitness: s.Return, Length: s.Length, Objectives: s.Objectives, Descriptor: s.Descriptor}
}

// best returns the generation's best member, the first among equal ones.
func (p *Program) best(s State, fitness *graph.Array, n noise) Best {
	f := strategy.WorstIfNaN(fitness)
	member := f.ArgMax(0)
	value := graph.DynamicIndex(f, member, 0)
	group := member.Rem(p.Groups.Items)
	tile := graph.Quo(group, p.Groups.Lanes)
	// Each device offers its draw at this place, and all take that of the device that has the member.
	mine := population.At(n.tile(tile.Rem(p.Groups.PerDevice)), group.Rem(p.Groups.Lanes))
	draw := graph.MapTree(func(a *graph.Array) *graph.Array {
		if p.Groups.Alone {
			return a
		}
		return graph.DynamicIndex(graph.AllGather(a, graph.DeviceAxis), graph.Quo(tile, p.Groups.PerDevice), 0)
	}, mine)
	genome := p.Strategy.Member(s.Strategy, draw, graph.Quo(member, p.Groups.Items))
	return Best{genome, value, s.Generation, s.Observed.Scale()}
}

// noise holds the draws of the population's groups.
type noise struct {
	population.Draws
	tile func(tile *graph.Array) any // the draws of one tile of this device, leaves [lanes, …]
	rows any                         // stored draws, leaves [RowCount, lanes, …]; nil if noise is regenerated
}

func (p *Program) storedNoise(in Inputs, rows any) noise {
	return noise{population.Stored(p.Groups, in.Tiles, rows), func(tile *graph.Array) any {
		return population.At(rows, tile)
	}, rows}
}

func (p *Program) regeneratedNoise(s State, in Inputs, keys memberKeys) noise {
	draw := func(k memberKeys) any {
		k.Groups = random.Clone(k.Groups) // the draws that were evaluated
		return p.ask(s, k)
	}
	return noise{population.Regenerated(p.Groups, in.Tiles, keys, draw), func(tile *graph.Array) any {
		return draw(keys.tile(tile))
	}, nil}
}

// buffers returns zeros for the results of all tiles.
func (p *Program) buffers() tileResult {
	lanes, sides := p.Groups.Lanes, p.Strategy.GroupSize
	nothing := p.Rollout.Nothing()
	t := tileResult{Draws: graph.None{}}
	t.Observed, nothing.Observed = population.RowsLike(p.Groups, observedOf(nothing.Observed)), nil
	t.Summary = population.RowsLike(p.Groups, population.ZeroRows(sides, population.ZeroRows(lanes, nothing)))
	if !p.regenerate {
		t.Draws = p.drawBuffers()
	}
	return t
}

// drawBuffers returns zeros for the draws of all tiles.
func (p *Program) drawBuffers() any {
	return population.RowsLike(p.Groups, population.ZeroRows(p.Groups.Lanes, p.draw))
}

// gather returns the rows of all tiles, given those of each device.
func (p *Program) gather(rows Results) Results { return graph.MapTree(p.Groups.GatherAll, rows) }

// join returns the results of the whole population, given the rows of all tiles, [tiles, …].
func (p *Program) join(rows Results) Results {
	return Results{graph.MapTree(p.inOrder, rows.Summary), rows.Observed.fold()}
}

// inOrder puts rows of all tiles, [tiles, sides, lanes, …], in member order and without padding.
func (p *Program) inOrder(rows *graph.Array) *graph.Array {
	return graph.Once(graph.SliceAxis(lanesInOrder(rows), 1, 0, p.Groups.Items).MergeAxes(0, 2))
}

// lanesInOrder puts the lanes of all tiles one after the other: [sides, tiles·lanes, …].
func lanesInOrder(rows *graph.Array) *graph.Array { return rows.MoveAxis(1, 0).MergeAxes(1, 2) }

// metrics returns f32[3+reports, population]: the numbers of the members, see Program.Run.
func (r Results) metrics() *graph.Array {
	rows := []*graph.Array{r.Summary.Return, r.Summary.Length, r.Summary.Failed}
	if reports := r.Summary.Reports; reports != nil {
		for i := range reports.Dim(1) {
			rows = append(rows, graph.SliceAxis(reports, 1, i, i+1).Squeeze(1))
		}
	}
	return graph.Stack(rows, 0)
}

// members returns the population's size.
func (p *Program) members() int { return p.Groups.Items * p.Strategy.GroupSize }

// policy returns the policy that evolves, without the normalization of observations.
func (p *Program) policy() policy.Policy { return policy.Unwrap(p.Rollout.Policy) }

// genome returns the genome of a policy's parameters.
func (p *Program) genome(params any) any {
	if p.Genomes == nil {
		return params
	}
	return p.Genomes.Ravel(params)
}

// Member returns the parameters of a genome, with observations normalized by scale.
func (p *Program) Member(genome any, scale Scaling) any {
	if p.Genomes != nil {
		genome = p.Genomes.Unravel(genome.(*graph.Array))
	}
	return scale.params(genome)
}

// Bind returns the program with its inputs instead of the settings.
func (p *Program) Bind(in Inputs) *Program {
	bound := *p
	bound.Rollout = p.Rollout.Bound(in.Settings)
	bound.Strategy = p.Strategy.Bind(in.Settings)
	return &bound
}

// Ask, Evaluate and Tell are the parts of Run as separate programs, for profiles. Ask returns the draws of this
// device's groups, leaves [RowCount, lanes, …].
func (p *Program) Ask(s State, in Inputs) any {
	p = p.Bind(in)
	keys := p.keys(s)
	return population.Each(p.Groups, in.Tiles, p.drawBuffers(), func(tile *graph.Array) any {
		return p.ask(s, keys.tile(tile))
	})
}

// Evaluate returns the results of the whole population, given draws as Ask returns them.
func (p *Program) Evaluate(s State, in Inputs, draws any) Results {
	p = p.Bind(in)
	keys, result := p.keys(s), p.result(s)
	return p.join(p.gather(population.Each(p.Groups, in.Tiles, p.buffers().Results, func(tile *graph.Array) Results {
		return p.evaluate(s, tile, population.At(draws, tile), result, keys.tile(tile).Members)
	})))
}

// Tell returns the next state, given draws and results as Ask and Evaluate return them.
func (p *Program) Tell(s State, in Inputs, draws any, results Results) State {
	p = p.Bind(in)
	return p.tell(s, in, p.keys(s), p.storedNoise(in, draws), results)
}

// Cost counts the work of a traced generation, or of a part of one, on one device with a number of tiles.
func Cost(traced *graph.Graph, tiles int) graph.Cost {
	return traced.Cost(func(loop *graph.Node) int {
		if loop.LoopName() == population.TilesLoop {
			return tiles
		}
		return 1
	})
}
