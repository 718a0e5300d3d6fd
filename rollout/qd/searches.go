package qd

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegisterEmitter("searches", &Searches{Number: 8, Ranking: rankImprovement,
		IsoLine: IsoLine{IsoSigma: settings.Num(.01), LineSigma: settings.Num(.2)}, Explore: settings.Num(.5)})
}

// Values of Searches.Ranking.
const (
	rankImprovement  = "improvement"
	rankOptimization = "optimization"
	rankDirection    = "direction"
	rankBandit       = "bandit"
	rankNovelty      = "novelty"
)

// Searches are searches by an evolution strategy that run side by side, each with a part of the members: CMA-ME of
// Fontaine et al., "Covariance matrix adaptation for the rapid illumination of behavior space" (2020), with any
// strategy instead of CMA-ES. A search that changes nothing in the archive begins again at an elite, drawn uniformly.
//
// A search ranks its members by one of:
//   - improvement: first those in empty cells, then those above the threshold of their cell, then the others, each by
//     fitness less threshold;
//   - optimization: fitness;
//   - direction: first those that were accepted, then the others, each by how far its descriptor lies along a
//     direction that is drawn when the search begins;
//   - novelty: the mean distance to the nearest elites, in an archive without cells (Unstructured).
//
// With bandit, each search that begins draws its own ranking, or that it makes children by iso+line. It takes the one
// with the largest upper confidence bound on the share of members that were accepted: UCB1 of Auer, Cesa-Bianchi and
// Fischer, "Finite-time analysis of the multiarmed bandit problem" (2002), as in Cully, "Multi-emitter MAP-Elites"
// (2021).
type Searches struct {
	Number   int             `set:"searches" min:"1" max:"65536" help:"searches side by side; they share --batch"`
	Ranking  string          `set:"ranking" oneof:"improvement,optimization,direction,novelty,bandit" help:"by what a search ranks its members; bandit: each search takes what has worked best"`
	Explore  settings.Number `set:"explore" min:"0" needs:"ranking=bandit" help:"weight of what a bandit tried seldom"`
	IsoLine  `needs:"ranking=bandit"`
	strategy *strategy.Erased
	batch    int
}

// The kinds of a search with bandit.
const (
	kindImprovement = iota
	kindOptimization
	kindDirection
	kindIsoLine
	kinds
	kindNovelty // no bandit draws it
)

// SearchesState is the state of Searches.
type SearchesState struct {
	Strategy  any          // of each search, leaves [searches, …]
	Direction *graph.Array // f32[searches, d]: in shares of the descriptors' bounds
	Kind      *graph.Array // i32[searches]
	Evaluated *graph.Array // f64[kinds]: members that searches of a kind made
	Accepted  *graph.Array // f64[kinds]: those that were accepted
}

// members returns the number of members of a search, and of its groups.
func (e *Searches) members(batch int) (members, groups int) {
	return batch / e.Number, batch / e.Number / e.strategy.GroupSize
}

// Traits say that each search has a strategy, which decides what sizes there can be, and of whose reports there are
// the means over the searches.
func (e *Searches) Traits() EmitterTraits {
	t := EmitterTraits{Check: e.Check, Strategy: func() *strategy.Erased { return e.strategy },
		SetStrategy: func(s *strategy.Erased, batch int) { e.strategy, e.batch = s, batch }}
	if e.strategy != nil && e.strategy.Report != nil {
		t.Reports = e.strategy.Reports
		t.Report = func(state any) *graph.Array {
			return meanOfFinite(graph.VMap(e.strategy.Report)(state.(SearchesState).Strategy))
		}
	}
	return t
}

// Check refuses a batch that does not divide evenly, and a strategy that cannot emit.
func (e *Searches) Check(batch int) error {
	size := e.strategy.GroupSize
	least := max(size, e.strategy.LeastPopulation)
	if n := batch / e.Number; batch%(e.Number*size) != 0 || n < least {
		return settings.Wrong("emitter.searches", e.Number, "a number that divides --batch, %d, into parts of %d or "+
			"more members, a multiple of %d", batch, least, size)
	}
	return e.IsoLine.Check(batch)
}

// kind returns the ranking of all searches; with bandit that of the first ones.
func (e *Searches) kind() int {
	return map[string]int{rankImprovement: kindImprovement, rankOptimization: kindOptimization,
		rankDirection: kindDirection, rankNovelty: kindNovelty}[e.Ranking]
}

// Init starts all searches at the genome.
func (e *Searches) Init(genome *graph.Array, batch int, archive Archive) any {
	members, _ := e.members(batch)
	first := func(a *graph.Array) *graph.Array {
		return a.ExpandDims(0).BroadcastTo(append([]int{e.Number}, a.Dims()...)...)
	}
	kind := graph.Full(graph.ShapeOf(graph.Int32, e.Number), e.kind())
	if e.Ranking == rankBandit {
		kind = graph.Iota(e.Number).Rem(kinds)
	}
	zero := graph.Zeros(graph.ShapeOf(graph.Float64, kinds))
	return SearchesState{graph.MapTree(first, e.strategy.Init(genome, members)),
		graph.Zeros(graph.ShapeOf(graph.Float32, e.Number, archive.Places().Descriptor.Dim(1))), kind, zero, zero}
}

// Ask makes a member of the search that its number belongs to. The members of a group share a draw.
func (e *Searches) Ask(key random.Key, number *graph.Array, state any, archive Archive) Child {
	s := state.(SearchesState)
	members, groups := e.members(e.batch)
	search, member := graph.Quo(number, members), number.Rem(members)
	side, group := graph.Quo(member, groups), member.Rem(groups)
	own, key := population.At(s.Strategy, search), random.FoldIn(key, search)
	draw := e.strategy.Sample(random.FoldIn(key, group), own, group)
	genome := e.strategy.Member(own, draw, side).(*graph.Array)
	if e.Ranking == rankBandit {
		child := e.IsoLine.child(random.FoldIn(key, member.Add(members)), archive)
		genome = graph.Select(graph.Take(s.Kind, search, 0).Eq(kindIsoLine), child, genome)
	}
	return Child{genome, draw}
}

// oneSearch is one search with its members.
type oneSearch struct {
	Strategy  any
	Direction *graph.Array // f32[d]
	Kind      *graph.Array // i32[]
	Draws     any          // leaves [members, …]
	Batch     Batch        // of the search's members
	Change    Change
}

// Tell updates each search by the ranks of its members.
func (e *Searches) Tell(key random.Key, state any, archive Archive, children Child, b Batch, c Change) any {
	s := state.(SearchesState)
	members, _ := e.members(e.batch)
	all := graph.MapTree(func(a *graph.Array) *graph.Array { return a.SplitAxis(0, e.Number, members) },
		oneSearch{Draws: children.Draw, Batch: b, Change: c, Strategy: graph.None{}, Direction: c.Improvement,
			Kind: c.Improvement})
	all.Strategy, all.Direction, all.Kind = s.Strategy, s.Direction, s.Kind
	// In the first generation the members are not those of the searches.
	first := archive.Size().Eq(c.New.Convert(graph.Int32).Sum())
	keys := random.SplitN(key, 2)
	type update struct{ Strategy, Direction, Restart any }
	next := graph.VMap2(func(one oneSearch, key random.Key) update {
		after, restart := e.tell(one, first)
		k := random.SplitN(key, 2)
		direction := random.Normal(k[1], one.Direction.Shape())
		return update{graph.SelectTree(restart, e.strategy.Init(archive.Draw(k[0]), members), after),
			graph.Select(restart, direction, one.Direction), restart}
	})(all, random.Split(keys[0], e.Number))

	accepted := c.Accepted.Convert(graph.Float32).SplitAxis(0, e.Number, members).Sum(1)
	of := func(x *graph.Array) *graph.Array { // the sum of the searches of each kind; members of Init do not count
		one := s.Kind.ExpandDims(1).Eq(graph.Iota(kinds).ExpandDims(0)).Convert(graph.Float32)
		return x.ExpandDims(1).Mul(one).Sum(0).Mul(graph.Select(first, 0., 1.)).Convert(graph.Float64)
	}
	out := SearchesState{Strategy: next.Strategy, Direction: next.Direction.(*graph.Array), Kind: s.Kind,
		Evaluated: s.Evaluated.Add(of(graph.FullLike(accepted, float32(members)))),
		Accepted:  s.Accepted.Add(of(accepted))}
	if e.Ranking == rankBandit {
		out.Kind = e.choose(out, next.Restart.(*graph.Array), members)
	}
	return out
}

// tell returns the state of a search after its members, and whether it begins again.
func (e *Searches) tell(s oneSearch, first *graph.Array) (next any, restart *graph.Array) {
	_, groups := e.members(e.batch)
	fitness := graph.Select(s.Batch.Valid, s.ranks(), math.NaN())
	draws := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.SliceAxis(a, 0, 0, groups) }, s.Draws)
	next = e.strategy.Tell(s.Strategy, strategy.Evaluation{Fitness: fitness,
		Length: graph.ZerosLike(fitness)}, population.Whole(draws))
	finite := e.strategy.Mean(next).(*graph.Array).IsFinite().All()
	restart = first.Or(s.Change.Accepted.Any().Not()).Or(finite.Not())
	return next, restart.Or(s.Kind.Eq(kindIsoLine))
}

// ranks returns for each member how many others of its search are worse: f32[members].
func (s oneSearch) ranks() *graph.Array {
	accepted := s.Change.Accepted.Convert(graph.Int32)
	byOne := s.Kind.Eq(kindOptimization).Or(s.Kind.Eq(kindNovelty))
	stages := graph.Select(byOne, graph.ZerosLike(accepted), accepted)
	empty := s.Change.Empty.Convert(graph.Int32)
	stages = graph.Select(s.Kind.Eq(kindImprovement), accepted.Add(accepted.Mul(empty)), stages)
	along := s.Batch.Unit.Mul(s.Direction.ExpandDims(0)).Sum(1)
	value := graph.Select(s.Kind.Eq(kindDirection), along, s.Batch.Fitness)
	value = graph.Select(s.Kind.Eq(kindImprovement), s.Change.Improvement, value)
	if s.Change.Novelty != nil {
		value = graph.Select(s.Kind.Eq(kindNovelty), s.Change.Novelty, value)
	}
	value = graph.Select(s.Batch.Valid, value, math.Inf(-1))
	row := func(a *graph.Array) *graph.Array { return a.ExpandDims(1) }
	column := func(a *graph.Array) *graph.Array { return a.ExpandDims(0) }
	worse := row(stages).Gt(column(stages)).Or(row(stages).Eq(column(stages)).And(row(value).Gt(column(value))))
	return worse.Convert(graph.Float32).Sum(1)
}

// choose returns the kinds of the searches: new ones for those that begin again, one after the other, as if each had
// already made its members and none had been accepted.
func (e *Searches) choose(s SearchesState, restart *graph.Array, members int) *graph.Array {
	type turn struct{ Kind, Restart *graph.Array }
	accepted := s.Accepted.Convert(graph.Float32)
	_, chosen := graph.Scan(func(made *graph.Array, t turn) (*graph.Array, *graph.Array) {
		bound := accepted.Div(made).Add(e.Explore.Array().Mul(made.Sum().Log().Div(made).Sqrt()))
		bound = graph.Select(made.Gt(0), bound, math.Inf(1))
		kind := graph.Select(t.Restart, bound.ArgMax(0), t.Kind)
		more := graph.Iota(kinds).Eq(kind).And(t.Restart).Convert(graph.Float32)
		return made.Add(more.Mul(float32(members))), kind
	}, s.Evaluated.Convert(graph.Float32), turn{s.Kind, restart})
	return chosen
}
