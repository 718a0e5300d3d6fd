// Package lanes runs several searches at once, in one program.
package lanes

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

// Program is the program of a generation of several searches at once, its lanes, each with a state and Numbers of its
// own. A tile of lanes is vmapped; tiles are cut over the devices. What a lane computes depends neither on the other
// lanes nor on their number.
type Program struct {
	Search *generation.Program // of one lane, its population on one device
	Cut    population.Tiles    // the lanes
	Layout plan.Plan
	inputs Inputs
}

// State is what the searches hand from one generation to the next.
type State struct {
	Lanes generation.State        // leaves [lanes, …]
	Each  map[string]*graph.Array // f32[lanes], by name: the Numbers of which each search has its own
}

// Inputs are the inputs of the program.
type Inputs struct {
	Settings map[string]*graph.Array // f32[], by name: the Numbers that all searches share
	Tiles    *graph.Array            // i32[]: tiles of lanes of a device; see population.Each
	Own      *graph.Array            // i32[]: tiles of one search's population
}

// tileMembers is the number of members of all lanes of a tile together that keeps a core busy; an accelerator takes all
// lanes at once.
const tileMembers = 256

// Tile returns the number of lanes that are vmapped together. It depends on the search and the kind of device alone, so
// that a lane computes the same among few and many.
func Tile(x *generation.Setup) int {
	members := x.Layout.Tile * x.Search.Episodes
	if x.Machine.Accelerator {
		return max(1, 1<<16/members)
	}
	return min(max(1, tileMembers/members), 64)
}

// New returns the program of n searches, cut over devices in tiles of tile lanes. x is the setup of one search, with
// Options.Alone.
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

// Shared returns the inputs, without the Numbers of which each lane has its own.
func (l *Program) Shared(each map[string][]float64) Inputs {
	in := l.inputs
	in.Settings = maps.Clone(in.Settings)
	for name := range each {
		delete(in.Settings, name)
	}
	return in
}

// Start returns the first states of all lanes, with the Numbers that each has of its own.
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
	s.Lanes = graph.VMap2(func(key random.Key, own map[string]*graph.Array) generation.State {
		return l.Search.Bind(generation.Inputs{Settings: own}).Start(key)
	})(random.Key{Data: graph.Stack(keys, 0)}, s.Each)
	return s
}

// Run is a generation of all lanes: the next state, and each lane's numbers as generation.Program.Run returns them,
// f32[lanes, 3+reports, population].
func (l *Program) Run(s State, in Inputs) (State, *graph.Array) {
	type results = graph.Pair[generation.State, *graph.Array]
	next, numbers := population.Map(l.Cut, in.Tiles, func(lane *graph.Array) results {
		own := maps.Clone(in.Settings)
		maps.Copy(own, population.At(s.Each, lane))
		return graph.PairOf(l.Search.Run(population.At(s.Lanes, lane), generation.Inputs{Settings: own, Tiles: in.Own}))
	}).Unpack()
	return State{next, s.Each}, numbers
}

// Snapshot returns the snapshot of one lane's search, as a run of its own has it.
func Snapshot(s run.Snapshot, lane int) (run.Snapshot, error) {
	one := run.Snapshot{Step: s.Step, Arrays: map[string]*graph.Array{}}
	for name, a := range s.Arrays {
		own, ok := strings.CutPrefix(name, "lanes.")
		if !ok || strings.HasPrefix(own, "migration.") {
			continue
		}
		row, err := graph.Eval(a.Index(lane))
		if err != nil {
			return one, err
		}
		one.Arrays[own] = row
	}
	return one, nil
}
