// Package vectorized runs several searches at once in one program.
package vectorized

import (
	"maps"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
)

// Program is the program of a generation of several searches, its lanes. Each has a state and may have Numbers of its
// own. A tile of lanes is vmapped; tiles are cut over the devices. A lane's results depend neither on the other lanes
// nor on their number.
type Program struct {
	Search *generation.Program // of one lane, its population on one device
	Cut    population.Tiles    // the lanes
	Layout plan.Plan
	inputs Inputs
}

// State is the carry of the searches from one generation to the next.
type State struct {
	Lanes generation.State        // leaves [lanes, …]
	Each  map[string]*graph.Array // f32[lanes], by name: Numbers that differ between searches
}

// Inputs are the inputs of the program.
type Inputs struct {
	Settings map[string]*graph.Array // f32[], by name: Numbers that all searches share
	Tiles    *graph.Array            // i32[]: tiles of lanes of a device; see population.Each
	Own      *graph.Array            // i32[]: tiles of one search's population
	Counter  *graph.Array            `tree:"optional"` // i32[]: counts the tiles of a population in each tile of lanes
}

// tileMembers is the number of members, of all lanes of a tile together, that keeps a core busy.
const tileMembers = 256

// Tile returns the number of lanes that are vmapped together. It depends on the search and the kind of device alone, so
// that a lane's results do not depend on the number of lanes.
func Tile(x *generation.Setup) int {
	members := x.Layout.Tile * x.Layout.EpisodeBatch
	if x.Machine.Accelerator {
		return max(1, 1<<16/members)
	}
	return min(max(1, tileMembers/members), 64)
}

// New returns the program of n searches, cut over the devices in tiles of `tile` lanes. x is the setup of one search,
// with Options.Alone.
func New(x *generation.Setup, n, tile, devices int) (*Program, error) {
	tiles := (n + tile - 1) / tile
	l := &Program{Cut: population.CutTiles(n, tile, min(devices, tiles)), Layout: x.Layout}
	l.Layout.Devices = l.Cut.Devices
	var err error
	if l.Search, err = x.Program(); err != nil {
		return nil, err
	}
	in := x.Inputs(x.Groups.PerDevice)
	l.inputs = Inputs{Settings: in.Settings, Tiles: l.Cut.Count(), Own: in.Tiles}
	return l, nil
}

// Shared returns the inputs, without Numbers that differ between lanes.
func (l *Program) Shared(each map[string][]float64) Inputs {
	in := l.inputs
	in.Settings = maps.Clone(in.Settings)
	for name := range each {
		delete(in.Settings, name)
	}
	return in
}

// Start returns the first states of all lanes, given the Numbers that differ between lanes.
func (l *Program) Start(each map[string][]float64, key func(lane int) random.Key) State {
	n := l.Cut.Items
	s := State{Each: map[string]*graph.Array{}}
	for name, values := range each {
		numbers := make([]float32, n)
		for i, x := range values {
			numbers[i] = float32(x)
		}
		s.Each[name] = graph.Float32s(numbers)
	}
	keys := make([]*graph.Array, n)
	for i := range keys {
		keys[i] = key(i).Data
	}
	s.Lanes = graph.VMap2(func(key random.Key, inputs map[string]*graph.Array) generation.State {
		return l.Search.Bind(generation.Inputs{Settings: inputs}).Start(key)
	})(random.Key{Data: graph.Stack(keys, 0)}, s.Each)
	return s
}

// Evaluating returns the program in which all searches evaluate a genome instead of their own means.
func (l *Program) Evaluating(genome any) *Program {
	other, search := *l, *l.Search
	search.Result, other.Search = genome, &search
	return &other
}

// Run is a generation of all lanes. It returns the next state, and the numbers of generation.Program.Run for each lane,
// f32[lanes, numbers].
func (l *Program) Run(s State, in Inputs) (State, *graph.Array) {
	type results = graph.Pair[generation.State, *graph.Array]
	number := s.Lanes.Generation.Index(0) // as in all lanes
	next, numbers := population.Map(l.Cut, in.Tiles, func(lane *graph.Array) results {
		inputs := generation.Inputs{Settings: maps.Clone(in.Settings), Tiles: in.Own, Counter: in.Counter}
		maps.Copy(inputs.Settings, population.At(s.Each, lane))
		own := population.At(s.Lanes, lane)
		own.Generation = number // not mapped: the loops of all lanes have as many turns
		return graph.PairOf(l.Search.Run(own, inputs))
	}).Unpack()
	return State{next, s.Each}, numbers
}

// Snapshot returns the snapshot of one lane, as a run of its search alone would have it.
func Snapshot(s run.Snapshot, lane int) (run.Snapshot, error) {
	one := run.Snapshot{Step: s.Step, Arrays: map[string]*graph.Array{}}
	for name, a := range s.Arrays {
		inner, ok := strings.CutPrefix(name, "lanes.")
		if !ok || strings.HasPrefix(inner, "migration.") {
			continue
		}
		row, err := graph.Eval(a.Index(lane))
		if err != nil {
			return one, err
		}
		one.Arrays[inner] = row
	}
	return one, nil
}
