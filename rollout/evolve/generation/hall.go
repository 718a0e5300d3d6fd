package generation

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
)

// Hall is the hall of fame of Rosin and Belew, "New methods for competitive coevolution" (1997): among the best members
// of all generations, those with the highest fitness, each genome once.
type Hall interface {
	// with returns the hall with one more member.
	with(b Best) Hall
	// Members returns the members on the host, sorted by SortHall.
	Members(p *Program) ([]run.HallEntry, error)
	// of returns the hall with other forms of its genomes, leaves [places, …].
	of(form func(genomes any) any) Hall
}

// hall is a Hall with places. A place whose fitness is -Inf is free.
type hall struct {
	Genomes     any          // leaves [places, …]
	Fitness     *graph.Array // f32[places]
	Generation  *graph.Array // i32[places]: the generation of each, from 0
	Observation Scaling      // of each one's observations, leaves [places, …]
}

// noHall is a Hall without places.
type noHall struct{}

func (noHall) with(Best) Hall                            { return noHall{} }
func (noHall) Members(*Program) ([]run.HallEntry, error) { return nil, nil }
func (noHall) of(func(any) any) Hall                     { return noHall{} }

func (h hall) of(form func(genomes any) any) Hall {
	h.Genomes = form(h.Genomes)
	return h
}

// newHall returns an empty hall, for members like b.
func newHall(b Best, places int) Hall {
	if places == 0 {
		return noHall{}
	}
	return hall{population.ZeroRows(places, b.Genome), graph.Full(graph.ShapeOf(graph.Float32, places), math.Inf(-1)),
		graph.Zeros(graph.ShapeOf(graph.Int32, places)), population.ZeroRows(places, b.Observation)}
}

// with writes a member to the place of its genome, or else to the place with the lowest fitness, if its own fitness is
// higher.
//
// It compares all places and selects elementwise, which compiles faster than a search and a write by index.
func (h hall) with(b Best) Hall {
	places := h.Fitness.Dim(0)
	same := h.Fitness.Gt(math.Inf(-1)) // places that have this genome
	rows, genome := graph.Leaves(h.Genomes), graph.Leaves(b.Genome)
	for i, a := range rows {
		equal := a.Eq(genome[i].ExpandDims(0).BroadcastTo(a.Dims()...)).Reshape(places, -1)
		same = same.And(equal.All(1))
	}
	wanted := graph.Select(same.Any(), same, h.Fitness.Eq(h.Fitness.ReduceMin()))
	number := graph.Iota(places)
	first := number.Eq(graph.Select(wanted, number, places).ReduceMin())
	write := first.And(b.Fitness.Gt(h.Fitness))
	put := func(rows, row *graph.Array) *graph.Array {
		mask := write.Reshape(append([]int{places}, slices.Repeat([]int{1}, row.Rank())...)...)
		return graph.Select(mask.BroadcastTo(rows.Dims()...), row.ExpandDims(0).BroadcastTo(rows.Dims()...), rows)
	}
	return hall{graph.MapTree2(put, h.Genomes, b.Genome), put(h.Fitness, b.Fitness), put(h.Generation, b.Generation),
		graph.MapTree2(put, h.Observation, b.Observation)}
}

func (h hall) Members(p *Program) (all []run.HallEntry, err error) {
	fitness, err := graph.Floats(h.Fitness)
	if err != nil {
		return nil, err
	}
	generation, err := graph.Floats(h.Generation)
	if err != nil {
		return nil, err
	}
	for i, f := range fitness {
		if math.IsInf(f, -1) {
			continue
		}
		row := func(a *graph.Array) *graph.Array { return a.Index(i) }
		params, err := onHost(func() any {
			return p.Member(graph.MapTree(row, h.Genomes), graph.MapTree(row, h.Observation))
		})
		if err != nil {
			return nil, err
		}
		all = append(all, run.HallEntry{Candidate: run.Candidate{Name: run.HallOfFame, Params: params}, Fitness: f,
			Step: int64(generation[i]) + 1})
	}
	SortHall(all)
	return all, nil
}

// SortHall sorts members: the highest fitness first, the earliest among equal ones.
func SortHall(all []run.HallEntry) {
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(b.Fitness, a.Fitness), cmp.Compare(a.Step, b.Step)) < 0
	})
}

// Candidates returns the members that the run's end judges: the strategy's Mean, which was not played yet, and the
// member with the highest fitness so far, which may have been lucky.
func (p *Program) Candidates(s State) ([]run.Candidate, error) {
	mean, err := p.Mean(s)
	if err != nil {
		return nil, err
	}
	best, err := onHost(func() any { return p.Member(s.Best.Genome, s.Best.Observation) })
	if err != nil {
		return nil, err
	}
	return []run.Candidate{{Name: "mean", Params: mean}, {Name: "best_ever", Params: best}}, nil
}

// Mean returns the strategy's Mean as a member, on the host.
func (p *Program) Mean(s State) (member any, err error) {
	return onHost(func() any { return p.Member(p.Strategy.Mean(s.Strategy), s.Observed.Scale()) })
}

// onHost evaluates a tree outside of a program. An error that f throws is returned.
func onHost(f func() any) (tree any, err error) {
	if err = graph.Try(func() { tree = f() }); err != nil {
		return nil, err
	}
	return graph.Eval(tree)
}
