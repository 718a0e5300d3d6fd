package evolve

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"xlarun/graph"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Hall is the hall of fame, of Rosin and Belew, "New methods for competitive coevolution" (1997): of the best members of all
// generations so far those with the highest fitness, each genome once. A place whose fitness is -Inf is free.
type Hall struct {
	Genomes    any          // leaves [places, …]
	Fitness    *graph.Array // f32[places]
	Generation *graph.Array // i32[places]: in which each was played, from 0
	// Observation is how observations were normalised then, leaves [places, …]; nil: they were not.
	Observation *policy.Scale
}

const (
	// usualHall are the places of a hall of fame of which nobody said how large it is to be; none where a member has more than
	// usualHallParams parameters, as all places together are as large as so many members.
	usualHall       = 4
	usualHallParams = 1 << 16
	maxHall         = 1000
)

// places are those of the hall of fame, for members of so many parameters.
func (c *Config) places(params int) (int, error) {
	if c.HallOfFame == auto || c.HallOfFame == "" {
		if params > usualHallParams {
			return 0, nil
		}
		return usualHall, nil
	}
	n, err := strconv.Atoi(c.HallOfFame)
	if err != nil || n < 0 || n > maxHall {
		f, _ := settings.Lookup(c, "hall-of-fame")
		return 0, settings.Wrong("hall-of-fame", c.HallOfFame, "%s", f.Wants)
	}
	return n, nil
}

// auto is the HallOfFame that stands for the usual one.
const auto = "auto"

// newHall is a hall of fame with free places only, for members like the given one; nil where there are none.
func newHall(b Best, places int) *Hall {
	if places == 0 {
		return nil
	}
	rows := func(a *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{places}, a.Dims()...)...))
	}
	return &Hall{graph.MapTree(rows, b.Genome), graph.Full(graph.ShapeOf(graph.Float32, places), math.Inf(-1)), graph.Zeros(graph.ShapeOf(graph.Int32, places)), graph.MapTree(rows, b.Observation)}
}

// with takes a member in: in the place that its genome has already, else in that of the lowest fitness, where its own is higher.
func (h *Hall) with(b Best) *Hall {
	if h == nil {
		return nil
	}
	places := h.Fitness.Dim(0)
	there := graph.Gt(h.Fitness, math.Inf(-1))
	rows, member := graph.Leaves(h.Genomes), graph.Leaves(b.Genome)
	for i, a := range rows {
		same := graph.Reshape(graph.Eq(a, graph.BroadcastTo(graph.ExpandDims(member[i], 0), a.Dims()...)), places, -1)
		there = graph.And(there, graph.All(same, 1))
	}
	// Comparisons and a choice by element: they are one loop each, and take less to compile than places that are sought and written to.
	wanted := graph.Select(graph.Any(there), there, graph.Eq(h.Fitness, graph.ReduceMin(h.Fitness)))
	number := graph.Iota(places)
	first := graph.Eq(number, graph.ReduceMin(graph.Select(wanted, number, places)))
	write := graph.And(first, graph.Gt(b.Fitness, h.Fitness))
	put := func(rows, row *graph.Array) *graph.Array {
		mask := graph.Reshape(write, append([]int{places}, slices.Repeat([]int{1}, row.Rank())...)...)
		return graph.Select(graph.BroadcastTo(mask, rows.Dims()...), graph.BroadcastTo(graph.ExpandDims(row, 0), rows.Dims()...), rows)
	}
	return &Hall{graph.MapTree2(put, h.Genomes, b.Genome), put(h.Fitness, b.Fitness), put(h.Generation, b.Generation), graph.MapTree2(put, h.Observation, b.Observation)}
}

// Fame are the members of the hall of fame in a snapshot, the one with the highest fitness first, of equal ones the earliest.
func (e *Evolution) Fame(s run.Snapshot) ([]run.Famed, error) {
	v, err := e.Unflatten(s)
	if err != nil || v.(State).Hall == nil {
		return nil, err
	}
	return e.generation.fame(v.(State).Hall)
}

// fame are the members of a hall, the one with the highest fitness first, of equal ones the earliest.
func (g *generation) fame(h *Hall) (all []run.Famed, err error) {
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
		var params any
		row := func(a *graph.Array) *graph.Array { return graph.Index(a, i) }
		err := graph.Try(func() {
			params = g.params(graph.MapTree(row, h.Genomes), graph.MapTree(row, h.Observation))
		})
		if err == nil {
			params, err = graph.Eval(params)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, run.Famed{Candidate: run.Candidate{Name: "fame", Params: params}, Fitness: f, Step: int64(generation[i]) + 1})
	}
	slices.SortStableFunc(all, func(a, b run.Famed) int {
		return cmp.Or(cmp.Compare(b.Fitness, a.Fitness), cmp.Compare(a.Step, b.Step))
	})
	return all, nil
}
