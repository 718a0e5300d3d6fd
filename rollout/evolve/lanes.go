package evolve

import (
	"maps"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
)

// lanes is the program of a generation of several searches at once, each with a state and Numbers of its own. A tile of them is vmapped; tiles are cut
// over the devices. What a lane computes depends neither on the others nor on how many there are.
type lanes struct {
	generation *generation // of one, its population on one device
	cut        population.Tiles
	inputs     laneInputs
	layout     plan.Plan
}

// LanesState is what the searches hand from one generation to the next.
type LanesState struct {
	Lanes State                   // leaves [lanes, …]
	Each  map[string]*graph.Array // f32[lanes], by name: the Numbers of which each search has its own
}

// laneInputs are those of the program.
type laneInputs struct {
	Settings map[string]*graph.Array // f32[], by name: the Numbers that all searches share
	Tiles    *graph.Array            // i32[]: tiles of lanes of a device; see population.Each
	Own      *graph.Array            // i32[]: tiles of one search's population
}

// tileOfMembers is the number of members of all lanes of a tile together that keeps a core busy; an accelerator takes all lanes at once.
const tileOfMembers = 256

// laneTile is the number of lanes that are vmapped: of the config and the kind of device alone, so that a lane comes out the same among few and many.
func (x *experiment) laneTile() int {
	members := x.layout.Tile * x.config.Episodes
	if x.on.Accelerator {
		return max(1, 1<<16/members)
	}
	return min(max(1, tileOfMembers/members), 64)
}

// newLanes cuts so many searches over devices, in tiles of so many. x is that of one of them.
func (x *experiment) newLanes(n, tile, devices int) (*lanes, error) {
	tiles := (n + tile - 1) / tile
	x.alone = true
	l := &lanes{cut: population.CutTiles(n, tile, min(devices, tiles))}
	x.lay(x.layout)
	g, err := x.generation()
	if err != nil {
		return nil, err
	}
	l.generation = g
	in := x.inputs(x.groups.PerDevice)
	l.inputs = laneInputs{Settings: in.Settings, Tiles: l.cut.Count(), Own: in.Tiles}
	l.layout = x.layout
	l.layout.Devices = l.cut.Devices
	return l, nil
}

// shared are the inputs without those Numbers of which each lane has its own.
func (l *lanes) shared(each map[string][]float64) laneInputs {
	in := l.inputs
	in.Settings = maps.Clone(in.Settings)
	for name := range each {
		delete(in.Settings, name)
	}
	return in
}

// starts are the first states of so many lanes, with the Numbers that each has of its own.
func (l *lanes) starts(n int, each map[string][]float64, key func(lane int) random.Key) LanesState {
	s := LanesState{Each: map[string]*graph.Array{}}
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
	type one struct {
		Key random.Key
		Own map[string]*graph.Array
	}
	s.Lanes = graph.VMap(func(o one) State {
		return l.generation.bound(inputs{Settings: o.Own}).start(o.Key)
	})(one{random.Key{Data: graph.Stack(keys, 0)}, s.Each})
	return s
}

// run is a generation of all lanes: the next state, and each one's figures as generation.run gives them, f32[lanes, …].
func (l *lanes) run(s LanesState, in laneInputs) (LanesState, *graph.Array) {
	type both struct {
		Next    State
		Figures *graph.Array
	}
	all := population.Map(l.cut, in.Tiles, func(lane *graph.Array) both {
		next, figures := l.generation.run(population.At(s.Lanes, lane), l.own(s, in, lane))
		return both{next, figures}
	})
	return LanesState{all.Next, s.Each}, all.Figures
}

// own are the inputs of one lane's generation.
func (l *lanes) own(s LanesState, in laneInputs, lane *graph.Array) inputs {
	all := maps.Clone(in.Settings)
	maps.Copy(all, population.At(s.Each, lane))
	return inputs{Settings: all, Tiles: in.Own}
}

// ofLane is the snapshot of one lane's search, as xlarun evolve would have it.
func ofLane(s run.Snapshot, lane int) (run.Snapshot, error) {
	one := run.Snapshot{Step: s.Step, Arrays: map[string]*graph.Array{}}
	for name, a := range s.Arrays {
		own, ok := strings.CutPrefix(name, "lanes.")
		if !ok || strings.HasPrefix(own, "migration.") {
			continue
		}
		row, err := graph.Eval(graph.Index(a, lane))
		if err != nil {
			return one, err
		}
		one.Arrays[own] = row
	}
	return one, nil
}
