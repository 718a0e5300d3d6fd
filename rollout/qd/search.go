package qd

import (
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Search is a search whose members its caller scores: Start, and Ask and Tell in turns. It finds what a run with these
// settings finds where it gets the same scores and the same first members. The methods are traced.
type Search struct {
	program *Program
	Inputs  SearchInputs
	Metrics []string // of a generation
}

// SearchInputs are inputs that do not change.
type SearchInputs struct {
	Tables  any                     // of the Tessellation
	Numbers map[string]*graph.Array // as in Inputs
}

// SearchState is the state of a search.
type SearchState struct {
	State
	First *graph.Array // f32[batch, n]: the members while the archive is empty
}

// Search returns the search of these settings for genomes of a layout, whose descriptors lie in a space. The
// environment and how it plays do not matter. Errors are *settings.Error.
func (c *Config) Search(space envs.Box, genomes *population.Layout) (*Search, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	if c.hasObjectives() {
		return nil, settings.Wrong("archive", c.Archive, "one that keeps members by one fitness, without front: such "+
			"as grid, cvt or unstructured")
	}
	if err := checkSpace(space); err != nil {
		return nil, err
	}
	p := &Program{Space: space, Genomes: genomes, Play: &episode.PopulationRollout{Rollout: &episode.Rollout{},
		Tiles: population.CutTiles(c.Batch, c.Batch, 1)}}
	if err := c.parts(p); err != nil {
		return nil, err
	}
	// nobody tells lengths, the last of memberMetrics
	names := slices.Concat(p.Container.Metrics(),
		memberMetrics[:len(memberMetrics)-1])
	return &Search{p, SearchInputs{Tables: p.Container.Tables(), Numbers: p.numbers()}, names}, nil
}

// Start returns the state before the first generation, whose members are first, f32[batch, n]. key is of the seed.
func (q *Search) Start(key random.Key, first *graph.Array) SearchState {
	return SearchState{q.program.begin(random.SplitN(key, 2)[1], first.Index(0)), first}
}

// Ask returns the members of a generation, leaves [batch, …].
func (q *Search) Ask(s SearchState, in SearchInputs) Child {
	p := q.program.bind(in.Numbers)
	_, ask, _ := s.keys()
	return graph.VMap(func(number *graph.Array) Child {
		return p.child(ask, number, s.State, func() *graph.Array { return graph.Take(s.First, number, 0) })
	})(graph.Iota(p.Play.Tiles.Items))
}

// Tell puts the members that were asked for into the archive, by their fitness, f32[batch], and descriptors, f32[batch,
// d]. Members with a number that is not finite are dropped. It returns the next state, and the numbers of Metrics.
func (q *Search) Tell(s SearchState, in SearchInputs, children Child, fitness, descriptor *graph.Array) (SearchState,
	*graph.Array) {
	p := q.program.bind(in.Numbers)
	_, _, tell := s.keys()
	type scored struct {
		Child               Child
		Fitness, Descriptor *graph.Array
	}
	members := graph.VMap(func(m scored) evaluation {
		summary := episode.Summary{Return: m.Fitness, Length: graph.ZerosLike(m.Fitness), Descriptor: m.Descriptor}
		return p.score(m.Child, summary, s.Archive, in.Tables)
	})(scored{children, fitness, descriptor})
	next, numbers := p.insert(tell, s.State, members)
	return SearchState{next, s.First}, graph.SliceAxis(numbers, 0, 0, len(q.Metrics))
}
