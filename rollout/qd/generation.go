package qd

import (
	"maps"
	"math"
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
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
	Play    episode.PopulationInputs
	Tables  any                     // of the Tessellation
	Numbers map[string]*graph.Array // f32[], by name: Numbers of Scoring, of the emitter and of its strategy
	Every   *graph.Array            // i32[]: generations from one evaluation to the next
}

// Program is one generation of MAP-Elites: the emitter makes genomes from the archive, the episodes score them, and the
// archive takes those that are better than the elites of their cells. Its methods are traced.
type Program struct {
	Play      *episode.PopulationRollout
	Space     envs.Box // of descriptors; no Dims: there are none
	Container Container
	Needs     Needs // of the archive
	Emitter   Emitter
	Genomes   *population.Layout
	// EvalMembers is the number of members behind the batch, which play new episodes for an evaluation of the elite
	// with the highest fitness, that of Config.EvalEnvs.
	EvalMembers int
	Scoring
}

// Start returns the state before the first generation.
func (p *Program) Start(key random.Key) State {
	keys := random.SplitN(key, 2)
	return p.begin(keys[1], p.first(keys[0]))
}

// begin returns the state of an empty archive. genome is where searches may start.
func (p *Program) begin(key random.Key, genome *graph.Array) State {
	archive := p.Container.Empty(genome.Dim(0), p.Scoring)
	return State{Key: key, Generation: graph.Scalar(0, graph.Int32), Archive: archive,
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
	Finite *graph.Array // f32[3]: see episode.Summary
	// Reports, f32[r], are the numbers that the environment and the policy report; nil for none.
	Reports *graph.Array `tree:"optional"`
}

// Run is one generation. Each device plays a part of the members; the insertion is the same on all. It returns the next
// state, and the numbers of metricNames for the host, behind them 3·EvalMembers numbers of the evaluation.
func (p *Program) Run(s State, in Inputs) (State, *graph.Array) {
	p = p.bind(in.Numbers)
	play, ask, tell := s.keys()
	best := p.best(s.Archive)
	all := episode.PlayEach(p.playing(s, in), in.Play, play, func(number *graph.Array, first random.Key,
		play func(params any) episode.Summary) evaluation {
		child := p.child(ask, number, s, func() *graph.Array { return p.first(first) })
		if p.EvalMembers > 0 {
			child.Genome = graph.Select(number.Ge(p.Play.Tiles.Items), best, child.Genome)
		}
		return p.score(child, play(p.Genomes.Unravel(child.Genome)), s.Archive, in.Tables)
	})
	members := p.rows(all, 0, p.Play.Tiles.Items)
	next, numbers := p.insert(tell, s, members)
	if members.Reports != nil {
		numbers = graph.Concatenate(0, numbers, meanOfFinite(members.Reports))
	}
	if report := p.Emitter.Traits().Report; report != nil {
		numbers = graph.Concatenate(0, numbers, report(next.Emitter))
	}
	if p.EvalMembers > 0 {
		evaluated := p.rows(all, p.Play.Tiles.Items, p.Play.Tiles.Items+p.EvalMembers).Finite
		numbers = graph.Concatenate(0, numbers, graph.Flatten1D(evaluated))
	}
	return next, numbers
}

// numbers returns the inputs of the settings, as Inputs has them.
func (p *Program) numbers() map[string]*graph.Array {
	all := settings.Inputs(p.Emitter, "emitter.")
	maps.Copy(all, settings.Inputs(&p.Scoring, ""))
	if e := p.Emitter.Traits(); e.Strategy != nil {
		maps.Copy(all, settings.Inputs(e.Strategy().Settings, "strategy."))
	}
	return all
}

// bind returns the program with inputs instead of the settings.
func (p *Program) bind(in map[string]*graph.Array) *Program {
	bound := *p
	bound.Scoring = *settings.Bind(&p.Scoring, in, "")
	bound.Emitter = settings.Bind(p.Emitter, in, "emitter.")
	if e := bound.Emitter.Traits(); e.SetStrategy != nil {
		e.SetStrategy(e.Strategy().Bind(in), p.Play.Tiles.Items)
	}
	return &bound
}

// keys returns the keys of a generation: of the episodes, and for the emitter's Ask and Tell.
func (s State) keys() (play, ask, tell random.Key) {
	keys := random.SplitN(random.FoldIn(s.Key, s.Generation), 3)
	return keys[0], keys[1], keys[2]
}

// insert puts the members of a generation into the archive. It returns the next state, and the numbers of the archive
// and of memberMetrics.
func (p *Program) insert(tell random.Key, s State, members evaluation) (State, *graph.Array) {
	archive, change := s.Archive.Insert(members.Batch, s.Generation, p.Scoring)
	next := State{Key: s.Key, Generation: s.Generation.Add(1), Archive: archive}
	next.Emitter = p.Emitter.Tell(tell, s.Emitter, archive, members.Child, members.Batch, change)
	return next, graph.Stack(append(archive.Metrics(change, p.Scoring), members.metrics()...), 0)
}

// best returns the genome of the elite with the highest fitness, the first among equal ones.
func (p *Program) best(a Archive) *graph.Array {
	if p.EvalMembers == 0 {
		return nil
	}
	places := a.Places()
	return graph.DynamicIndex(places.Genomes, places.Fitness.ArgMax(0), 0)
}

// playing returns how the members of a generation play, and those of its evaluation behind them, if it has one.
func (p *Program) playing(s State, in Inputs) *episode.PopulationRollout {
	if p.EvalMembers == 0 {
		return p.Play
	}
	play := *p.Play
	play.Tiles = play.Tiles.ExtraIf(run.EvalDueIn(s.Generation.Add(1), in.Every))
	return &play
}

// rows returns some of all members of a generation, in order.
func (p *Program) rows(all evaluation, from, to int) evaluation {
	if p.EvalMembers == 0 {
		return all
	}
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.SliceAxis(a, 0, from, to) }, all)
}

// child makes a member: the first one while the archive is empty, else the emitter's.
func (p *Program) child(ask random.Key, number *graph.Array, s State, first func() *graph.Array) Child {
	child := p.Emitter.Ask(ask, number, s.Emitter, s.Archive)
	emitted := child.Genome
	child.Genome = graph.Cond(s.Archive.Size().Eq(0), first, func() *graph.Array { return emitted })
	return child
}

// score returns a member with the cell of its descriptor.
func (p *Program) score(child Child, s episode.Summary, archive Archive, tables any) evaluation {
	b := Batch{Genomes: child.Genome, Fitness: s.Return, Objectives: p.Objectives.values(p.Play.Env, s),
		Valid: s.Return.IsFinite()}
	if b.Objectives != nil {
		b.Valid = b.Valid.And(b.Objectives.IsFinite().All())
	}
	e := evaluation{Child: child, Inside: graph.Scalar(true), Length: s.Length, Finite: s.FiniteReturns(),
		Reports: s.Reports}
	if len(p.Space.Dims) > 0 {
		b.Unit, e.Inside = scaled(p.Space, s.Descriptor)
		b.Valid = b.Valid.And(s.Descriptor.IsFinite().All())
		b.Unit = graph.Select(b.Valid, b.Unit, graph.ZerosLike(b.Unit))
		low, high := boundsOf(p.Space)
		b.Descriptor = graph.Clamp(graph.Float32s(low), s.Descriptor, graph.Float32s(high))
	}
	b.Cell = p.Container.Cell(tables, b.Unit)
	if c := p.Container.Traits(); c.Near != nil {
		b.Near = c.Near(archive, b.Unit)
	}
	e.Batch = b
	return e
}

// memberMetrics are the names of what evaluation.metrics returns.
var memberMetrics = []string{"mean_fitness", "dropped", "clipped", "mean_length"}

// metrics returns the numbers of memberMetrics.
func (m evaluation) metrics() []*graph.Array {
	valid := m.Batch.Valid
	mean := graph.Select(valid, m.Batch.Fitness, graph.ZerosLike(m.Batch.Fitness)).Sum().Div(count(valid))
	return []*graph.Array{mean, count(valid.Not()), count(valid.And(m.Inside.Not())), m.Length.Mean()}
}

// meanOfFinite returns the means of the columns of x, f32[n, r], over the rows in which they are finite: f32[r], NaN
// where there is none.
func meanOfFinite(x *graph.Array) *graph.Array {
	finite := x.IsFinite()
	count := finite.Convert(graph.Float32).Sum(0)
	return graph.Select(count.Gt(0), graph.Select(finite, x, 0.).Sum(0).Div(count.Max(1)), math.NaN())
}

// metricNames returns the names of the numbers that Run returns: of the archive, of the members, and what environment,
// policy and emitter report.
func (p *Program) metricNames() []string {
	names := append(slices.Clone(p.Container.Metrics()), memberMetrics...)
	return slices.Concat(names, p.Play.Reports(), p.Emitter.Traits().Reports)
}
