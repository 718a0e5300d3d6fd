package qd

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// State is the carry from one generation to the next. It is the same on every device.
type State struct {
	Key        random.Key   // of the run; generation g uses FoldIn(Key, g)
	Generation *graph.Array // i32[]: generations done
	Archive    Archive
	Emitter    any
}

// Inputs are the inputs of a generation that do not change.
type Inputs struct {
	Play    episode.SpreadInputs
	Tables  any                     // of the Tessellation
	Numbers map[string]*graph.Array // f32[], by name: Numbers of Scoring, of the emitter and of its strategy
}

// Program is one generation of MAP-Elites: the emitter makes genomes from the archive, the episodes score them, and the
// archive takes those that are better than the elites of their cells. Its methods are traced.
type Program struct {
	Play    *episode.Spread
	Space   envs.Box // of descriptors
	Cells   Tessellation
	Emitter Emitter
	Genomes *population.Layout
	Scoring
}

// Start returns the state before the first generation.
func (p *Program) Start(key random.Key) State {
	keys := random.SplitN(key, 2)
	genome := p.first(keys[0])
	archive := NewArchive(p.Cells.Cells(), genome.Dim(0), p.Space.Dims[0], p.Annealing)
	return State{Key: keys[1], Generation: graph.Zeros(graph.ShapeOf(graph.Int32)), Archive: archive,
		Emitter: p.Emitter.Init(genome, p.Play.Tiles.Items, archive)}
}

// first returns a genome of the first generation.
func (p *Program) first(key random.Key) *graph.Array { return p.Genomes.Ravel(p.Play.Policy.Init(key)) }

// evaluation is a member after its episodes.
type evaluation struct {
	Child  Child
	Batch  Batch        // of one member
	Inside *graph.Array // bool[]: the descriptor was within its bounds
	Length *graph.Array // f32[]: mean steps of an episode
}

// Run is one generation. Each device plays a part of the members; the insertion is the same on all. It returns the next
// state, and the numbers of metricNames for the host.
func (p *Program) Run(s State, in Inputs) (State, *graph.Array) {
	scoring := settings.Bind(&p.Scoring, in.Numbers, "")
	emitter := settings.Bind(p.Emitter, in.Numbers, "emitter.")
	if e, ok := emitter.(StrategyEmitter); ok {
		e.SetStrategy(settings.Bind(e.Strategy(), in.Numbers, "strategy."), p.Play.Tiles.Items)
	}
	keys := random.SplitN(random.FoldIn(s.Key, s.Generation), 3)
	play, ask, tell := keys[0], keys[1], keys[2]

	members := episode.PlayEach(p.Play, in.Play, play, func(number *graph.Array, first random.Key,
		play func(params any) episode.Summary) evaluation {
		child := p.child(emitter, ask, number, first, s)
		return p.score(child, play(p.Genomes.Unravel(child.Genome)), in.Tables)
	})
	archive, change := s.Archive.Insert(members.Batch, s.Generation, scoring.Annealing)
	next := State{Key: s.Key, Generation: s.Generation.Add(1), Archive: archive}
	next.Emitter = emitter.Tell(tell, s.Emitter, archive, members.Child, members.Batch, change)
	return next, metrics(archive, members, change, scoring.Offset.Array())
}

// child makes a member: from the policy's first parameters while the archive is empty, else by the emitter.
func (p *Program) child(e Emitter, ask random.Key, number *graph.Array, first random.Key, s State) Child {
	child := e.Ask(ask, number, s.Emitter, s.Archive)
	emitted := child.Genome
	child.Genome = graph.Cond(s.Archive.Count.Eq(0), func() *graph.Array { return p.first(first) },
		func() *graph.Array { return emitted })
	return child
}

// score returns a member with the cell of its descriptor.
func (p *Program) score(child Child, s episode.Summary, tables any) evaluation {
	unit, inside := scaled(p.Space, s.Descriptor)
	valid := s.Return.IsFinite().And(s.Descriptor.IsFinite().All())
	unit = graph.Select(valid, unit, graph.ZerosLike(unit))
	low, high := boundsOf(p.Space)
	return evaluation{child, Batch{Genomes: child.Genome, Fitness: s.Return,
		Descriptor: graph.Clamp(graph.Float32s(low), s.Descriptor, graph.Float32s(high)),
		Unit:       unit, Cell: p.Cells.Cell(tables, unit), Valid: valid}, inside, s.Length}
}

// metricNames are the names of the numbers that Run returns.
var metricNames = []string{"coverage", "qd_score", "best_fitness", "elite_mean", "mean_fitness", "new_cells",
	"improved", "dropped", "clipped", "mean_length"}

func metrics(a Archive, m evaluation, c Change, offset *graph.Array) *graph.Array {
	score := a.Score(offset)
	count := func(mask *graph.Array) *graph.Array { return mask.Convert(graph.Float32).Sum() }
	valid := m.Batch.Valid
	mean := graph.Select(valid, m.Batch.Fitness, graph.ZerosLike(m.Batch.Fitness)).Sum().Div(count(valid))
	return graph.Stack([]*graph.Array{score.Coverage, score.QD, score.Best, score.Mean, mean, count(c.New),
		count(c.Added.And(c.New.Not())), count(valid.Not()), count(valid.And(m.Inside.Not())), m.Length.Mean()}, 0)
}
