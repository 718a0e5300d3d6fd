package generation

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// memberKeys are the keys of one generation, for this device's tiles. Like all rows of a device (population.Tiles.Rows)
// they have one row more than there are tiles.
type memberKeys struct {
	Groups  random.Key   // u32[RowCount, lanes, 2]: for each group's draw
	Members random.Key   // u32[RowCount, sides, lanes, 2]: for each member's episodes
	Index   *graph.Array // i32[RowCount, lanes]: each group's number in the population; the last one's for padding
}

// keys makes the keys of a generation. With ask = FoldIn(State.Key, 2·generation) and play = FoldIn(State.Key,
// 2·generation+1), group i has the key FoldIn(ask, i) and member i the key FoldIn(play, i), counted over the whole
// population. Members of an evaluation have those of evalKeys.
//
// They are made for all tiles at once, outside of the loop over tiles: whole numbers do not depend on shapes.
func (p *Program) keys(s State) memberKeys {
	t, sides := p.Groups, p.Strategy.GroupSize
	lanes := t.Tile(graph.Iota(t.RowCount())).Mul(t.Lanes).ExpandDims(1).Add(graph.Iota(t.Lanes).ExpandDims(0))
	group := t.Numbers(lanes)
	ask, play := s.askAndPlay()
	side := graph.Iota(sides).Reshape(1, sides, 1)
	return memberKeys{
		Groups:  foldInEach(ask, group),
		Members: p.evalKeys(s, foldInEach(play, group.ExpandDims(1).Add(side.Mul(t.Items))), group),
		Index:   group.Min(t.Items - 1),
	}
}

// askAndPlay returns the two keys of a generation.
func (s State) askAndPlay() (ask, play random.Key) {
	both := foldInEach(s.Key, s.Generation.Mul(2).Add(graph.Iota(2))).Data
	return random.Key{Data: both.Index(0)}, random.Key{Data: both.Index(1)}
}

// foldInEach folds each of many numbers into a key: u32[dims..., 2] for numbers i32[dims...].
func foldInEach(key random.Key, numbers *graph.Array) random.Key {
	each := graph.VMap2(func(key random.Key, number *graph.Array) random.Key {
		return random.FoldIn(key, number)
	}, graph.InAxes(graph.Unmapped, 0))(key, graph.Flatten1D(numbers))
	return graph.Once(random.Key{Data: each.Data.SplitAxis(0, numbers.Dims()...)})
}

// tile returns the keys of one tile of this device: the leaves without axis 0.
func (k memberKeys) tile(tile *graph.Array) memberKeys { return graph.Once(population.At(k, tile)) }
